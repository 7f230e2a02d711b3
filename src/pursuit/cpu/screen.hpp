// The inner loops of a grid search, one source for every instruction set, chosen at run time.
// A tile is `lanes` neighbouring centres; a unit is a tile, a pair of chirp rates +-c and a chunk of frequencies, for
// all blocks of a family at once; an item is a unit's part of one block. All arrays are dense; the fastest index is the
// lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace envoi::pursuit {

inline constexpr int kChunk = 32;   // frequencies of a unit
inline constexpr int kDepth = 128;  // samples summed before partial sums are added up
inline constexpr int kMostLanes = 64;

// Frequencies f with f P = a whole number, or all a whole number and a half, make cos and sin (2 pi f k) repeat (or
// change sign) after P samples: samples that far apart, and their mirror images, are added before the product.
struct Folding {
  int period = 0;     // P; 0: none
  bool flip = false;  // the half: a period changes the sign
  // Sign of sample k's terms, which the chirp's tables carry; sines of mirrored samples have the other one.
  double sign(int k) const { return flip && period > 0 && (2 * k + period - 1) / (2 * period) % 2 != 0 ? -1 : 1; }
  // Samples on one side of the centre, of `depth`, that are left.
  int rows(int depth) const { return period > 0 && period / 2 + 1 < depth ? period / 2 + 1 : depth; }
};

// What a score needs of kappa = sum g^2 / sum |g|^2: where it is small a bound serves every lane, elsewhere each
// lane's.
template <class T>
struct KappaRow {
  const std::int32_t* at = nullptr;  // [frequency][+c, -c]: number of the entry in `exact`, or -1; unpaired without -c
  const T* weight = nullptr;         // [frequency][+c, -c]: 2 / (1 - the largest |kappa|)
  const T* exact = nullptr;          // [entry][re, im][lane]
  T largest_weight = 0;              // of the frequencies without an entry
  T any_weight = 0;                  // of all
};

// Sums of a unit against the family's basis windows.
template <class T>
struct UnitSums {
  bool paired = true;  // +c and -c from four sums; else +c, from the bins of a transform
  int mirror = -1;     // then -c at frequency f is the conjugate of bin (mirror - f) mod points; or -1: is not there
  int points = 0;
  const T* sums = nullptr;  // [basis][frequency][4][lane]: e cos, e sin, o cos, o sin; unpaired [bin][2]: re, im
  std::size_t stride = 0;   // from one basis window to the next
  int rank = 1;             // basis windows
  bool phase_fixed = false;
  int frequencies = 0;
  int begin[2] = {0, 0};  // frequencies of the chunk that +c and -c have
  int end[2] = {0, 0};
  int signs() const { return paired || mirror >= 0 ? 2 : 1; }
};

// One block of the unit. Arrays of lanes unless said otherwise.
template <class T>
struct BlockScores {
  const T* mix = nullptr;  // [basis]: its window as a combination of the basis windows
  KappaRow<T> kappa;
  const T* inverse_norm = nullptr;  // 1 / sum |g|^2; 0 for a lane that is not there
  const T* error2 = nullptr;        // squared bound on the error of a sum
  T kappa_error = 0;
  T eta = 0;  // splits the bound: any value is sound, the best is about the relative error of sqrt(energy)
};

// A transform of `size` = product of the radices (2, 3, 4 or 5).
template <class T>
struct TransformPlan {
  int size = 0;
  std::vector<int> radices;
  std::vector<T> root;  // exp(-2 pi i k / size): re, im
};

// Bins 0 .. count - 1 of a transform, and where `mirror` is not -1 those of (mirror - these) as well, modulo its
// points.
struct Bins {
  int count = 0, mirror = -1;
};

template <class T>
struct ScreenKernels {
  int lanes = 0;
  // out[k][lane] = window[k] * in[k][lane] for both sides (or parts) of a tile; magnitude[lane] = sum of |out|.
  void (*window)(const T* even, const T* odd, const T* window, int depth, T* out_even, T* out_odd, T* magnitude);
  // sums[f][4][lane] = sum_k panel[k][j][lane] * (j < 2 ? cosine : sine)[k][f], k in [0, depth).
  void (*product)(const T* panel, const T* cosine, const T* sine, int depth, int frequencies, T* sums);
  // panel[k][..] = e cos, e sin, o cos, o sin of the folded samples and the chirp's tables, k in [0, folding.rows).
  void (*panel)(const T* even, const T* odd, const T* chirp_cosine, const T* chirp_sine, int depth, Folding folding,
                T* panel);
  // data[point][re, im][lane]: the window's two sides, [k][lane], times factors [k][re, im, re, im of the left side],
  // at k and -k modulo the size.
  void (*wrap)(const T* right, const T* left, const T* factor, int depth, int size, T* data);
  // Fourier transforms of every lane, of the bins that are wanted; returns the one of the two arrays that holds them.
  T* (*transform)(T* data, T* other, const TransformPlan<T>& plan, Bins wanted);
  // largest[block] = an upper bound of the energies of the unit's atoms in that block.
  void (*largest)(const UnitSums<T>& unit, const BlockScores<T>* blocks, int count, T* largest);
  // Upper bounds of the energies of one block: bounds[frequency][+c, -c][lane] (0 where absent).
  void (*bounds)(const UnitSums<T>& unit, const BlockScores<T>& block, T* bounds);
};

// Kernels of the chosen instruction set (core/isa.hpp).
template <class T>
const ScreenKernels<T>& screen_kernels();

}  // namespace envoi::pursuit
