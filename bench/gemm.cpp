// The matrix product and its endings, beside OpenBLAS's sgemm (sgemv for one column) followed by a pass, the peak of
// multiply-adds and the speed of reading.
#include "envoi/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "bench.hpp"
#include "openblas.hpp"
#include "peer.hpp"

namespace bench {
namespace {

namespace eg = envoi::gemm;

constexpr int kPairs = 11;

struct Shape {
  std::int64_t m, n, k;
  std::string text() const { return std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n); }
  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

template <class T>
std::vector<T> draw(std::int64_t count) {
  std::minstd_rand random(7);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& x : values) x = static_cast<T>(static_cast<float>(random() % 2048) / 1024.0f - 1.0f);
  return values;
}

// ours(threads) beside theirs(threads), both of this shape; `streamed` is what has to be read from memory.
template <class Ours, class Theirs>
void add_rows(Rows& rows, const std::string& name, const Shape& shape, const void* streamed, std::size_t bytes,
              const std::string& calls, Ours ours, Theirs theirs) {
  for (const unsigned threads : thread_counts()) {
    const double before = peak_gflops(threads);
    const Paired times = interleave(
        kPairs, [&](int) { ours(threads); }, [&](int) { theirs(threads); });
    const double peak = std::max(before, peak_gflops(threads));
    Row row(name, shape.text());
    against_peer(row, times, threads, calls)
        .with("share_of_peak", shape.operations() / (times.ours_ms * 1e6) / peak)
        .with("peak_gflops", peak);
    if (shape.n == 1) {
      const Paired reads = interleave(
          kPairs, [&](int) { ours(threads); }, [&](int) { read_all(streamed, bytes, threads); });
      row.with("read_gbs", static_cast<double>(bytes) / reads.peer_ms * 1e-6)
          .with("share_of_read", reads.ratio)
          .with("share_of_read_quartile", reads.ratio_lower_quartile);
    }
    rows.push_back(row);
  }
}

template <class T>
void products(Rows& rows, const std::string& name, std::initializer_list<Shape> shapes) {
  for (const Shape& s : shapes) {
    const std::vector<T> a = draw<T>(s.m * s.k), b = draw<T>(s.k * s.n);
    const std::vector<float> wide_a = draw<float>(s.m * s.k), wide_b = draw<float>(s.k * s.n);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
    const eg::Packed packed(eg::Matrix(b.data(), s.k, s.n));
    add_rows(
        rows, name, s, a.data(), a.size() * sizeof(T), s.n == 1 ? "sgemv" : "sgemm",
        [&](unsigned threads) {
          eg::store(eg::Matrix(a.data(), s.m, s.k), packed, eg::MutableMatrix(c.data(), s.m, s.n), threads);
        },
        [&](unsigned threads) { openblas_product(s.m, s.n, s.k, wide_a.data(), wide_b.data(), c.data(), threads); });
  }
}

// In a child: OpenBLAS reads its core type when it is loaded.
Rows fp32_beside_peer() {
  Rows rows;
  if (has_openblas()) products<float>(rows, "gemm/f32", {{603520, 64, 512}, {603520, 1, 512}, {2048, 2048, 2048}});
  return rows;
}
Rows bf16_beside_peer() {
  Rows rows;
  if (has_openblas()) products<eg::bfloat16>(rows, "gemm/bf16", {{603520, 64, 512}, {603520, 1, 512}});
  return rows;
}

Rows argmax_beside_peer() {
  Rows rows;
  if (!has_openblas()) return rows;
  const Shape s{603520, 64, 512};
  const std::vector<float> a = draw<float>(s.m * s.k), b = draw<float>(s.k * s.n);
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
  const eg::Packed packed(eg::Matrix(b.data(), s.k, s.n));
  double sum = 0;
  add_rows(
      rows, "ending/argmax", s, a.data(), a.size() * sizeof(float), "sgemm, a pass for the largest magnitudes",
      [&](unsigned threads) {
        sum += eg::argmax(eg::Matrix(a.data(), s.m, s.k), packed, eg::Over::rows, eg::By::magnitude, threads)[0].value;
      },
      [&](unsigned threads) {
        openblas_product(s.m, s.n, s.k, a.data(), b.data(), c.data(), threads);
        std::vector<float> largest(static_cast<std::size_t>(s.n));
        for (std::int64_t m = 0; m < s.m; ++m) {
          const float* row = c.data() + m * s.n;
          for (std::int64_t n = 0; n < s.n; ++n) {
            largest[static_cast<std::size_t>(n)] = std::max(largest[static_cast<std::size_t>(n)], std::abs(row[n]));
          }
        }
        sum += largest[0];
      });
  volatile double kept = sum;
  static_cast<void>(kept);
  return rows;
}

}  // namespace

std::vector<Question> gemm_questions() {
  return {{"gemm/f32", "A B stored, B packed before; ratio: OpenBLAS's time over ours, pair by pair",
           [] { return ask_beside_peer("gemm/f32"); }},
          {"gemm/bf16", "the same with A and B in bf16, beside OpenBLAS in fp32",
           [] { return ask_beside_peer("gemm/bf16"); }},
          {"ending/argmax", "the best row of each column by magnitude, beside sgemm and a pass over its result",
           [] { return ask_beside_peer("ending/argmax"); }}};
}

std::vector<Question> gemm_child_questions() {
  return {{"gemm/f32", "", fp32_beside_peer},
          {"gemm/bf16", "", bf16_beside_peer},
          {"ending/argmax", "", argmax_beside_peer}};
}

}  // namespace bench
