// A whole recording taken apart without windows: stretches that each take their best atom wherever no neighbour holds a
// better one.
//
// A stretch owns the centres of its samples and sees as far beyond as its atoms reach, so that only direct neighbours
// touch each other's samples. Rounds are counted in each stretch: in round r it takes its candidate if that is the best
// among the neighbours' of round r (ties to the earlier), and searches again for round r + 1 once the neighbours have
// decided round r. What is taken depends on nothing else, so that the order of work, threads and how many stretches are
// at work at once change no bit.
#pragma once

#include <algorithm>
#include <complex>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/thread_pool.hpp"
#include "pursuit/describe.hpp"
#include "pursuit/detrend.hpp"
#include "pursuit/segment.hpp"

namespace envoi::pursuit {

// How a recording is divided: a function of its length and the options alone.
struct Layout {
  std::int64_t samples = 0;
  std::int64_t reach = 0;    // samples that a stretch sees beyond its own
  std::int64_t stretch = 0;  // samples that it owns; the last one may have more or fewer
  std::int64_t count = 0;

  // Centres that stretch i owns: [begin, end); samples that it sees: [from, to).
  std::int64_t begin(std::int64_t i) const { return i * stretch; }
  std::int64_t end(std::int64_t i) const { return i + 1 == count ? samples : begin(i) + stretch; }
  std::int64_t from(std::int64_t i) const { return std::max<std::int64_t>(0, begin(i) - reach); }
  std::int64_t to(std::int64_t i) const { return std::min(samples, end(i) + reach); }
};
Layout lay_out(std::int64_t samples, double longest_duration);

// The grid of a stretch that has neighbours (of the recording, if it is but one stretch).
atoms::Grid whole_grid(const Channel& channel, const PursuitOptions& resolved, bool limit_size = true);

// An atom as it was taken.
struct Take {
  std::int32_t round = 0;
  double rank = 0;  // the order of the result: never above that of an atom taken before that it may overlap
  double gain = 0;  // energy taken out
  double bound = 0;
  std::uint64_t survivors = 0;
  Term term;  // centre counted from the recording's first sample
};

// All that a finished stretch has to say; with the records of some stretches, the others are computed to the same bits.
struct StretchRecord {
  StopReason reason = StopReason::exhausted;
  std::int32_t closed = 0;   // the round in which it stopped
  std::vector<double> keys;  // its candidate's energy in each round, [0, closed]
  std::vector<Take> takes;
};

struct WholeHooks {
  std::function<void()> poll;              // throws to cancel
  std::function<void(std::int64_t)> done;  // so many samples more are finished
  std::function<std::optional<StretchRecord>(std::int64_t)>
      recall;  // a stretch that an earlier run finished; may be null
  std::function<void(std::int64_t, const StretchRecord&)> finished;  // may be null
};

// `options` resolved; `at_once`: stretches at work together (more where they wait for each other).
// Throws Error as take_apart does.
SegmentResult take_apart_whole(const Channel& channel, const PursuitOptions& options, core::ThreadPool& pool,
                               const WholeHooks& hooks, std::int64_t at_once);

// What the stretches took as the result of a segment: in the order of their ranks (omp and joint: fitted again before),
// each with its errors. `residual` is what they left; `limits` those of the atoms.
void summarise_whole(const Channel& channel, const PursuitOptions& options, const Layout& layout, const Detrended& data,
                     const std::vector<const StretchRecord*>& records, const atoms::Limits& limits,
                     core::ThreadPool& pool, const std::function<void()>& poll, std::vector<double>& residual,
                     SegmentResult& out);

// All amplitudes and phases (joint: all parameters) fitted again, stretch by stretch until nothing gains more than a
// share of 1e-9; [stretch] terms with centres from the recording's first sample. `residual` follows.
void refit_whole(const Layout& layout, const Detrended& data, const PursuitOptions& options,
                 const atoms::Limits& limits, core::ThreadPool& pool, const std::function<void()>& poll,
                 std::vector<double>& residual, std::vector<std::vector<Term>>& terms);

}  // namespace envoi::pursuit
