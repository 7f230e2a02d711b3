#include <array>

#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/menu/kernels.hpp"

namespace envoi::cuda {
#include "gemm/endings/store.inl"

std::span<const Kernel> store_kernels() {
  static const std::array kernels{kernel_of<LargeTile, StoreProduct, Loops::all>(),
                                  kernel_of<MediumTile, StoreProduct>(), kernel_of<SmallTile, StoreProduct>(),
                                  kernel_of<ThreeTermTile, StoreProduct>()};
  return kernels;
}

}  // namespace envoi::cuda
