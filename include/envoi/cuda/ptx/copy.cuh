// The copy engine (TMA): boxes of a tensor map between global and shared memory. PTX ISA, "cp.async.bulk.tensor".
#pragma once

#include <cuda.h>

#include <cstdint>

#include "envoi/cuda/ptx/barrier.cuh"

namespace envoi::cuda::ptx {

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(map)) : "memory");
}

// The box at (x, y), x along the contiguous dimension, into shared memory; its bytes count at the barrier.
__device__ __forceinline__ void load_box(void* to, const CUtensorMap* map, int x, int y, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(map)), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}
// The same into the same place of every block of the cluster that the mask names, and at their barriers.
__device__ __forceinline__ void load_box_to_blocks(void* to, const CUtensorMap* map, int x, int y,
                                                   std::uint64_t* barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(map)), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}

// A box from shared memory; what is beyond the tensor's edges is left out. One thread stores, commits and waits.
__device__ __forceinline__ void store_box(const CUtensorMap* map, int x, int y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                   reinterpret_cast<std::uint64_t>(map)),
               "r"(x), "r"(y), "r"(shared_address(from))
               : "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until at most `left` of this thread's groups still read shared memory.
template <int left>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory");
}
// Makes this thread's ordinary writes to shared memory visible to the copy engine and the tensor cores.
__device__ __forceinline__ void fence_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace envoi::cuda::ptx
