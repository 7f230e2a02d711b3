#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/rope.inl"

std::span<const Kernel> rope_kernels() {
  static const std::array kernels{kernel_of<LargeTile, Rope>()};
  return kernels;
}

}  // namespace envoi::cuda
