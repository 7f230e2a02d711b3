// The blocks that can hold one of the k best rows for a signal.
#include "pursuit/dense_contenders.hpp"

#include <algorithm>
#include <functional>

namespace envoi::pursuit {

// Each block has a row that scores at least its lower bound, so the k-th largest of these bounds is reached by k rows.
void Contenders::raise(double lower) {
  if (lowest_.size() == k_) {
    std::pop_heap(lowest_.begin(), lowest_.end(), std::greater<>());
    lowest_.back() = lower;
  } else {
    lowest_.push_back(lower);
  }
  std::push_heap(lowest_.begin(), lowest_.end(), std::greater<>());
  if (lowest_.size() == k_) least_ = (1 - kTie) * lowest_.front();
}

void Contenders::compact() {
  std::erase_if(kept_, [&](const Contender& contender) { return contender.upper < least_; });
  compacted_ = kept_.size();
}

void Contenders::merge(const Contenders& other) {
  for (const double lower : other.lowest_) {
    if (lowest_.size() < k_ || lower > lowest_.front()) raise(lower);
  }
  kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
}

std::vector<Contender> Contenders::take() {
  compact();
  std::sort(kept_.begin(), kept_.end(), [](const Contender& a, const Contender& b) {
    return a.upper != b.upper ? a.upper > b.upper : a.block < b.block;
  });
  return std::move(kept_);
}

}  // namespace envoi::pursuit
