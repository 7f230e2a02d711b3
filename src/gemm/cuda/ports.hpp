// The operands and results of an ending as a kernel meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "envoi/cuda/plan.hpp"
#include "gemm/cuda/steps.hpp"
#include "gemm/gemm.hpp"

namespace envoi::cuda {

// Room in the workspace for what tiles leave of a result.
struct PartialResult {
  int result = 0;
  std::int64_t elements = 0;
  std::size_t size = 4;
  std::size_t offset = 0;
};

std::vector<gemm::BoundPort> named(const std::string& what, const detail::BoundPorts& ports);

// Throws Error (bad_argument) for what does not fit the product, or overlaps.
void check_ports(const Matrix& a, const Matrix& b, const std::vector<gemm::BoundPort>& operands,
                 const std::vector<gemm::BoundPort>& results);

// Where each operand is, and how matrices come; `staged` is how much of a warp's staging they take.
void place_operands(const std::vector<gemm::BoundPort>& operands, std::int64_t rows, Arguments& arguments, int& staged);

// Where each result goes: staging of stores, partial results and how they are finished, in order.
void place_results(const std::vector<gemm::BoundPort>& results, const Kernel& kernel, std::int64_t rows,
                   std::int64_t columns, int staged, Arguments& arguments, std::vector<PartialResult>& partials,
                   std::vector<Finish>& finishes);

}  // namespace envoi::cuda
