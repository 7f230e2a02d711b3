#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/top_columns_magnitude.inl"

std::span<const Kernel> top_columns_magnitude_kernels() {
  static const std::array kernels{kernel_of<LargeTile, TopColumnsMagnitude>(),
                                  kernel_of<ThreeTermTile, TopColumnsMagnitude>()};
  return kernels;
}

}  // namespace envoi::cuda
