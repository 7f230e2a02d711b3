#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/row_scale.inl"

std::span<const Kernel> row_scale_kernels() {
  static const std::array kernels{kernel_of<LargeTile, RowScale>()};
  return kernels;
}

}  // namespace envoi::cuda
