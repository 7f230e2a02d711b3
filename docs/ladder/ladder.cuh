// What all steps of the ladder share: the problem, checks of CUDA's answers, tensor maps, a position in a ring, and the
// plain way to store sums.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "envoi/cuda/ptx/barrier.cuh"
#include "envoi/cuda/ptx/copy.cuh"
#include "envoi/cuda/ptx/multiply.cuh"

namespace ladder {

namespace ptx = envoi::cuda::ptx;
using bf16 = __nv_bfloat16;

// C = A B^T: A is m x k, B is n x k, both with rows of k numbers one after the other ("K-major", what the tensor cores
// like best); C is m x n with c_step numbers from one row to the next. Sums are fp32. m is any number from 1 to a
// million; k, c_step and n are multiples of 8, which is 16 bytes, the copy engine's unit. Rows have to begin at such
// addresses. And it stores nothing smaller: where a row of C ended inside 16 bytes, it would write all of them, also
// what is behind the row's end. (The engine, which takes any n, stores through ordinary instructions.)
struct Problem {
  int m, n, k;
  const bf16* a;
  const bf16* b;
  bf16* c;
  int c_step;
  int multiprocessors;
  cudaStream_t stream;
};

inline void check(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error));
  }
}

__host__ __device__ constexpr int divide_up(int x, int by) { return (x + by - 1) / by; }

template <class... Parameters, class... Arguments>
void launch(const Problem& problem, void (*kernel)(Parameters...), dim3 grid, int threads, std::size_t shared_bytes,
            const Arguments&... arguments) {
  // Up to 48 KB come unasked, more (227 KB on Hopper) by request.
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "asking for shared memory");
  kernel<<<grid, threads, shared_bytes, problem.stream>>>(arguments...);
  check(cudaGetLastError(), "launching a kernel");
}

// A tensor map tells the copy engine (TMA) what a matrix in global memory looks like, and which box of it one
// instruction moves. Boxes are 64 numbers (128 bytes) wide and lie in shared memory row after row, swizzled: the
// 16-byte chunk c of row r is at chunk c ^ (r % 8). So the 8 chunks of a row, and the 8 chunks in one column of 8 rows,
// are each in all 32 banks: the tensor cores read columns of chunks, and read them without conflicts. Addresses of
// boxes in shared memory are multiples of 1024 (8 rows), because the pattern is made of address bits. What is beyond
// the matrix's edge arrives as zeros, and still counts as bytes that arrived; stores leave it out.
inline constexpr int kBoxWidth = 64;

// The driver's function, asked for at run time, so that the program needs no driver to be linked.
inline CUtensorMap make_map(const void* data, int rows, int columns, int step, int box_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "looking for cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess || found == nullptr) {
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12");
    }
    return reinterpret_cast<Encode>(found);
  }();
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t steps[1] = {static_cast<cuuint64_t>(step) * sizeof(bf16)};
  const cuuint32_t box[2] = {kBoxWidth, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t every[2] = {1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), sizes, steps, box,
                                 every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(result));
  return map;
}

// A place in a ring of buffers, and how often the ring has been gone round, modulo 2: the parity of a barrier's phases.
template <int stages>
struct Turn {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void next() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// A struct at the start of the block's dynamic shared memory, at a multiple of 1024; sized by shared_bytes<Shared>.
template <class Shared>
inline constexpr std::size_t shared_bytes = sizeof(Shared) + 1024;
template <class Shared>
__device__ __forceinline__ Shared& shared_memory() {
  extern __shared__ unsigned char dynamic_shared_memory[];
  const std::uint32_t begin = ptx::shared_address(dynamic_shared_memory);
  return *reinterpret_cast<Shared*>(dynamic_shared_memory + ((1024 - begin % 1024) % 1024));
}

// Two neighbouring numbers of C, the left in an even column, where they are inside.
__device__ __forceinline__ void store_pair(const Problem& problem, int row, int column, float left, float right) {
  if (row >= problem.m || column >= problem.n) return;
  bf16* to = problem.c + static_cast<std::size_t>(row) * problem.c_step + column;
  *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(left, right);
}

// The sums of a warpgroup's wgmma, 64 rows x 2 count columns from (row, column) on, straight from registers: which
// thread has which sums is said in multiply.cuh.
template <int count>
__device__ __forceinline__ void store_sums(const Problem& problem, int row, int column, const float (&sums)[count]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  row += 16 * warp + lane / 4;
  column += 2 * (lane % 4);
#pragma unroll
  for (int j = 0; j < count / 4; ++j) {
    store_pair(problem, row, column + 8 * j, sums[4 * j], sums[4 * j + 1]);
    store_pair(problem, row + 8, column + 8 * j, sums[4 * j + 2], sums[4 * j + 3]);
  }
}

// The warpgroup of this thread. The shuffle changes no value, but its result is the same in all threads of a warp, also
// in the compiler's eyes, and what is computed from it, descriptors above all, stays in the registers that a warp has
// in common. Without it they are brought there anew before each wgmma.
__device__ __forceinline__ int warpgroup_number() { return __shfl_sync(0xFFFFFFFFu, threadIdx.x / 128, 0); }

// After the last multiply_wait: wgmma writes its registers behind the compiler's back, and nothing that reads them may
// be moved before the wait.
template <int count>
__device__ __forceinline__ void settle(float (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

}  // namespace ladder
