// Bare products beside cuBLAS: the same inputs, fp32 sums, weights as columns (what a linear layer stores).
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "device.cuh"

namespace bench {
namespace {

namespace ec = envoi::cuda;

constexpr std::size_t kOverCache = std::size_t{512} << 20;  // sets together leave nothing of one in the L2 cache

struct Kind {
  DType operands = DType::bf16, result = DType::bf16;
  ec::Fp32 fp32 = ec::Fp32::exact;
  double peak = kPeakTflops;
};

struct Set {
  Numbers a, b, ours, theirs;
  Ready product;
};

int sets_for(const Shape& s, std::size_t element) {
  const auto bytes = static_cast<std::size_t>(s.m * s.k + s.k * s.n + s.m * s.n) * element;
  return static_cast<int>(std::clamp<std::size_t>(kOverCache / std::max<std::size_t>(bytes, 1), 2, 16));
}

std::vector<Set> make_sets(const Shape& s, const Kind& kind) {
  std::vector<Set> sets;
  for (int i = sets_for(s, kind.operands == DType::f32 ? 4 : 2); i > 0; --i) {
    const Numbers a = noise(kind.operands, s.m, s.k);
    const Numbers b = noise(kind.operands, s.k, s.n, Order::columns, 1 / std::sqrt(static_cast<double>(s.k)));
    const Numbers ours = room(kind.result, s.m, s.n), theirs = room(kind.result, s.m, s.n);
    sets.push_back({a, b, ours, theirs, Ready(ec::store(a.matrix, b.matrix, ours.writable(), kind.fp32))});
  }
  return sets;
}

Row product_row(const std::string& name, const Shape& s, const Kind& kind, double wanted) {
  note(name + " " + s.text());
  const std::vector<Set> sets = make_sets(s, kind);
  const bool tf32 = kind.operands == DType::f32 && kind.fp32 == ec::Fp32::tf32;
  std::vector<Work> works{[&](cudaStream_t stream, int i) { sets[static_cast<std::size_t>(i)].product.run(stream); }};
  if (cublas()) {
    works.push_back([&](cudaStream_t stream, int i) {
      const Set& set = sets[static_cast<std::size_t>(i)];
      cublas()->product(stream, set.a.matrix, set.b.matrix, set.theirs.writable(), tf32);
    });
  }
  const auto times = in_turn(works, static_cast<int>(sets.size()));
  Row row(name, s.text());
  with_times(row, s, kind.peak, times[0], cublas() ? times[1] : std::vector<double>(),
             cublas() ? cublas()->name() : std::string());
  if (cublas()) {
    const Difference d = difference(sets[0].ours.matrix, sets[0].theirs.matrix);
    row.with("difference", d.largest / d.size);
    if (!(d.largest < 0.1 * d.size)) throw std::runtime_error("the product differs from cuBLAS's: it is wrong");
    const double ratio = paired(times[0], times[1]).ratio;
    bool met = ratio >= wanted;
    std::string text = "ratio " + std::to_string(wanted).substr(0, 4);
    if (kind.operands == DType::f32 && !tf32) {
      const Error ours = error_of(sets[0].a.matrix, sets[0].b.matrix, sets[0].ours.matrix);
      const Error theirs = error_of(sets[0].a.matrix, sets[0].b.matrix, sets[0].theirs.matrix);
      row.with("error", ours.rms).with("peer_error", theirs.rms);
      row.with("largest_error", ours.largest).with("peer_largest_error", theirs.largest);
      met = met && ours.rms <= theirs.rms;
      text += ", error no worse";
    }
    if (wanted > 0) row.judged(text, met);
  } else if (kind.operands == DType::f32) {
    const Error ours = error_of(sets[0].a.matrix, sets[0].b.matrix, sets[0].ours.matrix);
    row.with("error", ours.rms).with("largest_error", ours.largest);
  }
  return row.with("how", sets[0].product.product.describe());
}

double ratio_of(const Row& row) {
  for (const auto& [name, value] : row.fields) {
    if (name == "ratio") return std::get<double>(value);
  }
  return std::nan("");
}

Rows bf16_products() {
  Rows rows;
  double sum = 0;
  for (const Shape& s : {Shape{4096, 4096, 4096}, Shape{8192, 8192, 8192}, Shape{8192, 6144, 4096},
                         Shape{8192, 28672, 4096}, Shape{8192, 4096, 14336}}) {
    rows.push_back(product_row("gemm/bf16", s, {}, 0.97));
    sum += ratio_of(rows.back());
  }
  if (cublas()) {
    const double mean = sum / static_cast<double>(rows.size());
    rows.push_back(Row("gemm/bf16", "mean of these").with("ratio", mean).judged("ratio 1.00", mean >= 1));
  }
  return rows;
}

Rows small_products() {
  Rows rows;
  for (const std::int64_t m : {1, 16, 64, 128, 333}) {
    rows.push_back(product_row("gemm/small", {m, 4096, 4096}, {}, 0.8));
  }
  rows.push_back(product_row("gemm/small", {5000, 5000, 5000}, {}, 0.8));
  rows.push_back(product_row("gemm/small", {4097, 4096, 4096}, {}, 0.8));
  return rows;
}

Rows f16_products() {
  Rows rows;
  for (const Shape& s : {Shape{4096, 4096, 4096}, Shape{8192, 8192, 8192}}) {
    rows.push_back(product_row("gemm/f16", s, {DType::f16, DType::f16}, 0));
  }
  return rows;
}

Rows tf32_products() {
  Rows rows;
  for (const Shape& s : {Shape{4096, 4096, 4096}, Shape{8192, 8192, 8192}}) {
    rows.push_back(product_row("gemm/tf32", s, {DType::f32, DType::f32, ec::Fp32::tf32, kPeakTf32Tflops}, 0));
  }
  return rows;
}

// Three TF32 products each: a third of their peak is all there is.
Rows f32_products() {
  Rows rows;
  for (const Shape& s : {Shape{4096, 4096, 4096}, Shape{8192, 8192, 8192}}) {
    rows.push_back(product_row("gemm/f32", s, {DType::f32, DType::f32, ec::Fp32::exact, kPeakTf32Tflops / 3}, 1));
  }
  return rows;
}

}  // namespace

Row& with_times(Row& row, const Shape& shape, double peak, const std::vector<double>& ours,
                const std::vector<double>& theirs, const std::string& peer) {
  const double ms = quantile(ours, 0.5), tflops = shape.operations() / (ms * 1e9);
  row.with("envoi_ms", ms);
  if (!theirs.empty()) {
    const Paired p = paired(ours, theirs);
    row.with("peer", peer).with("peer_ms", p.peer_ms);
    row.with("ratio", p.ratio).with("ratio_quartile", p.ratio_lower_quartile);
  }
  return row.with("tflops", tflops).with("share_of_peak", tflops / peak);
}

std::vector<Question> gemm_cuda_questions() {
  return {
      {"gemm/bf16", "bf16 products M x N x K beside cuBLAS", bf16_products},
      {"gemm/small", "few rows and odd sizes, bf16", small_products},
      {"gemm/f16", "fp16 products", f16_products},
      {"gemm/tf32", "fp32 operands rounded to TF32", tf32_products},
      {"gemm/f32", "fp32 by three TF32 products, beside cuBLAS's fp32; errors beside fp64", f32_products},
  };
}

}  // namespace bench
