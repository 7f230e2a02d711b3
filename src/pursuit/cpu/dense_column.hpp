// One signal against rows in memory: the product as a stream, at the speed of memory. More signals are the engine's.
#pragma once

#include <cstddef>

#include "envoi/matrix.hpp"

namespace envoi::pursuit {

// maxima[block] = largest |row . column| of each `block_rows` rows of `depth` numbers, the last block perhaps shorter.
// Two stretches of memory are read side by side, which keeps more of it under way than one. The order of summation, and
// so every bit, is the engine's (gemm/cpu/kernels.hpp). `column` is filled up with zeros to whole vectors of `lanes`.
template <class A>
struct ColumnKernel {
  std::size_t lanes = 0;
  void (*maxima)(const A* rows, std::size_t stride, std::size_t count, std::size_t depth, const float* column,
                 std::size_t block_rows, float* maxima) = nullptr;
};

// Of the chosen instruction set; float and gemm::bfloat16.
template <class A>
const ColumnKernel<A>& column_kernel();

}  // namespace envoi::pursuit
