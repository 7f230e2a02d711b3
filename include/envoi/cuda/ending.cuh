// An ending of one's own on a GPU, compiled by one's own nvcc: the same text as for the CPU (docs/endings.md), included
// in a .cu file beside `using namespace envoi::cuda`, and
//   envoi::cuda::Product p = envoi::cuda::product(a, b, MyEnding{}, {.bias = ..}, {.layer = ..});
// Needs -std=c++20 and -gencode=arch=compute_90a,code=sm_90a.
#pragma once

#include <array>

#include "envoi/cuda.hpp"
#include "envoi/cuda/kernel.cuh"
#include "envoi/cuda/plan.hpp"

namespace envoi::cuda {

namespace detail {
// Operands or results in the order of their fields.
struct Collect {
  BoundPorts& ports;
  template <class Field>
  void operator()(Field& field, int) const {
    ports.emplace_back(Field::kind, field);
  }
};
}  // namespace detail

// The kernels that an ending runs on: for large products, for few rows of A, and for fp32 in three terms. `Shapes` are
// LargeTile, MediumTile, SmallTile, ThreeTermTile.
template <class Ending, class... Shapes>
std::array<Kernel, sizeof...(Shapes)> kernels_for() {
  return {kernel_of<Shapes, Ending>()...};
}

// The product A B with this ending, ready to run. Operands and results are matrices in the device's memory, of the
// shapes that docs/endings.md gives; winners a gemm::Winner* with their number. Throws Error as the functions of the
// menu do.
template <class Ending, class... Shapes>
Product product(const Matrix& a, const Matrix& b, const Ending& ending, typename Checked<Ending>::In in,
                typename Checked<Ending>::Out out, Fp32 fp32 = Fp32::exact) {
  static_assert(std::is_trivially_copyable_v<Ending> && sizeof(Ending) <= sizeof(Arguments::ending),
                "an ending on a GPU is plain data of at most 128 bytes");
  static const auto kernels = [] {
    if constexpr (sizeof...(Shapes) > 0) {
      return kernels_for<Ending, Shapes...>();
    } else {
      return kernels_for<Ending, LargeTile, SmallTile, ThreeTermTile>();
    }
  }();
  detail::BoundPorts operands, results;
  each_field<operands_of<Ending>>(in, detail::Collect{operands});
  each_field<results_of<Ending>>(out, detail::Collect{results});
  return detail::make_product(a, b, fp32, kernels, "an ending of the caller's", &ending, sizeof(Ending), operands,
                              results);
}

}  // namespace envoi::cuda
