// The ports of endings on a GPU: the same text as on the CPU, with the GPU's lanes, loaders and keepers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfloat>
#include <climits>
#include <cstdint>
#include <type_traits>

#include "envoi/cuda/arguments.hpp"
#include "envoi/cuda/ptx/barrier.cuh"
#include "envoi/cuda/ptx/copy.cuh"
#include "envoi/ending/function.hpp"

namespace envoi::cuda {

using gemm::FinishedTile;
using gemm::OperandPort;
using gemm::Port;
using gemm::PortState;
using gemm::ResultPort;
using gemm::SelectPort;
using gemm::WinnersPort;

#define ENVOI_ENDING_ON_GPU
#include "envoi/cuda/lanes.cuh"
// After the lanes.
#include "envoi/ending/ports.inl"
#undef ENVOI_ENDING_ON_GPU

}  // namespace envoi::cuda
