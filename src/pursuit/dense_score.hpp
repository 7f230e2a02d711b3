// The fp64 side of a dense search: scores in the documented order, and the k best with ties to the lower index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace envoi::pursuit {

inline constexpr double kTie = 1e-12;

// value * 2^exponent, |value| in [1/2, 1), or 0. Compares where fp64 would over- or underflow.
struct ScaledScore {
  double value = 0;
  int exponent = 0;
};
ScaledScore scaled(double value, int exponent);
bool larger(const ScaledScore& a, const ScaledScore& b);            // |a| > |b|
bool within_tie(const ScaledScore& a, const ScaledScore& largest);  // |a| >= (1 - kTie) |largest|
double magnitude_below(const ScaledScore& a);                       // fp64 that is not above |a|

// A signal times a power of two that brings its norm into [1/2, 1).
struct ScaledSignal {
  std::vector<double> values;
  int exponent = 0;  // signal = values * 2^exponent
  double norm = 0;   // of values
};
ScaledSignal scale_signal(std::span<const double> signal);

// sum a_i b_i over eight partial sums; see envoi/search.hpp.
double dot(const float* a, const double* b, std::size_t size);
double dot(const double* a, const double* b, std::size_t size);

// `scratch` is of any size.
ScaledScore score(const float* row, const ScaledSignal& signal, bool normalize, std::vector<double>& scratch);
ScaledScore score(const double* row, const ScaledSignal& signal, bool normalize, std::vector<double>& scratch);

struct Candidate {
  std::uint64_t index = 0;
  ScaledScore score;
};

// Keeps whatever may be among the k best of all that is added, in any order of adding.
class BestCandidates {
 public:
  explicit BestCandidates(std::size_t k) : k_(k) {}

  void add(const Candidate& candidate);
  // fp64 that is not above the k-th largest magnitude so far; 0 with fewer than k.
  double kth_magnitude();
  // The k best (or all, if fewer), best first.
  std::vector<Candidate> take();
  const std::vector<Candidate>& kept() const { return kept_; }

 private:
  void prune();

  std::size_t k_;
  std::vector<Candidate> kept_;
  std::size_t pruned_ = 0;  // how many of kept_ were there after the last pruning
  ScaledScore kth_;         // where full_
  bool full_ = false;
};

}  // namespace envoi::pursuit
