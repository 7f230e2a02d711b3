#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/cross_entropy.inl"

std::span<const Kernel> cross_entropy_kernels() {
  static const std::array kernels{kernel_of<LargeTile, CrossEntropy>()};
  return kernels;
}

}  // namespace envoi::cuda
