// Endings beside our own bare product and cuBLAS's: what an ending costs, and what the pass that it saves would.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "device.cuh"

namespace bench {
namespace {

namespace ec = envoi::cuda;
using ec::By;
using ec::Over;
using ec::Winner;

// What an ending reads and writes beside A and B, in bf16 but for the numbers of rows.
struct Ended {
  std::vector<std::shared_ptr<Memory>> memory;
  std::vector<Ready> product;  // one
  void run(cudaStream_t stream) const { product.front().run(stream); }
};

Ended make(const std::string& ending, const Matrix& a, const Matrix& b) {
  const std::int64_t m = a.rows, n = b.columns;
  Ended made;
  const auto keep = [&](const Numbers& numbers) {
    made.memory.push_back(numbers.memory);
    return numbers;
  };
  const auto result = [&](std::int64_t columns) { return keep(room(DType::bf16, m, columns)).writable(); };
  const auto column = [&] { return keep(room(DType::f32, m, 1)).writable(); };
  const auto given = [&](std::int64_t rows, std::int64_t columns) {
    return keep(noise(DType::bf16, rows, columns)).matrix;
  };
  const auto scale = [&] { return keep(noise(DType::f32, m, 1)).matrix; };
  const auto winners = [&](std::int64_t slots, std::int64_t k) {
    made.memory.push_back(std::make_shared<Memory>(static_cast<std::size_t>(slots * k) * sizeof(Winner)));
    return static_cast<Winner*>(made.memory.back()->data());
  };
  const auto as = [&](const ec::Product& product) {
    made.product.emplace_back(product);
    return made;
  };
  if (ending == "store") return as(ec::store(a, b, result(n)));
  if (ending == "bias") return as(ec::bias_activation(a, b, given(1, n), ec::Activation::gelu, result(n)));
  if (ending == "row_scale") return as(ec::row_scale(a, b, scale(), result(n)));
  if (ending == "residual_squares") {
    const Matrix residual = given(m, n);
    const MutableMatrix sum = result(n);
    return as(ec::residual_squares(a, b, residual, sum, column()));
  }
  if (ending == "swiglu") {
    const Matrix scales = scale();
    return as(ec::swiglu(a, b, scales, result(n / 2)));
  }
  if (ending == "geglu") {
    const Matrix scales = scale();
    return as(ec::geglu(a, b, scales, result(n / 2)));
  }
  if (ending == "rope") {
    const Matrix cosine = given(m, n / 2), sine = given(m, n / 2);
    return as(ec::rope(a, b, cosine, sine, result(n)));
  }
  if (ending == "cross_entropy") {
    std::vector<std::int64_t> targets(static_cast<std::size_t>(m));
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int64_t>(i * 7919) % n;
    auto held = std::make_shared<Memory>(targets.size() * sizeof(std::int64_t));
    CHECK_CUDA(cudaMemcpy(held->data(), targets.data(), targets.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice));
    made.memory.push_back(held);
    const MutableMatrix lse = column(), target = column();
    return as(ec::cross_entropy(a, b, static_cast<const std::int64_t*>(held->data()), lse, target));
  }
  if (ending == "argmax") return as(ec::argmax(a, b, Over::columns, By::value, winners(m, 1)));
  if (ending == "argmax_rows") return as(ec::argmax(a, b, Over::rows, By::magnitude, winners(n, 1)));
  if (ending == "top_k") return as(ec::top_k(a, b, Over::columns, By::value, 8, winners(m, 8)));
  if (ending == "pair_energy") return as(ec::pair_energy(a, b, 1, winners(m, 1)));
  throw std::runtime_error("there is no ending " + ending +
                           "; there are store, bias, row_scale, residual_squares, swiglu, geglu, rope, cross_entropy, "
                           "argmax, argmax_rows, top_k and pair_energy");
}

struct Set {
  Numbers a, b, bare, theirs;
  std::vector<Ended> ended;
  std::vector<Ready> product;
};

// The ending beside our bare product and cuBLAS's, all in turn.
Rows ending_rows(const std::string& name, const std::string& ending, const Shape& s, int set_count, bool memory) {
  note(name + " " + s.text());
  std::vector<Set> sets(static_cast<std::size_t>(set_count));
  double envoi_mb = 0;
  for (Set& set : sets) {
    set.a = noise(DType::bf16, s.m, s.k);
    set.b = noise(DType::bf16, s.k, s.n, Order::columns, 1 / std::sqrt(static_cast<double>(s.k)));
    const std::size_t before = used_bytes();
    set.ended.push_back(make(ending, set.a.matrix, set.b.matrix));
    set.ended[0].run(nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    envoi_mb = (static_cast<double>(used_bytes()) - static_cast<double>(before)) / 1e6;  // of the last: all is loaded
  }
  // Room for bare results is shared: each is larger than the cache.
  const Numbers bare = room(DType::bf16, s.m, s.n), theirs = room(DType::bf16, s.m, s.n);
  for (Set& set : sets) {
    set.bare = bare, set.theirs = theirs;
    set.product.emplace_back(ec::store(set.a.matrix, set.b.matrix, bare.writable()));
  }
  const auto at = [&](int i) -> const Set& { return sets[static_cast<std::size_t>(i)]; };
  std::vector<Work> works{[&](cudaStream_t stream, int i) { at(i).ended[0].run(stream); },
                          [&](cudaStream_t stream, int i) { at(i).product[0].run(stream); }};
  if (cublas()) {
    works.push_back([&](cudaStream_t stream, int i) {
      cublas()->product(stream, at(i).a.matrix, at(i).b.matrix, at(i).theirs.writable());
    });
  }
  const auto times = in_turn(works, set_count);
  const auto row = [&](std::size_t peer, const std::string& peer_name) {
    Row r(name, s.text());
    with_times(r, s, kPeakTflops, times[0], times[peer], peer_name);
    if (memory) {
      r.with("envoi_mb", envoi_mb).with("product_mb", static_cast<double>(s.m) * static_cast<double>(s.n) * 2e-6);
    }
    return r;
  };
  const double ratio = paired(times[0], times[1]).ratio;
  Rows rows{row(1, "envoi, the bare product").judged("ratio 0.97", ratio >= 0.97)};
  rows.back().with("how", at(0).ended[0].product[0].product.describe());
  if (cublas()) rows.push_back(row(2, cublas()->name() + ", the bare product"));
  return rows;
}

Rows swiglu() { return ending_rows("ending/swiglu", "swiglu", {8192, 28672, 4096}, 2, false); }
Rows residual_rms() { return ending_rows("ending/residual_rms", "residual_squares", {8192, 4096, 14336}, 2, false); }
Rows cross_entropy() { return ending_rows("ending/cross_entropy", "cross_entropy", {4096, 128256, 4096}, 2, true); }
Rows argmax() { return ending_rows("ending/argmax", "argmax", {4096, 128256, 4096}, 2, true); }

// 1 / rms of each row, from the sums of squares that the layer before left.
__global__ void rms_scale_kernel(const float* squares, float* scale, int rows, float inverse_width) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < rows) scale[row] = rsqrtf(squares[row] * inverse_width + 1e-5f);
}

// y = x + down(swiglu(norm(x))), where the norm's weights are in those of the first product: its statistic, the gate,
// the residual and the sums for the next norm are all in the two products.
struct Mlp {
  Numbers x, gate_up, down, squares, scale, gated, y, next_squares;
  std::vector<Ready> products;  // two
  Numbers bare_up, bare_down;   // where the peer writes

  Mlp(std::int64_t t, std::int64_t d, std::int64_t f)
      : x(noise(DType::bf16, t, d)),
        gate_up(noise(DType::bf16, d, 2 * f, Order::columns, 1 / std::sqrt(static_cast<double>(d)))),
        down(noise(DType::bf16, f, d, Order::columns, 1 / std::sqrt(static_cast<double>(f)))),
        squares(room(DType::f32, t, 1)),
        scale(room(DType::f32, t, 1)),
        gated(room(DType::bf16, t, f)),
        y(room(DType::bf16, t, d)),
        next_squares(room(DType::f32, t, 1)),
        bare_up(room(DType::bf16, t, 2 * f)),
        bare_down(room(DType::bf16, t, d)) {
    const std::vector<float> sums(static_cast<std::size_t>(t), static_cast<float>(d));  // of x, as good as its own
    CHECK_CUDA(cudaMemcpy(squares.memory->data(), sums.data(), sums.size() * sizeof(float), cudaMemcpyHostToDevice));
    products.emplace_back(ec::swiglu(x.matrix, gate_up.matrix, scale.matrix, gated.writable()));
    products.emplace_back(
        ec::residual_squares(gated.matrix, down.matrix, x.matrix, y.writable(), next_squares.writable()));
  }
  void run(cudaStream_t stream) const {
    const int rows = static_cast<int>(x.matrix.rows);
    rms_scale_kernel<<<(rows + 255) / 256, 256, 0, stream>>>(static_cast<const float*>(squares.matrix.data),
                                                             static_cast<float*>(scale.memory->data()), rows,
                                                             1 / static_cast<float>(x.matrix.columns));
    CHECK_CUDA(cudaGetLastError());
    for (const Ready& product : products) product.run(stream);
  }
};

Rows mlp() {
  const std::int64_t t = 8192, d = 4096, f = 14336;
  note("ending/mlp");
  std::vector<std::unique_ptr<Mlp>> sets;
  for (int i = 0; i < 2; ++i) sets.push_back(std::make_unique<Mlp>(t, d, f));
  const auto at = [&](int i) -> const Mlp& { return *sets[static_cast<std::size_t>(i)]; };
  std::vector<Work> works{[&](cudaStream_t stream, int i) { at(i).run(stream); }};
  if (cublas()) {
    works.push_back([&](cudaStream_t stream, int i) {
      cublas()->product(stream, at(i).x.matrix, at(i).gate_up.matrix, at(i).bare_up.writable());
      cublas()->product(stream, at(i).gated.matrix, at(i).down.matrix, at(i).bare_down.writable());
    });
  }
  const auto times = in_turn(works, 2);
  Row row("ending/mlp", "T 8192 D 4096 F 14336");
  const Shape both{t, 3 * f, d};  // as many operations as the two products
  with_times(row, both, kPeakTflops, times[0], cublas() ? times[1] : std::vector<double>(),
             cublas() ? cublas()->name() + ", the two bare products" : std::string());
  if (cublas()) row.judged("ratio 1.00", paired(times[0], times[1]).ratio >= 1);
  return {row};
}

}  // namespace

Rows shape_rows(const Shape& shape, const std::string& ending) {
  const auto bytes = static_cast<std::size_t>(shape.m * shape.k + shape.k * shape.n) * 2;
  const std::size_t over_cache = (std::size_t{512} << 20) / bytes;
  return ending_rows("shape", ending, shape, static_cast<int>(std::clamp<std::size_t>(over_cache, 2, 16)), false);
}

std::vector<Question> ending_cuda_questions() {
  return {
      {"ending/swiglu", "row scale and SwiGLU in the product, beside bare products", swiglu},
      {"ending/residual_rms", "residual and sums of squares in the product, beside bare products", residual_rms},
      {"ending/mlp", "RMSNorm, SwiGLU, both products and the residual, beside two bare products", mlp},
      {"ending/cross_entropy", "log-sum-exp and target of logits that are never stored", cross_entropy},
      {"ending/argmax", "the largest logit of each row, the logits never stored", argmax},
  };
}

}  // namespace bench
