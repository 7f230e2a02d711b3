// The fp64 side of a dense search.
#include "pursuit/dense_score.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "pursuit/dense_rows.hpp"

namespace envoi::pursuit {
namespace {

constexpr std::size_t kParts = 8;
constexpr double kLarge = 0x1p500, kSmall = 0x1p-500;  // rows between these are scored as they stand

double sum_of(const double (&s)[kParts]) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

template <class A, class B>
double dot_of(const A* a, const B* b, std::size_t size) {
  double s[kParts] = {};
  std::size_t i = 0;
  for (; i + kParts <= size; i += kParts) {
    for (std::size_t j = 0; j < kParts; ++j) s[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  }
  for (std::size_t j = 0; i + j < size; ++j) s[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  return sum_of(s);
}

template <class T>
ScaledScore plain_score(const T* row, const ScaledSignal& signal, bool normalize, int exponent) {
  const std::size_t size = signal.values.size();
  const double product = dot_of(row, signal.values.data(), size);
  if (!normalize) return scaled(product, exponent);
  const double norm = std::sqrt(dot_of(row, row, size));
  return norm > 0 ? scaled(product / norm, 0) : ScaledScore{};
}

// By falling magnitude, then by index.
bool before(const Candidate& a, const Candidate& b) {
  if (larger(a.score, b.score)) return true;
  if (larger(b.score, a.score)) return false;
  return a.index < b.index;
}

}  // namespace

ScaledScore scaled(double value, int exponent) {
  if (value == 0) return {};
  int own = 0;
  const double mantissa = std::frexp(value, &own);
  return {mantissa, own + exponent};
}

bool larger(const ScaledScore& a, const ScaledScore& b) {
  if (a.value == 0 || b.value == 0) return a.value != 0 && b.value == 0;
  return a.exponent != b.exponent ? a.exponent > b.exponent : std::abs(a.value) > std::abs(b.value);
}

bool within_tie(const ScaledScore& a, const ScaledScore& largest) {
  if (largest.value == 0) return true;
  if (a.value == 0 || a.exponent < largest.exponent - 1) return false;
  return std::ldexp(std::abs(a.value), a.exponent - largest.exponent) >= (1 - kTie) * std::abs(largest.value);
}

double magnitude_below(const ScaledScore& a) {
  const double value = std::ldexp(std::abs(a.value), a.exponent);
  return a.value != 0 && a.exponent < -1000 ? std::nextafter(value, 0.0) : value;  // where ldexp may have rounded up
}

ScaledSignal scale_signal(std::span<const double> signal) {
  ScaledSignal out;
  double largest = 0;
  for (const double x : signal) largest = std::max(largest, std::abs(x));
  if (largest == 0) {
    out.values.assign(signal.size(), 0.0);
    return out;
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  double energy = 0;
  for (const double x : signal) {
    const double scaled_sample = std::ldexp(x, -exponent);
    energy += scaled_sample * scaled_sample;
  }
  int more = 0;
  out.norm = std::frexp(std::sqrt(energy), &more);
  out.exponent = exponent + more;
  for (const double x : signal) out.values.push_back(std::ldexp(x, -out.exponent));
  return out;
}

double dot(const float* a, const double* b, std::size_t size) { return dot_of(a, b, size); }
double dot(const double* a, const double* b, std::size_t size) { return dot_of(a, b, size); }

ScaledScore score(const float* row, const ScaledSignal& signal, bool normalize, std::vector<double>&) {
  return plain_score(row, signal, normalize, 0);  // the range of fp64 holds every product and square
}

ScaledScore score(const double* row, const ScaledSignal& signal, bool normalize, std::vector<double>& scratch) {
  const std::size_t size = signal.values.size();
  const double largest = largest_magnitude(row, size);
  if (largest == 0) return {};
  if (largest >= kSmall && largest <= kLarge) return plain_score(row, signal, normalize, 0);
  int exponent = 0;
  std::frexp(largest, &exponent);
  scratch.resize(size);
  for (std::size_t i = 0; i < size; ++i) scratch[i] = std::ldexp(row[i], -exponent);
  return plain_score(scratch.data(), signal, normalize, exponent);
}

void BestCandidates::add(const Candidate& candidate) {
  if (full_ && !within_tie(candidate.score, kth_)) return;
  kept_.push_back(candidate);
  if (kept_.size() > std::max(2 * pruned_, 2 * k_) + 256) prune();
}

// Drops what is below the k-th largest by more than a tie, and what has k others before it in magnitude and index
// alike: wherever it could be chosen, each of them would be chosen before it.
void BestCandidates::prune() {
  std::sort(kept_.begin(), kept_.end(), before);
  if (kept_.size() >= k_) {
    full_ = true;
    kth_ = kept_[k_ - 1].score;
  }
  std::priority_queue<std::uint64_t> lowest;  // the k lowest indices so far, the largest of them on top
  std::size_t size = 0;
  for (const Candidate& candidate : kept_) {
    if (full_ && !within_tie(candidate.score, kth_)) break;
    if (lowest.size() == k_) {
      if (candidate.index > lowest.top()) continue;
      lowest.pop();
    }
    lowest.push(candidate.index);
    kept_[size++] = candidate;
  }
  kept_.resize(size);
  pruned_ = size;
}

double BestCandidates::kth_magnitude() {
  prune();
  return full_ ? magnitude_below(kth_) : 0;
}

std::vector<Candidate> BestCandidates::take() {
  prune();
  std::vector<Candidate> best;
  std::vector<bool> taken(kept_.size(), false);
  // Eligible ones by index; whoever is eligible stays so, since the largest left can only fall.
  using Place = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> eligible;
  std::size_t largest = 0, next = 0;
  while (best.size() < k_ && best.size() < kept_.size()) {
    while (taken[largest]) ++largest;
    while (next < kept_.size() && within_tie(kept_[next].score, kept_[largest].score)) {
      eligible.emplace(kept_[next].index, next);
      ++next;
    }
    const std::size_t place = eligible.top().second;
    eligible.pop();
    taken[place] = true;
    best.push_back(kept_[place]);
  }
  return best;
}

}  // namespace envoi::pursuit
