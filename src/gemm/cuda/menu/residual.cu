#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/residual.inl"

std::span<const Kernel> residual_kernels() {
  static const std::array kernels{kernel_of<LargeTile, ResidualSquares>(), kernel_of<SmallTile, ResidualSquares>()};
  return kernels;
}

}  // namespace envoi::cuda
