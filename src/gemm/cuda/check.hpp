// CUDA's errors as the library's.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "envoi/error.hpp"

namespace envoi::cuda {

// Throws Error where CUDA reports one: out_of_memory, or no_device with what it says. `doing` is what was tried.
inline void check(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // the next call is not to see it again
  const ErrorKind kind = error == cudaErrorMemoryAllocation ? ErrorKind::out_of_memory : ErrorKind::no_device;
  throw Error(kind, doing + ": CUDA says \"" + cudaGetErrorString(error) + "\" (" + cudaGetErrorName(error) + ")");
}

}  // namespace envoi::cuda
