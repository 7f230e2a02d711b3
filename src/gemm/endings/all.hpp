// The names of the endings of the menu: a new one is a file here, a line in all.inl and a name in this list.
#pragma once

// clang-format off
#define ENVOI_ENDINGS(X) \
  X(BiasActivation)      \
  X(BlockMaxima)         \
  X(CrossEntropy)        \
  X(GeGlu)               \
  X(GeGluKept)           \
  X(PairEnergy)          \
  X(ResidualSquares)     \
  X(Rope)                \
  X(RowScale)            \
  X(StoreProduct)        \
  X(SwiGlu)              \
  X(SwiGluKept)          \
  X(TopColumns)          \
  X(TopColumnsMagnitude) \
  X(TopRows)             \
  X(TopRowsMagnitude)
// clang-format on
