#include <array>

#include "envoi/cuda/kernel.cuh"
#include "envoi/gemm.hpp"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
using gemm::Activation;
#include "gemm/endings/bias_activation.inl"

std::span<const Kernel> bias_activation_kernels() {
  static const std::array kernels{kernel_of<LargeTile, BiasActivation>(), kernel_of<SmallTile, BiasActivation>()};
  return kernels;
}

}  // namespace envoi::cuda
