#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/pair_energy.inl"

std::span<const Kernel> pair_energy_kernels() {
  static const std::array kernels{kernel_of<LargeTile, PairEnergy>(), kernel_of<ThreeTermTile, PairEnergy>()};
  return kernels;
}

}  // namespace envoi::cuda
