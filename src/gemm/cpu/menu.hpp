// The endings of the menu for tiles of the chosen instruction set.
#pragma once

#include "gemm/endings/all.hpp"
#include "gemm/gemm.hpp"

namespace envoi::gemm {

template <class T>
struct Menu {
#define ENVOI_MEMBER(Name) ApplyTile<T> Name;
  ENVOI_ENDINGS(ENVOI_MEMBER)
#undef ENVOI_MEMBER
};

template <class T>
const Menu<T>& menu();

}  // namespace envoi::gemm
