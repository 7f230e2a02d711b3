// What happens around the kernel of a product: operands packed into the workspace before it, partial results finished
// after it. All on the stream that is given; the results are CUDA's errors.
#pragma once

#include <cstdint>

#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda {

// Vectors (rows of A, columns of B) x depth, with any strides, in elements.
struct Source {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t vectors = 0, depth = 0;
  std::int64_t vector_stride = 0, depth_stride = 0;
};

// Copies it to rows of `stride` elements by depth, the rest of each row 0. With `low`: splits fp32 into a high part of
// TF32's 11 bits and what is left, to `high` and `low`.
cudaError_t pack(const Source& source, void* high, void* low, std::int64_t stride, cudaStream_t stream);
// Loads its kernels onto the current device, so that running neither allocates nor waits.
cudaError_t load_pack();

// How partial results become a result.
struct Finish {
  PortKind kind = PortKind::sum_n;
  DevicePort port;
  std::int64_t slots = 0;        // rows or columns
  std::int64_t blocks = 0;       // of partial results for each
  int block_width = 0;           // columns, pairs of columns or rows in one
  int joined = 1;                // neighbours that are joined in pairs first, so that these are blocks of 256 columns
  std::int64_t slot_stride = 0;  // of the result
  std::int64_t k = 1;            // winners in the result
};
cudaError_t finish(const Finish& how, cudaStream_t stream);
cudaError_t load_finish();

}  // namespace envoi::cuda
