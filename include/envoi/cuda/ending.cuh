// An ending of one's own on a GPU, compiled by one's own nvcc: the same text as for the CPU, included in a .cu file as
//   namespace mine {
//   using namespace envoi::cuda;
//   #include "my_ending.inl"
//   }
// and called as
//   envoi::cuda::Product p = envoi::cuda::product(a, b, mine::MyEnding{}, {.bias = ..}, {.layer = ..});
//   p.run(stream, workspace, p.workspace_bytes());
// docs/endings.md shows one from start to end. Needs -std=c++20 and -gencode=arch=compute_90a,code=sm_90a.
#pragma once

#if !defined(__CUDACC__)
#error "envoi/cuda/ending.cuh has kernels in it: include it in a .cu file, for nvcc; ready endings: envoi/cuda.hpp"
#elif __cplusplus < 202002L
#error "envoi/cuda/ending.cuh is C++20: compile with -std=c++20"
#elif defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "envoi/cuda/ending.cuh uses instructions of Hopper alone: compile with -gencode=arch=compute_90a,code=sm_90a"
#endif

#include <array>
#include <type_traits>

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

// The kernels that an ending runs on.
template <class Ending, class... Shapes>
std::array<Kernel, sizeof...(Shapes)> kernels_for() {
  return {kernel_of<Shapes, Ending>()...};
}

// The product A B with this ending, ready to run. Operands and results are matrices in the device's memory, of the
// shapes that docs/endings.md gives; winners are {pointer, number}. A column operand may be Matrix(), which is 1; a
// stored matrix may be MutableMatrix(), which is not kept. Throws Error as the functions of the menu do.
// `Shapes` are the tiles that it is compiled for, 5 to 30 seconds each; the product takes the one that is fastest for
// its shape. Without any they are LargeTile, SmallTile (for few rows or columns) and ThreeTermTile (for fp32 in full
// precision); product<MyEnding, LargeTile>(..) is bf16, fp16 and TF32 on large tiles alone. There is also MediumTile.
template <class Ending, class... Shapes>
Product product(const Matrix& a, const Matrix& b, const Ending& ending, typename Checked<Ending>::In in,
                typename Checked<Ending>::Out out, Fp32 fp32 = Fp32::exact) {
  static_assert(
      std::is_trivially_copyable_v<Ending> && sizeof(Ending) <= sizeof(Arguments::ending) && alignof(Ending) <= 16,
      "an ending on a GPU is trivially copyable and has at most 128 bytes; what is larger is an operand");
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
  return detail::make_product(a, b, fp32, kernels, "this ending", &ending, sizeof(Ending), operands, results);
}

}  // namespace envoi::cuda
