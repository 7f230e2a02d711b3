// From matrices and kernels to a product that is ready to run: what the library does for endings that are compiled
// elsewhere. For compilers that have CUDA's headers.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "envoi/cuda.hpp"
#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda::detail {

using BoundPorts = std::vector<std::pair<PortKind, gemm::Port>>;

// `ending` names it in errors; its bytes go to the kernel. A column operand without data is 1 everywhere, a stored
// result without data is not kept.
ENVOI_API Product make_product(const Matrix& a, const Matrix& b, Fp32 fp32, std::span<const Kernel> kernels,
                               const char* name, const void* ending, std::size_t ending_bytes,
                               const BoundPorts& operands, const BoundPorts& results);

}  // namespace envoi::cuda::detail
