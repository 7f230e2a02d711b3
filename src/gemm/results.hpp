// The results of an ending while a product runs, and how they are finished in a fixed order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gemm/gemm.hpp"

namespace envoi::gemm {

struct Shape {
  std::int64_t rows = 0, columns = 0, row_blocks = 0, column_blocks = 0;
  bool grouped = false;
};

struct PortFacts {
  const char* name;
  bool winners, along_m, magnitude, half;
};
PortFacts facts(PortKind kind);

// What a port is called by those who write endings.
const char* kind_name(PortKind kind);

// Both throw Error (bad_argument) for a port that does not fit the product; of winners it gives how many are wanted.
void check_operand(const BoundPort& operand, const Shape& shape);
std::int64_t check_result(const BoundPort& result, const Shape& shape);

// Throws Error (bad_argument) where a result surely lies on top of a side of the product (null: not stored), an operand
// or another result. A tile may be overwritten by a result of the same view, which is written after it was read.
void check_overlaps(const Matrix* side, const char* name_of_side, const std::vector<BoundPort>& operands,
                    const std::vector<BoundPort>& results);

template <class T>
class Results {
 public:
  // Throws Error (bad_argument) for a port that does not fit the product.
  Results(const std::vector<BoundPort>& results, const Shape& shape, unsigned workers);
  const PortState* states() const { return states_.data(); }
  void finish();

 private:
  struct Memory {
    std::string name;
    std::vector<T> partials;
    std::vector<Best> best;
    std::vector<std::vector<T>> thresholds;
    std::vector<std::vector<double>> values;
    std::vector<std::vector<std::int64_t>> index, count;
  };
  void begin(PortState& state, Memory& memory, unsigned workers);
  void finish_reduction(const PortState& state);
  void finish_winners(const PortState& state, const Memory& memory);

  Shape shape_;
  std::vector<PortState> states_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace envoi::gemm
