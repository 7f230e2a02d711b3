// One window of a channel taken apart: trend, searches, refinement, stop rules.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/thread_pool.hpp"
#include "envoi/decomposition.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"
#include "pursuit/model.hpp"
#include "pursuit/resolve.hpp"
#include "pursuit/search.hpp"

namespace envoi::pursuit {

// A grid and its tables, for segments of one length.
struct Prepared {
  atoms::Grid grid;
  std::unique_ptr<Searcher> searcher;
};

struct SegmentResult {
  Segment segment;  // without its channel and first atom
  std::vector<Chirplet> atoms;
};

// How many rivals of a winner to ask the search for.
int rivals_of(const Prepared& prepared, const PursuitOptions& options);

// The winner, or a rival that climbs higher, refined as the options say, with its amplitude; false if it has no energy.
bool refine_winner(const Prepared& prepared, const Winner& winner, const atoms::Samples& residual,
                   const PursuitOptions& options, Term& found);

// Independent trials that a search of the grid stands for where nothing is there but white noise.
double noise_trials(const atoms::Grid& grid);

// `options` resolved. The pool may be null: this thread alone. The state is scratch, for one segment at a time; `poll`
// is called before each search and throws to cancel. Same bits for any pool.
// Throws Error (numerical) for infinite samples and for those whose squares overflow.
SegmentResult take_apart(const Channel& channel, const PursuitOptions& options, const Prepared& prepared,
                         const Window& window, core::ThreadPool* pool, SearchState& state,
                         const std::function<void()>& poll);

// The same window of channels of one rate, start and length taken apart together (options.channels); a result each.
std::vector<SegmentResult> take_apart_together(std::span<const Channel> channels, const PursuitOptions& options,
                                               const Prepared& prepared, const Window& window, core::ThreadPool* pool,
                                               SearchState& state, const std::function<void()>& poll);

}  // namespace envoi::pursuit
