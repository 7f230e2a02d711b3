// Recordings taken apart: channels and their windows shared out among workers, and what a run would cost.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>

#include "core/isa.hpp"
#include "core/processor.hpp"
#include "core/thread_pool.hpp"
#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
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
using pursuit::Window;

constexpr std::size_t kGainWithin = 4;  // what many workers gain within one window

GridSummary summarise(const Grid& grid, double rate) {
  GridSummary out{grid.size, grid.max_loss, {}};
  for (const atoms::Block& block : grid.blocks)
    out.scales.push_back({std::exp(block.ln_duration) / rate, block.size()});
  return out;
}

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

Decomposition decompose_all(std::span<const Channel> channels, const PursuitOptions& options) {
  Decomposition out;
  out.program = {version(), "cpu", core::isa().name};
  core::ThreadPool pool(core::thread_count(options.threads));
  std::vector<Resolved> resolved;
  Progress progress;
  for (const Channel& channel : channels) {
    resolved.push_back(pursuit::resolve(channel, options));
    progress.segments += resolved.back().windows.size();
    for (const Window& w : resolved.back().windows)
      progress.seconds_of_signal += static_cast<double>(w.size) / channel.rate_hz;
  }
  const bool together = options.channels != Channels::independent && channels.size() > 1;
  if (together) require_alike(channels);
  std::mutex mutex;
  bool cancelled = false;
  const auto tell = [&] {  // with the mutex held
    cancelled = cancelled || (options.progress && !options.progress(progress));
    if (cancelled) throw Error(ErrorKind::cancelled, "cancelled; nothing was written");
  };
  const std::function<void()> poll = [&] {
    std::lock_guard lock(mutex);
    tell();
  };
  const auto report = [&](const Channel& channel, const Window& window) {
    std::lock_guard lock(mutex);
    ++progress.segments_done;
    progress.seconds_of_signal_done += static_cast<double>(window.size) / channel.rate_hz;
    tell();
  };

  // Channels of one rate and kind share their tables, and their windows are shared out together.
  const auto same = [&](std::size_t a, std::size_t b) {
    const Resolved &x = resolved[a], &y = resolved[b];
    return channels[a].rate_hz == channels[b].rate_hz && channels[a].kind == channels[b].kind && x.window == y.window &&
           x.windows.size() == y.windows.size() &&
           (x.windows.empty() || x.windows.back().size == y.windows.back().size);
  };
  const auto add_whole = [&](std::size_t c) {
    const Channel& channel = channels[c];
    const pursuit::WholeHooks hooks{poll,
                                    [&](std::int64_t samples) {
                                      std::lock_guard lock(mutex);
                                      progress.seconds_of_signal_done += static_cast<double>(samples) / channel.rate_hz;
                                      tell();
                                    },
                                    nullptr, nullptr};
    SegmentResult result = pursuit::take_apart_whole(channel, resolved[c].options, pool, hooks);
    ++progress.segments_done;
    const Grid grid = pursuit::whole_grid(channel, resolved[c].options);
    if (c == 0) {
      out.rate_hz = channel.rate_hz;
      out.options = resolved[0].options;
      out.options.progress = nullptr;
      out.grid = summarise(grid, channel.rate_hz);
    }
    out.channels.push_back({channel.name, channel.unit, channel.rate_hz, grid.size});
    result.segment.channel = c;
    result.segment.first_atom = out.atoms.size();
    out.atoms.insert(out.atoms.end(), result.atoms.begin(), result.atoms.end());
    out.segments.push_back(std::move(result.segment));
  };
  std::vector<pursuit::SearchState> states(pool.size());
  for (std::size_t begin = 0, end; begin < channels.size(); begin = end) {
    end = begin + 1;
    while (end < channels.size() && same(begin, end)) ++end;
    poll();
    if (options.whole_signal) {
      for (std::size_t c = begin; c < end; ++c) add_whole(c);
      continue;
    }
    const std::map<std::int64_t, Prepared> prepared = prepare(channels[begin], resolved[begin], pool);
    const std::size_t each = resolved[begin].windows.size();
    std::vector<SegmentResult> results((end - begin) * each);
    const auto one = [&](std::size_t i, unsigned worker, core::ThreadPool* inner) {
      if (together) {
        const Window& window = resolved[begin].windows[i];
        std::vector<SegmentResult> found =
            pursuit::take_apart_together(channels.subspan(begin, end - begin), resolved[begin].options,
                                         prepared.at(window.size), window, inner, states[worker], poll);
        for (std::size_t c = begin; c < end; ++c) {
          results[(c - begin) * each + i] = std::move(found[c - begin]);
          results[(c - begin) * each + i].segment.channel = c;
          report(channels[c], window);
        }
        return;
      }
      const std::size_t c = begin + i / each;
      const Window& window = resolved[c].windows[i % each];
      results[i] = pursuit::take_apart(channels[c], resolved[c].options, prepared.at(window.size), window, inner,
                                       states[worker], poll);
      results[i].segment.channel = c;
      report(channels[c], window);
    };
    // A worker each takes a window; the few that are left over are taken one by one, by all workers, where that is
    // sooner.
    const std::size_t tasks = together ? each : results.size();
    const std::size_t workers = pool.size(), left_over = tasks % workers;
    const std::size_t apart = left_over < std::min<std::size_t>(workers, kGainWithin) ? tasks - left_over : tasks;
    pool.run(apart, [&](std::size_t i, unsigned worker) { one(i, worker, nullptr); });
    for (std::size_t i = apart; i < tasks; ++i) one(i, 0, &pool);
    const Grid& grid = prepared.at(resolved[begin].windows.front().size).grid;
    if (begin == 0) {
      out.rate_hz = channels[0].rate_hz;
      out.options = resolved[0].options;
      out.options.progress = nullptr;
      out.grid = summarise(grid, channels[0].rate_hz);
    }
    for (std::size_t c = begin; c < end; ++c) {
      const Channel& channel = channels[c];
      out.channels.push_back({channel.name, channel.unit, channel.rate_hz, grid.size});
      if (resolved[c].skipped > 0) {
        out.warnings.push_back("channel " + channel.name + ": the last " + std::to_string(resolved[c].skipped) +
                               " samples, less than half a window, are not analysed");
      }
      std::size_t rejected = 0;
      for (std::size_t i = (c - begin) * each; i < (c - begin + 1) * each; ++i) {
        SegmentResult& result = results[i];
        result.segment.first_atom = out.atoms.size();
        rejected += result.segment.stop_reason == StopReason::missing;
        out.atoms.insert(out.atoms.end(), result.atoms.begin(), result.atoms.end());
        out.segments.push_back(std::move(result.segment));
      }
      if (rejected > 0) {
        out.warnings.push_back("channel " + channel.name + ": " + std::to_string(rejected) + " of " +
                               std::to_string(each) +
                               " windows are left out for missing samples; --missing weight uses what is there");
      }
    }
  }
  return out;
}

std::string describe(const pursuit::SearchWay& way) {
  std::ostringstream text;
  text.precision(3);
  if (way.transform > 0) {
    text << "Fourier transforms of " << way.transform << " points";
    if (way.both_signs) text << ", one for each pair of chirp rates +c, -c";
  } else {
    text << "products with cosines";
    if (way.durations > 1)
      text << " of " << way.basis_windows << " basis windows for " << way.durations << " durations";
    if (way.rows < way.depth) text << ", " << way.depth << " samples a side folded to " << way.rows;
  }
  text << "; " << way.operations * 1e-9 << " G operations";
  return text.str();
}

}  // namespace

Decomposition decompose(const Channel& channel, const PursuitOptions& options) {
  return decompose_all(std::span(&channel, 1), options);
}

Decomposition decompose(const Recording& recording, const PursuitOptions& options) {
  if (recording.channels.empty())
    throw Error(ErrorKind::bad_file, recording.name + ": there is no data channel to analyse");
  Decomposition out = decompose_all(recording.channels, options);
  out.source = {recording.name, recording.sha256, recording.format, recording.start};
  return out;
}

Plan plan(const Channel& channel, const PursuitOptions& options) {
  const Resolved resolved = pursuit::resolve(channel, options);
  const Grid grid = pursuit::grid_for(channel, resolved.options, resolved.window, false);
  const pursuit::SearchCost cost = pursuit::search_cost(grid, resolved.options.precision);
  const unsigned threads = core::thread_count(options.threads);
  Plan out;
  out.options = resolved.options;
  out.grid = summarise(grid, channel.rate_hz);
  out.samples_per_segment = static_cast<std::uint64_t>(resolved.window);
  out.segments = resolved.windows.size();
  out.operations_per_search = cost.operations;
  for (const pursuit::SearchWay& way : cost.ways) out.search.push_back({way.durations, describe(way)});
  out.memory_bytes = cost.table_bytes + threads * cost.scratch_bytes;
  const double searches = static_cast<double>(out.segments) * static_cast<double>(*resolved.options.stop.atoms) + 1;
  // A search reaches about 0.4 of the rate; refinement and what follows take about a millisecond.
  out.expected_seconds = searches * (cost.operations / (0.4 * pursuit::multiply_add_rate()) + 1e-3) / threads;
  return out;
}

std::vector<DeviceInfo> devices() { return {{"cpu", core::describe_processor()}}; }

std::string isa_name() { return core::isa().name; }
std::string version() { return ENVOI_VERSION; }

const char* to_string(StopReason reason) {
  constexpr const char* kNames[] = {"atoms",   "snr",       "energy",    "noise",  "silence",
                                    "missing", "exhausted", "threshold", "density"};
  return kNames[static_cast<int>(reason)];
}

}  // namespace envoi
