#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/top_rows.inl"

std::span<const Kernel> top_rows_kernels() {
  static const std::array kernels{kernel_of<LargeTile, TopRows>()};
  return kernels;
}

}  // namespace envoi::cuda
