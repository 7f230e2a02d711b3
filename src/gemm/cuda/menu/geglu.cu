#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/geglu.inl"

std::span<const Kernel> geglu_kernels() {
  static const std::array kernels{kernel_of<LargeTile, GeGlu>()};
  return kernels;
}

}  // namespace envoi::cuda
