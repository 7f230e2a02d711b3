// Descriptions of matrices for the copy engine.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda {

// A matrix of rows that lie one after the other, `stride` elements from one to the next, moved in boxes.
struct BoxedMatrix {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, stride = 0;
  int box_rows = 0, box_bytes = kStepBytes;  // the bytes of a box's row, which are its swizzle's too: 128 or 64
  bool tf32 = false;                         // fp32 that is rounded on the way
};

int size_of(DType dtype);

// Whether the copy engine can read or write the matrix where it lies.
bool can_be_boxed(const void* data, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride);

// Throws Error (no_device) where the driver is too old, or refuses.
CUtensorMap tensor_map(const BoxedMatrix& matrix);

}  // namespace envoi::cuda
