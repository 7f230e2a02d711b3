// What envoi::cuda::measure takes, in builds with and without CUDA.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "envoi/cuda.hpp"
#include "envoi/error.hpp"

namespace envoi::cuda {

inline void check_measured(std::int64_t m, std::int64_t n, std::int64_t k, MeasuredEnding ending) {
  constexpr std::int64_t kLargest = 1 << 24;
  if (std::min({m, n, k}) < 1 || std::max({m, n, k}) > kLargest) {
    throw Error(ErrorKind::bad_argument, "a product of " + std::to_string(m) + " x " + std::to_string(n) + " x " +
                                             std::to_string(k) + " is not measured: sizes are 1 to " +
                                             std::to_string(kLargest));
  }
  const bool in_pairs = ending == MeasuredEnding::swiglu || ending == MeasuredEnding::geglu ||
                        ending == MeasuredEnding::rope || ending == MeasuredEnding::pair_energy;
  if (in_pairs && n % 2 != 0) {
    throw Error(ErrorKind::bad_argument,
                "N is " + std::to_string(n) + ", and this ending takes columns in pairs: make it even");
  }
}

}  // namespace envoi::cuda
