#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/top_rows_magnitude.inl"

std::span<const Kernel> top_rows_magnitude_kernels() {
  static const std::array kernels{kernel_of<LargeTile, TopRowsMagnitude>(),
                                  kernel_of<ThreeTermTile, TopRowsMagnitude>()};
  return kernels;
}

}  // namespace envoi::cuda
