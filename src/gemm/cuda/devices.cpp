// The GPUs of this machine, and which of them this library has code for.
#include <cuda_runtime_api.h>

#include "envoi/cuda.hpp"

namespace envoi::cuda {
namespace {

std::string refusal_of(int major, int minor) {
  if (major == 9 && minor == 0) return "";
  const std::string chip = "compute capability " + std::to_string(major) + "." + std::to_string(minor);
  return chip + (major < 9 ? ": older than Hopper (9.0), whose instructions the kernels are made of; use the CPU engine"
                           : ": newer than Hopper (9.0), whose instructions the kernels are made of and which later "
                             "chips do not have; use the CPU engine");
}

}  // namespace

bool built() { return true; }

std::vector<Device> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<Device> all;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp facts;
    if (cudaGetDeviceProperties(&facts, i) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    Device device;
    device.index = i, device.name = facts.name, device.major = facts.major, device.minor = facts.minor;
    device.multiprocessors = facts.multiProcessorCount, device.memory_bytes = facts.totalGlobalMem;
    device.refusal = refusal_of(facts.major, facts.minor);
    all.push_back(device);
  }
  return all;
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    cudaGetLastError();
    return "no NVIDIA driver, or one that is older than this build's CUDA";
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    return std::string("no NVIDIA GPU: CUDA says \"") + cudaGetErrorString(error) + "\"";
  }
  std::string why = "no NVIDIA GPU";
  for (const Device& device : devices()) {
    if (device.refusal.empty()) return "";
    why = device.name + " has " + device.refusal;
  }
  return why;
}

}  // namespace envoi::cuda
