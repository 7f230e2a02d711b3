#include "gemm/cuda/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <string>

#include "envoi/error.hpp"

namespace envoi::cuda {
namespace {

// The driver's function, found when it is first needed: nothing links the driver.
PFN_cuTensorMapEncodeTiled_v12000 encode_function() {
  static const auto function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult state = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &state);
    if (error != cudaSuccess || state != cudaDriverEntryPointSuccess || !found) {
      throw Error(ErrorKind::no_device, "the NVIDIA driver has no tensor maps: install one for CUDA 12 or later");
    }
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
  }();
  return function;
}

CUtensorMapDataType type_of(const BoxedMatrix& matrix) {
  if (matrix.dtype == DType::bf16) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  if (matrix.dtype == DType::f16) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  return matrix.tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

}  // namespace

int size_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }

bool can_be_boxed(const void* data, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  constexpr std::int64_t kLargestSide = std::int64_t{1} << 31, kLargestStride = std::int64_t{1} << 40;  // in bytes
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && rows < kLargestSide && columns < kLargestSide &&
         (rows == 1 || (stride > 0 && stride < kLargestStride / size_of(dtype) && stride * size_of(dtype) % 16 == 0));
}

CUtensorMap tensor_map(const BoxedMatrix& matrix) {
  const int size = size_of(matrix.dtype);
  const std::int64_t stride = matrix.rows == 1 ? (matrix.columns * size + 15) / 16 * 16 : matrix.stride * size;
  const cuuint64_t dimensions[] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(matrix.box_bytes / size), static_cast<cuuint32_t>(matrix.box_rows)};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result = encode_function()(
      &map, type_of(matrix), 2, const_cast<void*>(matrix.data), dimensions, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, matrix.box_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorKind::no_device, "the NVIDIA driver refuses a matrix of " + std::to_string(matrix.rows) + " x " +
                                          std::to_string(matrix.columns) + ", " + std::to_string(stride) +
                                          " bytes from row to row (error " + std::to_string(static_cast<int>(result)) +
                                          ")");
  }
  return map;
}

}  // namespace envoi::cuda
