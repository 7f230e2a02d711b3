#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/swiglu_kept.inl"

std::span<const Kernel> swiglu_kept_kernels() {
  static const std::array kernels{kernel_of<LargeTile, SwiGluKept>()};
  return kernels;
}

}  // namespace envoi::cuda
