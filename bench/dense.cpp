// The search of a stored dictionary, beside OpenBLAS on the same one, the peak of multiply-adds and the speed of
// reading.
#include <algorithm>
#include <cstdint>
#include <span>

#include "bench.hpp"
#include "envoi/search.hpp"
#include "openblas.hpp"
#include "peer.hpp"
#include "signals.hpp"

namespace bench {
namespace {

constexpr int kPairs = 9;
constexpr std::size_t kLength = kSamples;

// `count` signals, new ones for every pair.
struct Batches {
  std::vector<std::vector<double>> wide;
  std::vector<std::vector<float>> narrow;
};
Batches draw_batches(std::size_t count) {
  Batches batches;
  for (int i = 0; i < kPairs; ++i) {
    std::vector<double> wide;
    for (std::size_t s = 0; s < count; ++s) {
      const std::vector<double> one = mixture(static_cast<int>(s) + 1000 * i).noisy;
      wide.insert(wide.end(), one.begin(), one.end());
    }
    batches.narrow.emplace_back(wide.begin(), wide.end());
    batches.wide.push_back(std::move(wide));
  }
  return batches;
}

std::uint64_t most_survivors(const envoi::SearchResult& result) {
  std::uint64_t most = 0;
  for (const envoi::SignalMatches& signal : result.signals) most = std::max(most, signal.certificate.survivors);
  return most;
}

// In a child: OpenBLAS reads its core type when it is loaded.
Rows dense_beside_peer() {
  Rows rows;
  if (!has_openblas()) return rows;
  StoredDictionary stored(mixture_grid(), kRate, kSamples);
  envoi::Dictionary narrow(stored.rows(), stored.atoms(), kLength);
  envoi::Dictionary with_bf16(stored.rows(), stored.atoms(), kLength);
  with_bf16.keep_bf16();
  for (const bool bf16 : {false, true}) {
    const envoi::Dictionary& dictionary = bf16 ? with_bf16 : narrow;
    for (const std::size_t count : {std::size_t{1}, std::size_t{64}}) {
      const Batches batches = draw_batches(count);
      for (const unsigned threads : thread_counts()) {
        envoi::SearchOptions options;
        options.threads = threads;
        std::uint64_t survivors = 0;
        const auto ours = [&](int i) {
          const std::span<const double> signals(batches.wide[static_cast<std::size_t>(i)]);
          survivors = std::max(survivors, most_survivors(envoi::search(dictionary, signals, options)));
        };
        const auto theirs = [&](int i) {
          const std::vector<float>& signals = batches.narrow[static_cast<std::size_t>(i)];
          count == 1 ? stored.best(signals, threads) : stored.best_of_batch(signals, threads);
        };
        const double peak = peak_gflops(threads);
        const Paired times = interleave(kPairs, ours, theirs);
        const double numbers = static_cast<double>(stored.atoms()) * static_cast<double>(kLength);
        Row row("search/dense",
                std::to_string(stored.atoms()) + "x512 n=" + std::to_string(count) + (bf16 ? ", bf16 kept" : ""));
        against_peer(row, times, threads, count == 1 ? "sgemv+isamax" : "sgemm+isamax")
            .with("share_of_peak", 2 * numbers * static_cast<double>(count) / (times.ours_ms * 1e6) / peak)
            .with("peak_gflops", peak)
            .with("most_survivors", static_cast<double>(survivors));
        if (count > 1 && threads > 1) {
          // What more threads gain, over what they gain the probe of multiply-adds.
          const double peak_of_one = peak_gflops(1);
          envoi::SearchOptions one = options;
          one.threads = 1;
          const Paired gains = interleave(kPairs, ours, [&](int i) {
            envoi::search(dictionary, std::span<const double>(batches.wide[static_cast<std::size_t>(i)]), one);
          });
          row.with("gain", gains.ratio).with("gain_over_probe", gains.ratio / (peak / peak_of_one));
        }
        if (count == 1) {
          // Bytes of what is streamed over our time, beside a plain read of as many.
          const double bytes = numbers * (bf16 ? 2 : 4);
          const Paired reads =
              interleave(kPairs, ours, [&](int) { read_all(stored.rows(), static_cast<std::size_t>(bytes), threads); });
          row.with("read_gbs", bytes / reads.peer_ms * 1e-6)
              .with("share_of_read", reads.ratio)
              .with("share_of_read_quartile", reads.ratio_lower_quartile);
        }
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<Question> dense_questions() {
  return {{"search/dense",
           "signals against a stored dictionary; ratio: peer's time over ours; share_of_read: a plain read's time over "
           "ours",
           [] { return ask_beside_peer("search/dense"); }}};
}

std::vector<Question> dense_child_questions() { return {{"search/dense", "", dense_beside_peer}}; }

}  // namespace bench
