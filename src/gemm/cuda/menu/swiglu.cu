#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/swiglu.inl"

std::span<const Kernel> swiglu_kernels() {
  static const std::array kernels{kernel_of<LargeTile, SwiGlu>(), kernel_of<SmallTile, SwiGlu>()};
  return kernels;
}

}  // namespace envoi::cuda
