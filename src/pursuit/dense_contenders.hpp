// The blocks that can hold one of the k best rows for a signal, as far as bounds tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pursuit/dense_screen.hpp"

namespace envoi::pursuit {

struct Contender {
  double upper = 0;  // no |score| of the block is above
  std::uint64_t block = 0;
};

// Filled by one worker, then merged: what is left does not depend on which worker saw which block.
class Contenders {
 public:
  explicit Contenders(std::size_t k) : k_(k) {}

  void add(std::uint64_t block, const BlockBounds& bounds) {
    if (bounds.upper < least_) return;
    if (lowest_.size() < k_ || bounds.lower > lowest_.front()) raise(bounds.lower);
    kept_.push_back({bounds.upper, block});
    if (kept_.size() >= 2 * compacted_ + 1024) compact();
  }
  void merge(const Contenders& other);
  // The largest upper bound first, then by block.
  std::vector<Contender> take();

 private:
  void raise(double lower);
  void compact();

  std::size_t k_;
  std::vector<double> lowest_;  // heap of the k largest lower bounds, the least of them in front
  double least_ = 0;            // below that no row can be among the k best
  std::vector<Contender> kept_;
  std::size_t compacted_ = 0;
};

}  // namespace envoi::pursuit
