// Rows that stand beside a peer's.
#include "peer.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/thread_pool.hpp"
#include "openblas.hpp"

namespace bench {

std::vector<unsigned> thread_counts() {
  return processors() > 1 ? std::vector<unsigned>{1, processors()} : std::vector<unsigned>{1};
}

std::string threads_text(unsigned threads) { return std::to_string(threads) + (threads == 1 ? " thread" : " threads"); }

void read_all(const void* data, std::size_t bytes, unsigned threads) {
  const auto* words = static_cast<const std::uint64_t*>(data);
  const std::size_t count = bytes / sizeof(std::uint64_t), piece = (count + 16 * threads - 1) / (16 * threads);
  envoi::core::ThreadPool pool(threads);
  std::vector<std::uint64_t> sums(16 * threads);
  pool.run(sums.size(), [&](std::size_t i, unsigned) {
    sums[i] =
        std::accumulate(words + std::min(count, i * piece), words + std::min(count, (i + 1) * piece), std::uint64_t{0});
  });
  volatile std::uint64_t kept = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  static_cast<void>(kept);
}

Row& against_peer(Row& row, const Paired& times, unsigned threads, const std::string& calls) {
  return row.with("envoi_ms", times.ours_ms)
      .with("peer", openblas_name(threads, calls))
      .with("peer_ms", times.peer_ms)
      .with("ratio", times.ratio)
      .with("ratio_quartile", times.ratio_lower_quartile);
}

Rows ask_beside_peer(const std::string& question) {
  if (!has_openblas()) {
    note(question + ": no OpenBLAS in this build, its rows are left out");
    return {};
  }
  const std::string sleep = "OPENBLAS_THREAD_TIMEOUT=4";
  note(question + " beside OpenBLAS's own choice of kernel");
  Rows rows = ask_child(question, {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", sleep});
  if (has_avx512()) {
    note(question + " beside OpenBLAS's AVX-512 kernel");
    const Rows more = ask_child(question, {"OPENBLAS_CORETYPE=SKYLAKEX", "OPENBLAS_NUM_THREADS", sleep});
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace bench
