// What empties the ring: the sums of a tile, made by the tensor cores (wgmma). The order of summation is that of the
// depth alone, 32 bytes an instruction, so a tile of any size has the same bits.
#pragma once

#include <cstdint>

#include "envoi/cuda/ports.cuh"
#include "envoi/cuda/ptx/barrier.cuh"
#include "envoi/cuda/ptx/multiply.cuh"
#include "envoi/cuda/tile.cuh"

namespace envoi::cuda {

// What consumers know of the ring: addresses in shared memory.
struct Ring {
  std::uint32_t stages, full;
  std::uint32_t empty;  // in the block of the cluster that this thread tells
  bool tells;           // each warp tells every block that a stage may be filled again, since each fills all of them
};
template <class Shape>
__device__ __forceinline__ Ring ring_of(const unsigned char* stages, const std::uint64_t* full,
                                        const std::uint64_t* empty) {
  const std::uint32_t lane = threadIdx.x % 32;
  Ring ring{ptx::shared_address(stages), ptx::shared_address(full), ptx::shared_address(empty), lane < Shape::kCluster};
  if (Shape::kCluster > 1 && ring.tells) ring.empty = ptx::address_in_block(ring.empty, lane);
  return ring;
}
template <class Shape>
__device__ __forceinline__ void release(const Ring& ring, int stage) {
  if (ring.tells) ptx::barrier_arrive_in_block(ring.empty + 8 * stage);
}

// Keeps the compiler from reading sums before the tensor cores have written them.
template <int count>
__device__ __forceinline__ void settle(float (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

template <Element element, bool a_by_vectors, bool b_by_vectors, int count>
__device__ __forceinline__ void multiply(float (&sums)[count], std::uint64_t a, std::uint64_t b, int add) {
  if constexpr (element == Element::bf16) {
    ptx::multiply_bf16<a_by_vectors, b_by_vectors>(sums, a, b, add);
  } else if constexpr (element == Element::f16) {
    ptx::multiply_f16<a_by_vectors, b_by_vectors>(sums, a, b, add);
  } else {
    ptx::multiply_tf32(sums, a, b, add);
  }
}

// The sums of one tile, 32 bytes of the depth an instruction; one step's instructions are at work while the next one's
// are issued.
template <class Shape, Element element, bool a_by_vectors, bool b_by_vectors, class Operands>
__device__ __forceinline__ void multiply_steps(float (&sums)[Shape::kSums], int steps, const Ring& ring,
                                               RingPlace<Shape::kStages>& at, int warpgroup, Operands& operands) {
  // In the descriptors' unit of 16 bytes: from one instruction's depth to the next, by depth 32 bytes, by vectors 16
  // rows of 128.
  constexpr int kNextA = a_by_vectors ? 128 : 2, kNextB = b_by_vectors ? 128 : 2;
  const std::uint32_t rows = ring.stages + warpgroup * 8192, columns = ring.stages + Shape::kBytesA;
  const std::uint64_t first_a = a_by_vectors ? ptx::describe_by_vectors(rows, 8192) : ptx::describe_by_depth(rows);
  const std::uint64_t first_b =
      b_by_vectors ? ptx::describe_by_vectors(columns, 8192) : ptx::describe_by_depth(columns);
  int before = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ptx::barrier_wait(ring.full + 8 * at.stage, at.phase);
    const std::uint64_t a = first_a + static_cast<std::uint32_t>(at.stage * (Shape::kStageBytes / 16));
    const std::uint64_t b = first_b + static_cast<std::uint32_t>(at.stage * (Shape::kStageBytes / 16));
    ptx::multiply_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      multiply<element, a_by_vectors, b_by_vectors>(sums, a + i * kNextA, b + i * kNextB, step | i);
    }
    ptx::multiply_commit();
    ptx::multiply_wait<1>();
    if (step > 0) release<Shape>(ring, before);
    operands.prefetch(step, steps);
    before = at.stage;
    at.advance();
  }
  operands.begin();
  ptx::multiply_wait<0>();
  release<Shape>(ring, before);
  settle(sums);
}

// fp32 as high + low parts of TF32: low x high + high x low + high x high. Each step's sums start anew and are added
// to the others in fp32, since the tensor cores' own additions lose more than the dropped low x low.
template <class Shape, class Operands>
__device__ __forceinline__ void multiply_steps_in_terms(float (&sums)[Shape::kSums], int steps, const Ring& ring,
                                                        RingPlace<Shape::kStages>& at, int warpgroup,
                                                        Operands& operands) {
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) sums[i] = 0;
  for (int step = 0; step < steps; ++step) {
    float part[Shape::kSums];
    ptx::barrier_wait(ring.full + 8 * at.stage, at.phase);
    const std::uint32_t stage = ring.stages + at.stage * Shape::kStageBytes;
    const std::uint64_t a = ptx::describe_by_depth(stage + warpgroup * 8192);
    const std::uint64_t b = ptx::describe_by_depth(stage + 2 * Shape::kBytesA);
    constexpr int kLowA = Shape::kBytesA / 16, kLowB = Shape::kBytesB / 16;
    ptx::multiply_begin();
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + kLowA + 2 * i, b + 2 * i, i);
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + 2 * i, b + kLowB + 2 * i, 1);
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::multiply_tf32(part, a + 2 * i, b + 2 * i, 1);
    ptx::multiply_commit();
    ptx::multiply_wait<0>();
    settle(part);
    release<Shape>(ring, at.stage);
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) sums[i] = rounded_sum(sums[i], part[i]);
    operands.prefetch(step, steps);
    at.advance();
  }
  operands.begin();
}

// Which main loops a kernel has. Each costs compile time; where A is by vectors and there is no loop for it, A is
// turned on the way into the workspace.
enum class Loops { a_by_depth, all };
ENVOI_FN constexpr unsigned loops_of(Loops loops, bool three_terms) {
  return three_terms ? 0x100u : loops == Loops::all ? 0x1FFu : 0x133u;  // bit 4 * element + 2 * A + B
}

template <class Shape, Loops loops, class Operands>
__device__ __forceinline__ void multiply_any(float (&sums)[Shape::kSums], const Arguments& arguments, const Ring& ring,
                                             RingPlace<Shape::kStages>& at, int warpgroup, Operands& operands) {
  const int steps = arguments.steps;  // at least 1
  if constexpr (Shape::kThreeTerms) {
    multiply_steps_in_terms<Shape>(sums, steps, ring, at, warpgroup, operands);
  } else {
#define ENVOI_LOOP(number, element, a_by_vectors, b_by_vectors)                                                    \
  if constexpr (loops_of(loops, false) >> number & 1) {                                                            \
    if (arguments.loop == number) {                                                                                \
      return multiply_steps<Shape, Element::element, a_by_vectors, b_by_vectors>(sums, steps, ring, at, warpgroup, \
                                                                                 operands);                        \
    }                                                                                                              \
  }
    ENVOI_LOOP(0, bf16, false, false)
    ENVOI_LOOP(1, bf16, false, true)
    ENVOI_LOOP(2, bf16, true, false)
    ENVOI_LOOP(3, bf16, true, true)
    ENVOI_LOOP(4, f16, false, false)
    ENVOI_LOOP(5, f16, false, true)
    ENVOI_LOOP(6, f16, true, false)
    ENVOI_LOOP(7, f16, true, true)
    ENVOI_LOOP(8, tf32, false, false)
#undef ENVOI_LOOP
  }
}

}  // namespace envoi::cuda
