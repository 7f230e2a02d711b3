#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/top_columns.inl"

std::span<const Kernel> top_columns_kernels() {
  static const std::array kernels{kernel_of<LargeTile, TopColumns>(), kernel_of<ThreeTermTile, TopColumns>()};
  return kernels;
}

}  // namespace envoi::cuda
