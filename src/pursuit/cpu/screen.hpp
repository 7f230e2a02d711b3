// The inner loops of a grid search, one source for every instruction set, chosen at run time.
// A tile is `lanes` neighbouring centres of one block; an item is a tile, a pair of chirp rates +-c and a chunk of
// frequencies. All arrays are dense; the fastest index is the lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace envoi::pursuit {

inline constexpr int kChunk = 32;   // frequencies of an item
inline constexpr int kDepth = 256;  // samples summed before partial sums are added up
inline constexpr int kMostLanes = 64;

// What the ending of an item needs. Arrays of lanes unless said otherwise.
template <class T>
struct ItemScores {
  bool paired = true;               // +c and -c from four sums; else +c alone, from a transform
  const T* sums = nullptr;          // [frequency][4][lane]: e cos, e sin, o cos, o sin; unpaired [2]: re, im
  const T* kappa = nullptr;         // [frequency][+c, -c][re, im][lane], normalised; unpaired without -c
  const T* inverse_norm = nullptr;  // 1 / sum |g|^2; 0 for a lane that is not there
  const T* error2 = nullptr;        // squared bound on the error of a sum
  T kappa_error = 0;
  T eta = 0;  // splits the bound: any value is sound, the best is about the relative error of sqrt(energy)
  bool phase_fixed = false;
  int frequencies = 0;
  int begin[2] = {0, 0};  // frequencies of the chunk that +c and -c have
  int end[2] = {0, 0};
};

// A transform of `size` = product of the radices (2, 3, 4 or 5).
template <class T>
struct TransformPlan {
  int size = 0;
  std::vector<int> radices;
  std::vector<T> root;  // exp(-2 pi i k / size): re, im
};

template <class T>
struct ScreenKernels {
  int lanes = 0;
  // sums[f][4][lane] = sum_k panel[k][j][lane] * (j < 2 ? cosine : sine)[k][f], k in [0, depth).
  void (*product)(const T* panel, const T* cosine, const T* sine, int depth, int frequencies, T* sums);
  // panel[k][..] = e cos, e sin, o cos, o sin of the folded samples and the chirp's tables.
  void (*panel)(const T* even, const T* odd, const T* chirp_cosine, const T* chirp_sine, int depth, T* panel);
  // data[point][re, im][lane]: the window's two sides, [k][lane], times factors [k][re, im, re, im of the left side],
  // at k and -k modulo the size.
  void (*wrap)(const T* right, const T* left, const T* factor, int depth, int size, T* data);
  // Fourier transforms of every lane; returns the one of the two arrays that holds them.
  T* (*transform)(T* data, T* other, const TransformPlan<T>& plan);
  // Upper bounds of the items' energies: the largest, and each as bounds[frequency][+c, -c][lane] (0 where absent).
  T (*largest)(const ItemScores<T>& item);
  void (*bounds)(const ItemScores<T>& item, T* bounds);
};

// Kernels of the chosen instruction set (core/isa.hpp).
template <class T>
const ScreenKernels<T>& screen_kernels();

}  // namespace envoi::pursuit
