// The instruction set that every SIMD kernel of the library uses.
#pragma once

#include <string>
#include <vector>

namespace envoi::core {

struct Isa {
  std::string name;     // "sse4", "avx2", "avx3", "avx3_zen4", "neon", ...
  bool forced = false;  // by ENVOI_ISA
};

// Chosen once: the one that ENVOI_ISA names, else the best of this processor.
// Throws Error (bad_argument) if ENVOI_ISA names one that is not here.
const Isa& isa();

struct IsaKind {
  std::string name;
  bool here = false;  // this processor runs it
};

// Those that this build has code for, best first.
const std::vector<IsaKind>& isa_kinds();

namespace detail {
class PinnedIsa {
 public:
  PinnedIsa();
  ~PinnedIsa();
  PinnedIsa(const PinnedIsa&) = delete;
  PinnedIsa& operator=(const PinnedIsa&) = delete;
};
}  // namespace detail

// Calls pick() while Highway's dynamic dispatch leads to that instruction set: a kernel table is fetched through it
// once.
template <class Pick>
auto with_isa(Pick&& pick) {
  const detail::PinnedIsa pinned;
  return pick();
}

}  // namespace envoi::core
