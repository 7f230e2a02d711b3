// How fast a search and a whole decomposition are, beside OpenBLAS on the stored dictionary, and in how much memory.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>

#include "bench.hpp"
#include "core/thread_pool.hpp"
#include "envoi/pursuit.hpp"
#include "openblas.hpp"
#include "peer.hpp"
#include "pursuit/resolve.hpp"
#include "pursuit/search.hpp"
#include "signals.hpp"

namespace bench {
namespace {

constexpr int kPairs = 15;

// The library's search as the bench calls it.
struct Search {
  Search(envoi::atoms::Grid grid_in, unsigned threads)
      : grid(std::move(grid_in)), pool(threads), searcher(grid, envoi::Precision::exact, false, pool) {}
  void operator()(const std::vector<double>& signal) {
    state.forget();  // every search a full one
    searcher.best(signal, {}, 0, &pool, &state);
  }
  double operations() const { return envoi::pursuit::search_cost(grid, envoi::Precision::exact).operations; }

  envoi::atoms::Grid grid;
  envoi::core::ThreadPool pool;
  envoi::pursuit::Searcher searcher;
  envoi::pursuit::SearchState state;
};

envoi::atoms::Grid grid_of(const envoi::PursuitOptions& options) {
  const envoi::Channel channel = as_channel(std::vector<double>(kSamples, 1.0));
  return envoi::pursuit::grid_for(channel, envoi::pursuit::resolve(channel, options).options, kSamples);
}

// Signals drawn at random, so that no cache flatters: the mixture with a new phase and noise each.
struct Inputs {
  std::vector<std::vector<double>> wide;
  std::vector<std::vector<float>> narrow;
};
Inputs draw_inputs(std::size_t count) {
  std::mt19937_64 generator(std::random_device{}());
  Inputs inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.wide.push_back(mixture(static_cast<int>(generator() % 1000000)).noisy);
    std::rotate(inputs.wide.back().begin(), inputs.wide.back().begin() + static_cast<long>(generator() % kSamples),
                inputs.wide.back().end());
    inputs.narrow.emplace_back(inputs.wide.back().begin(), inputs.wide.back().end());
  }
  return inputs;
}

// In a child: OpenBLAS reads its core type when it is loaded.
Rows search_beside_peer() {
  Rows rows;
  if (!has_openblas()) return rows;
  StoredDictionary dictionary(mixture_grid(), kRate, kSamples);
  const Inputs inputs = draw_inputs(kPairs);
  for (const unsigned threads : thread_counts()) {
    Search search(grid_of(mixture_options(envoi::Method::mp)), threads);
    const double peak = peak_gflops(threads);
    const Paired times = interleave(
        kPairs, [&](int i) { search(inputs.wide[static_cast<std::size_t>(i)]); },
        [&](int i) { dictionary.best(inputs.narrow[static_cast<std::size_t>(i)], threads); });
    Row row("search/grid", std::to_string(search.grid.size) + "x512 n=1");
    against_peer(row, times, threads)
        .with("share_of_peak", search.operations() / (times.ours_ms * 1e6) / peak)
        .with("peak_gflops", peak)
        .with("read_gbs", read_bandwidth_gbs(threads));
    rows.push_back(row);
  }
  return rows;
}

Rows transform_beside_peer() {
  Rows rows;
  if (!has_openblas()) return rows;
  StoredDictionary dictionary(mixture_grid(), kRate, kSamples);
  const Inputs inputs = draw_inputs(kPairs);
  const unsigned threads = processors();
  envoi::PursuitOptions options = mixture_options(envoi::Method::mp);
  options.threads = threads;
  const Paired times = interleave(
      kPairs, [&](int i) { envoi::decompose(as_channel(inputs.wide[static_cast<std::size_t>(i)]), options); },
      [&](int i) {
        for (int atom = 0; atom < 10; ++atom) dictionary.best(inputs.narrow[static_cast<std::size_t>(i)], threads);
      });
  Row row("transform/order10", "603520x512 n=1, whole transform; peer: ten searches alone");
  rows.push_back(against_peer(row, times, threads));

  // Sixteen signals at once: windows of one channel.
  constexpr int kBatch = 16, kBatchPairs = 9;
  const Inputs many = draw_inputs(kBatch * kBatchPairs);
  std::vector<std::vector<double>> wide(kBatchPairs);
  std::vector<std::vector<float>> narrow(kBatchPairs);
  for (std::size_t i = 0; i < many.wide.size(); ++i) {
    wide[i / kBatch].insert(wide[i / kBatch].end(), many.wide[i].begin(), many.wide[i].end());
    narrow[i / kBatch].insert(narrow[i / kBatch].end(), many.narrow[i].begin(), many.narrow[i].end());
  }
  options.whole = false;
  options.window_s = kSamples / kRate;
  const Paired batch = interleave(
      kBatchPairs, [&](int i) { envoi::decompose(as_channel(wide[static_cast<std::size_t>(i)]), options); },
      [&](int i) {
        for (int atom = 0; atom < 10; ++atom) dictionary.best_of_batch(narrow[static_cast<std::size_t>(i)], threads);
      });
  Row batch_row("transform/order10", "603520x512 n=16, whole transforms; peer: ten searches alone");
  rows.push_back(against_peer(batch_row, batch, threads, "sgemm+isamax"));
  return rows;
}

Rows memory_of_transform() {
  envoi::PursuitOptions options = mixture_options(envoi::Method::mp);
  envoi::decompose(as_channel(mixture(0).noisy), options);
  return {Row("memory/order10", "603520x512, whole process").with("envoi_mb", peak_memory_mb())};
}

Rows search_grid() {
  Rows rows = ask_beside_peer("search/grid");
  // Other grids, so that nothing is fitted to one.
  const auto explicit_grid = [](envoi::Axis time, envoi::Axis frequency, envoi::Axis ln_duration, envoi::Axis chirp) {
    envoi::PursuitOptions options;
    options.grid = envoi::ExplicitGrid{time, true, frequency, ln_duration, chirp};
    options.whole = true;
    options.stop.atoms = 1;
    return options;
  };
  struct Named {
    const char* name;
    envoi::PursuitOptions options;
  };
  envoi::PursuitOptions defaults;
  const Named all[] = {
      {"benchmark", mixture_options(envoi::Method::mp)},
      {"frequency step 0.37 Hz", explicit_grid({0, 496, 16}, {0.5, 19.5, 0.37}, {-1.90, -0.14, 0.08}, {-40, 40, 2})},
      {"defaults for biosignals", defaults},
      {"time step 5", explicit_grid({0, 511, 5}, {0.3, 20, 1}, {-1.897, -0.105, 0.08}, {-40, 40, 2})},
      {"19.1 million", explicit_grid({0, 512, 4}, {0.5, 8, 0.1}, {-2, 0.9, 0.1}, {-16, 16, 0.5})},
  };
  const Inputs inputs = draw_inputs(kPairs);
  const unsigned threads = processors();
  const double peak = peak_gflops(threads);
  for (const Named& named : all) {
    note(std::string("search/grid ") + named.name);
    Search search(grid_of(named.options), threads);
    const double ms = median_ms(9, [&](int i) { search(inputs.wide[static_cast<std::size_t>(i)]); });
    const envoi::pursuit::SearchCost cost = envoi::pursuit::search_cost(search.grid, envoi::Precision::exact);
    const double megabytes = (cost.table_bytes + threads * cost.scratch_bytes) / 1e6;
    rows.push_back(Row("search/grid", std::to_string(search.grid.size) + "x512 n=1, " + named.name)
                       .with("envoi_ms", ms)
                       .with("peer", "none, " + threads_text(threads))
                       .with("atoms_per_s", static_cast<double>(search.grid.size) / ms * 1e3)
                       .with("envoi_mb", megabytes)
                       .with("share_of_peak", cost.operations / (ms * 1e6) / peak));
  }
  return rows;
}

// What every processor together gains over one, beside what the probe of multiply-adds gains in the same run.
Row gain_of_threads(const std::string& bench, const std::string& name, const std::function<void(int, unsigned)>& run) {
  const unsigned all = processors();
  const Paired times = interleave(
      kPairs, [&](int i) { run(i, all); }, [&](int i) { run(i, 1); });
  const double probe = peak_gflops(all) / peak_gflops(1);
  return Row(bench, name)
      .with("envoi_ms", times.ours_ms)
      .with("peer", "itself, 1 thread")
      .with("peer_ms", times.peer_ms)
      .with("ratio", times.ratio)
      .with("ratio_quartile", times.ratio_lower_quartile)
      .with("probe_gain", probe)
      .with("share_of_probe_gain", times.ratio / probe);
}

Rows search_threads() {
  if (processors() < 2) return {};
  const Inputs inputs = draw_inputs(kPairs);
  const envoi::PursuitOptions mixture = mixture_options(envoi::Method::mp);
  Search alone(grid_of(mixture), 1), together(grid_of(mixture), processors());
  std::vector<double> windows;  // sixteen
  for (int i = 0; i < 16; ++i) {
    const std::vector<double>& x = inputs.wide[static_cast<std::size_t>(i) % inputs.wide.size()];
    windows.insert(windows.end(), x.begin(), x.end());
  }
  return {
      gain_of_threads("search/threads", "603520x512 n=1, ten searches in a row",
                      [&](int i, unsigned threads) {
                        for (std::size_t s = 0; s < 10; ++s)
                          (threads == 1 ? alone : together)(inputs.wide[(static_cast<std::size_t>(i) + s) % kPairs]);
                      }),
      gain_of_threads("search/threads", "603520x512 n=16, transforms of order 10", [&](int, unsigned threads) {
        envoi::PursuitOptions options = mixture;
        options.whole = false;
        options.window_s = kSamples / kRate;
        options.threads = threads;
        envoi::decompose(as_channel(windows), options);
      })};
}

Rows transform_order10() { return ask_beside_peer("transform/order10"); }

Rows memory_order10() { return ask_child("memory/order10", {"OPENBLAS_NUM_THREADS=1"}); }

}  // namespace

std::vector<Question> speed_questions() {
  return {
      {"search/grid", "one search of a grid for one signal; ratio: peer's time over ours, pair by pair", search_grid},
      {"search/threads", "all threads against one; the probe's gain is that of bare multiply-adds", search_threads},
      {"transform/order10", "one signal to ten refined atoms, beside the ten searches alone", transform_order10},
      {"memory/order10", "peak memory of a process that does the same", memory_order10}};
}

std::vector<Question> child_questions() {
  return {{"search/grid", "", search_beside_peer},
          {"transform/order10", "", transform_beside_peer},
          {"memory/order10", "", memory_of_transform}};
}

}  // namespace bench
