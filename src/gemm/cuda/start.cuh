// Starts the small kernels around a product.
#pragma once

#include <cuda_runtime.h>

namespace envoi::cuda {

// Starts a kernel; the error is its own and not one that another call has left.
template <class... Parameters, class... Values>
cudaError_t start(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, cudaStream_t stream, Values... values) {
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks, config.blockDim = threads, config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, Parameters(values)...);
}

// Loads a kernel onto the current device, which its first start would do otherwise: that may allocate and wait.
template <class... Parameters>
cudaError_t load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
}

}  // namespace envoi::cuda
