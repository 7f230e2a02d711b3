#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/geglu_kept.inl"

std::span<const Kernel> geglu_kept_kernels() {
  static const std::array kernels{kernel_of<LargeTile, GeGluKept>()};
  return kernels;
}

}  // namespace envoi::cuda
