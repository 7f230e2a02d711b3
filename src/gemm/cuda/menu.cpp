// The menu of endings on a GPU as plain functions.
#include <string>

#include "envoi/cuda.hpp"
#include "envoi/cuda/plan.hpp"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
namespace {

using detail::BoundPorts;
using detail::make_product;

struct Stateless {};
constexpr Stateless kStateless;

// A gated ending, with or without the product that it gates.
Product gated_product(const char* name, std::span<const Kernel> kernels, std::span<const Kernel> kept_kernels,
                      const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& gated,
                      const MutableMatrix& projected, Fp32 fp32) {
  const bool keep = projected.data || projected.rows != 0 || projected.columns != 0;
  if (!gated.data && gated.rows == 0 && gated.columns == 0 && a.rows != 0 && b.columns != 0) {
    throw Error(ErrorKind::bad_argument, std::string(name) + " has nowhere to put its result (null)");
  }
  BoundPorts results{{PortKind::store_half, gated}};
  if (keep) results.emplace_back(PortKind::store, projected);
  return make_product(a, b, fp32, keep ? kept_kernels : kernels, name, &kStateless, sizeof kStateless,
                      {{PortKind::column, scale}}, results);
}

// Room for k winners of each of `slots`.
gemm::Port winners_port(Winner* winners, std::int64_t slots, std::int64_t k) {
  if (k < 1) {
    throw Error(ErrorKind::bad_argument, "the best " + std::to_string(k) + " are none; ask for at least 1");
  }
  std::int64_t count = 0;
  if (slots < 0 || __builtin_mul_overflow(slots, k, &count) || count > (std::int64_t{1} << 40)) {
    throw Error(ErrorKind::bad_argument, "the best " + std::to_string(k) + " are too many");
  }
  gemm::Port port;
  port.winners = winners, port.winner_count = count;
  return port;
}

void want(const MutableMatrix& result, const Matrix& a, const Matrix& b, const char* name) {
  if (!result.data && result.rows == 0 && result.columns == 0 && a.rows != 0 && b.columns != 0) {
    throw Error(ErrorKind::bad_argument, std::string(name) + " has nowhere to go (null)");
  }
}

}  // namespace

Product store(const Matrix& a, const Matrix& b, const MutableMatrix& product, Fp32 fp32) {
  want(product, a, b, "the product");
  return make_product(a, b, fp32, store_kernels(), "store", &kStateless, sizeof kStateless, {},
                      {{PortKind::store, product}});
}

Product bias_activation(const Matrix& a, const Matrix& b, const Matrix& bias, Activation activation,
                        const MutableMatrix& layer, Fp32 fp32) {
  want(layer, a, b, "the layer");
  return make_product(a, b, fp32, bias_activation_kernels(), "bias_activation", &activation, sizeof activation,
                      {{PortKind::row, bias}}, {{PortKind::store, layer}});
}

Product row_scale(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& scaled, Fp32 fp32) {
  want(scaled, a, b, "the scaled product");
  return make_product(a, b, fp32, row_scale_kernels(), "row_scale", &kStateless, sizeof kStateless,
                      {{PortKind::column, scale}}, {{PortKind::store, scaled}});
}

Product residual_squares(const Matrix& a, const Matrix& b, const Matrix& residual, const MutableMatrix& sum,
                         const MutableMatrix& squares, Fp32 fp32) {
  want(sum, a, b, "the sum");
  return make_product(a, b, fp32, residual_kernels(), "residual_squares", &kStateless, sizeof kStateless,
                      {{PortKind::tile, residual}}, {{PortKind::store, sum}, {PortKind::sum_n, squares}});
}

Product swiglu(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& gated,
               const MutableMatrix& projected, Fp32 fp32) {
  return gated_product("swiglu", swiglu_kernels(), swiglu_kept_kernels(), a, b, scale, gated, projected, fp32);
}

Product geglu(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& gated,
              const MutableMatrix& projected, Fp32 fp32) {
  return gated_product("geglu", geglu_kernels(), geglu_kept_kernels(), a, b, scale, gated, projected, fp32);
}

Product rope(const Matrix& a, const Matrix& b, const Matrix& cosine, const Matrix& sine, const MutableMatrix& turned,
             Fp32 fp32) {
  want(turned, a, b, "the turned product");
  return make_product(a, b, fp32, rope_kernels(), "rope", &kStateless, sizeof kStateless,
                      {{PortKind::half_tile, cosine}, {PortKind::half_tile, sine}}, {{PortKind::store, turned}});
}

Product cross_entropy(const Matrix& a, const Matrix& b, const std::int64_t* targets, const MutableMatrix& lse,
                      const MutableMatrix& target, Fp32 fp32) {
  gemm::Port chosen(target);
  chosen.targets = targets, chosen.target_count = a.rows;
  return make_product(a, b, fp32, cross_entropy_kernels(), "cross_entropy", &kStateless, sizeof kStateless, {},
                      {{PortKind::lse_n, lse}, {PortKind::select_n, chosen}});
}

Product top_k(const Matrix& a, const Matrix& b, Over over, By by, std::int64_t k, Winner* winners, Fp32 fp32) {
  const bool columns = over == Over::columns, value = by == By::value;
  const PortKind kind =
      columns ? (value ? PortKind::topk_n : PortKind::topk_abs_n) : (value ? PortKind::topk_m : PortKind::topk_abs_m);
  const std::span<const Kernel> kernels = columns ? (value ? top_columns_kernels() : top_columns_magnitude_kernels())
                                                  : (value ? top_rows_kernels() : top_rows_magnitude_kernels());
  return make_product(a, b, fp32, kernels, "top_k", &kStateless, sizeof kStateless, {},
                      {{kind, winners_port(winners, columns ? a.rows : b.columns, k)}});
}

Product argmax(const Matrix& a, const Matrix& b, Over over, By by, Winner* winners, Fp32 fp32) {
  return top_k(a, b, over, by, 1, winners, fp32);
}

Product pair_energy(const Matrix& a, const Matrix& b, std::int64_t k, Winner* winners, Fp32 fp32) {
  return make_product(a, b, fp32, pair_energy_kernels(), "pair_energy", &kStateless, sizeof kStateless, {},
                      {{PortKind::topk_half_n, winners_port(winners, a.rows, k)}});
}

}  // namespace envoi::cuda
