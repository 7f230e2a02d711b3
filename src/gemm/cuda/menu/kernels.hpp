// The kernels that this library has, by ending: one file an ending beside this one. A kernel costs some five seconds of
// compile time (with loops for every layout twenty), so this is the whole list:
//
//   ending                      tiles                                   A by vectors
//   store                       large, medium, small, three terms       in large tiles
//   bias_activation             large, small
//   residual                    large, small
//   swiglu                      large, small
//   top_columns                 large, three terms
//   top_columns_magnitude       large, three terms
//   top_rows_magnitude          large, three terms
//   pair_energy                 large, three terms
//   row_scale, swiglu_kept, geglu, geglu_kept, rope, cross_entropy, top_rows    large
#pragma once

#include <span>

#include "envoi/cuda/arguments.hpp"

namespace envoi::cuda {

std::span<const Kernel> bias_activation_kernels();
std::span<const Kernel> cross_entropy_kernels();
std::span<const Kernel> geglu_kernels();
std::span<const Kernel> geglu_kept_kernels();
std::span<const Kernel> pair_energy_kernels();
std::span<const Kernel> residual_kernels();
std::span<const Kernel> rope_kernels();
std::span<const Kernel> row_scale_kernels();
std::span<const Kernel> store_kernels();
std::span<const Kernel> swiglu_kernels();
std::span<const Kernel> swiglu_kept_kernels();
std::span<const Kernel> top_columns_kernels();
std::span<const Kernel> top_columns_magnitude_kernels();
std::span<const Kernel> top_rows_kernels();
std::span<const Kernel> top_rows_magnitude_kernels();

}  // namespace envoi::cuda
