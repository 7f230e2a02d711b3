// Recordings taken apart: channels and their windows shared out among workers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "core/isa.hpp"
#include "core/thread_pool.hpp"
#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "pursuit/part_bytes.hpp"
#include "pursuit/plan.hpp"
#include "pursuit/resolve.hpp"
#include "pursuit/search.hpp"
#include "pursuit/segment.hpp"
#include "pursuit/whole.hpp"

namespace envoi {
namespace {

using atoms::Grid;
using pursuit::Prepared;
using pursuit::Resolved;
using pursuit::Searcher;
using pursuit::SegmentResult;
using pursuit::summarise;
using pursuit::Window;

constexpr std::size_t kGainWithin = 4;    // what many workers gain within one window
constexpr std::size_t kLeastAtLimit = 5;  // atoms at a limit that are worth a warning, and their share
constexpr double kShareAtLimit = 0.1;

// Grids and tables for each length of window that occurs.
std::map<std::int64_t, Prepared> prepare(const Channel& channel, const Resolved& resolved, core::ThreadPool& pool) {
  std::map<std::int64_t, Prepared> out;
  for (const Window& window : resolved.windows) {
    const auto [at, fresh] = out.try_emplace(window.size);
    if (!fresh) continue;
    at->second.grid = pursuit::grid_for(channel, resolved.options, window.size);
    at->second.searcher = std::make_unique<Searcher>(at->second.grid, resolved.options.precision,
                                                     resolved.options.phase == Phase::fixed, pool);
  }
  return out;
}

// What atoms of several channels need.
void require_alike(std::span<const Channel> channels) {
  const Channel& first = channels[0];
  for (const Channel& channel : channels) {
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::bad_argument, "--across joint: channels " + first.name + " and " + channel.name +
                                               " differ in " + what +
                                               "; pick channels that agree with --channels or --types");
    };
    if (channel.rate_hz != first.rate_hz) refuse("rate");
    if (channel.unit != first.unit) refuse("unit ('" + first.unit + "' and '" + channel.unit + "')");
    if (channel.start_s != first.start_s || channel.samples.size() != first.samples.size()) refuse("start or length");
    if (channel.kind != first.kind) refuse("kind");
  }
}

// One decomposition: channel after channel of one kind, their windows shared out among the workers.
class Run {
 public:
  Run(std::span<const Channel> channels, const PursuitOptions& options)
      : channels_(channels),
        options_(options),
        together_(options.channels != Channels::independent && channels.size() > 1),
        pool_(core::thread_count(options.threads)),
        states_(pool_.size()) {
    for (const Channel& channel : channels) {
      resolved_.push_back(pursuit::resolve(channel, options));
      progress_.segments += resolved_.back().windows.size();
      for (const Window& w : resolved_.back().windows)
        progress_.seconds_of_signal += static_cast<double>(w.size) / channel.rate_hz;
    }
    if (together_) require_alike(channels);
    out_.program = {version(), "cpu", core::isa().name};
    out_.rate_hz = channels[0].rate_hz;
    out_.options = resolved_[0].options;
    out_.options.progress = nullptr;
    out_.options.parts = {};
  }

  Decomposition run() {
    // Channels of one rate and kind share their tables.
    for (std::size_t begin = 0, end; begin < channels_.size(); begin = end) {
      end = begin + 1;
      while (end < channels_.size() && alike(begin, end)) ++end;
      poll_();
      if (options_.whole_signal) {
        for (std::size_t c = begin; c < end; ++c) add_whole(c);
      } else {
        add_windows(begin, end);
      }
    }
    return std::move(out_);
  }

 private:
  bool alike(std::size_t a, std::size_t b) const {
    const Resolved &x = resolved_[a], &y = resolved_[b];
    return channels_[a].rate_hz == channels_[b].rate_hz && channels_[a].kind == channels_[b].kind &&
           x.window == y.window && x.windows.size() == y.windows.size() &&
           (x.windows.empty() || x.windows.back().size == y.windows.back().size);
  }

  // Both with the mutex held.
  void tell() {
    cancelled_ = cancelled_ || (options_.progress && !options_.progress(progress_));
    if (cancelled_) throw Error(ErrorKind::cancelled, "cancelled; nothing was written");
  }
  void advance(std::size_t segments, std::int64_t samples, double rate_hz) {
    progress_.segments_done += segments;
    progress_.seconds_of_signal_done += static_cast<double>(samples) / rate_hz;
    tell();
  }

  std::optional<std::string> recall(const std::string& part) {
    std::lock_guard lock(mutex_);
    return options_.parts.recall ? options_.parts.recall(part) : std::nullopt;
  }
  void keep(const std::string& part, const std::function<std::string()>& bytes) {
    if (!options_.parts.keep) return;
    std::lock_guard lock(mutex_);
    options_.parts.keep(part, bytes());
  }
  bool wanted(std::size_t part) const { return !options_.parts.wanted || options_.parts.wanted(part); }

  void add_channel(std::size_t c, const Grid& grid) {
    const Channel& channel = channels_[c];
    if (c == 0) out_.grid = summarise(grid, channel.rate_hz);
    out_.channels.push_back({channel.name, channel.unit, channel.rate_hz, grid.size});
  }
  void add_result(std::size_t c, SegmentResult result) {
    result.segment.channel = c;
    result.segment.first_atom = out_.atoms.size();
    out_.atoms.insert(out_.atoms.end(), result.atoms.begin(), result.atoms.end());
    out_.segments.push_back(std::move(result.segment));
  }

  void add_whole(std::size_t c) {
    const Channel& channel = channels_[c];
    const auto name = [c](std::int64_t i) { return "stretch " + std::to_string(c) + " " + std::to_string(i); };
    pursuit::WholeHooks hooks{poll_, nullptr, nullptr, nullptr};
    hooks.done = [&](std::int64_t samples) {
      std::lock_guard lock(mutex_);
      advance(0, samples, channel.rate_hz);
    };
    hooks.recall = [&](std::int64_t i) {
      const std::optional<std::string> bytes = recall(name(i));
      return bytes ? pursuit::stretch_of(*bytes) : std::nullopt;
    };
    hooks.finished = [&](std::int64_t i, const pursuit::StretchRecord& record) {
      keep(name(i), [&] { return pursuit::to_bytes(record); });
    };
    add_channel(c, pursuit::whole_grid(channel, resolved_[c].options));
    if (!wanted(next_part_++)) return;
    // Few stretches at once: the sooner some are finished for good.
    const std::int64_t at_once = 16 * (1 + static_cast<std::int64_t>(pool_.size()));
    add_result(c, pursuit::take_apart_whole(channel, resolved_[c].options, pool_, hooks, at_once));
    ++progress_.segments_done;
  }

  void add_windows(std::size_t begin, std::size_t end);
  void warn_of(std::size_t c, std::size_t rejected);

  std::span<const Channel> channels_;
  const PursuitOptions& options_;
  const bool together_;
  core::ThreadPool pool_;
  std::vector<pursuit::SearchState> states_;  // a worker each
  std::vector<Resolved> resolved_;
  std::size_t next_part_ = 0;
  std::mutex mutex_;
  Progress progress_;
  bool cancelled_ = false;
  const std::function<void()> poll_ = [this] {
    std::lock_guard lock(mutex_);
    tell();
  };
  Decomposition out_;
};

void Run::add_windows(std::size_t begin, std::size_t end) {
  const std::map<std::int64_t, Prepared> prepared = prepare(channels_[begin], resolved_[begin], pool_);
  const std::size_t each = resolved_[begin].windows.size(), count = end - begin;
  const std::size_t at_once = together_ ? count : 1;  // channels of a task
  const std::size_t tasks = count / at_once * each;
  std::vector<std::vector<SegmentResult>> results(tasks);  // a task's channels; empty: not wanted
  const auto one = [&](std::size_t i, unsigned worker, core::ThreadPool* inner) {
    if (!wanted(next_part_ + i)) return;
    const std::size_t c = begin + i / each;
    const Window& window = resolved_[c].windows[i % each];
    const std::string name = "window " + std::to_string(c) + " " + std::to_string(i % each);
    if (const std::optional<std::string> bytes = recall(name)) {
      if (auto kept = pursuit::segments_of(*bytes); kept && kept->size() == at_once) results[i] = std::move(*kept);
    }
    if (results[i].empty()) {
      const PursuitOptions& options = resolved_[c].options;
      if (together_) {
        results[i] = pursuit::take_apart_together(channels_.subspan(begin, count), options, prepared.at(window.size),
                                                  window, inner, states_[worker], poll_);
      } else {
        results[i].push_back(pursuit::take_apart(channels_[c], options, prepared.at(window.size), window, inner,
                                                 states_[worker], poll_));
      }
      keep(name, [&] { return pursuit::to_bytes(results[i]); });
    }
    std::lock_guard lock(mutex_);
    advance(at_once, window.size * static_cast<std::int64_t>(at_once), channels_[c].rate_hz);
  };
  // A worker each takes a window; the few that are left over are taken one by one, by all workers, where that is
  // sooner.
  const std::size_t workers = pool_.size(), left_over = tasks % workers;
  const std::size_t apart = left_over < std::min<std::size_t>(workers, kGainWithin) ? tasks - left_over : tasks;
  pool_.run(apart, [&](std::size_t i, unsigned worker) { one(i, worker, nullptr); });
  for (std::size_t i = apart; i < tasks; ++i) one(i, 0, &pool_);
  next_part_ += tasks;

  for (std::size_t c = begin; c < end; ++c) {
    add_channel(c, prepared.at(resolved_[begin].windows.front().size).grid);
    std::size_t rejected = 0;
    for (std::size_t i = 0; i < each; ++i) {
      std::vector<SegmentResult>& found = results[together_ ? i : (c - begin) * each + i];
      if (found.empty()) continue;
      SegmentResult& result = found[together_ ? c - begin : 0];
      rejected += result.segment.stop_reason == StopReason::missing;
      add_result(c, std::move(result));
    }
    warn_of(c, rejected);
  }
}

void Run::warn_of(std::size_t c, std::size_t rejected) {
  const std::string channel = "channel " + channels_[c].name + ": ";
  if (resolved_[c].skipped > 0) {
    out_.warnings.push_back(channel + "the last " + std::to_string(resolved_[c].skipped) +
                            " samples, less than half a window, are not analysed");
  }
  if (rejected > 0) {
    out_.warnings.push_back(channel + std::to_string(rejected) + " of " + std::to_string(resolved_[c].windows.size()) +
                            " windows are left out for missing samples; --missing weight uses what is there");
  }
}

}  // namespace

Decomposition decompose(const Channel& channel, const PursuitOptions& options) {
  return Run(std::span(&channel, 1), options).run();
}

Decomposition decompose(const Recording& recording, const PursuitOptions& options) {
  if (recording.channels.empty())
    throw Error(ErrorKind::bad_file, recording.name + ": there is no data channel to analyse");
  Decomposition out = Run(recording.channels, options).run();
  out.source = {recording.name, recording.sha256, recording.format, recording.start};
  return out;
}

std::vector<std::string> limit_warnings(const Decomposition& result) {
  std::vector<std::string> out;
  const std::optional<Range>& durations = result.options.durations_s;
  if (!durations || result.options.grid || !result.options.refine || durations->low == durations->high) return out;
  std::size_t longest = 0, shortest = 0;
  for (const Chirplet& atom : result.atoms) {
    longest += atom.duration_s >= durations->high * (1 - 1e-9);
    shortest += atom.duration_s <= durations->low * (1 + 1e-9);
  }
  const auto warn = [&](std::size_t count, const char* which, double limit_s) {
    if (count < kLeastAtLimit || count < kShareAtLimit * static_cast<double>(result.atoms.size())) return;
    std::ostringstream text;
    text << count << " of " << result.atoms.size() << " atoms have the " << which << " duration sought, " << limit_s
         << " s: --durations with more room would show theirs";
    out.push_back(text.str());
  };
  warn(longest, "longest", durations->high);
  warn(shortest, "shortest", durations->low);
  return out;
}

const char* to_string(StopReason reason) {
  constexpr const char* kNames[] = {"atoms",   "snr",       "energy",    "noise",  "silence",
                                    "missing", "exhausted", "threshold", "density"};
  return kNames[static_cast<int>(reason)];
}

}  // namespace envoi
