// The engine as the library uses it: gemm(A, B, ending) on a pool of threads. The public side is envoi/gemm.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "envoi/ending/tile.hpp"
#include "envoi/operand.hpp"

namespace envoi::core {
class ThreadPool;
}

namespace envoi::gemm {

struct BoundPort {
  PortKind kind;
  Port port;
  std::string name;  // for errors
};

// An ending with its operands and results, in the order of its fields.
template <class T>
struct EndingCall {
  ApplyTile<T> apply = nullptr;
  const void* ending = nullptr;
  std::vector<BoundPort> operands, results;
};

// What the accumulators of A B are: double for fp64, else float. Throws Error (bad_argument) where fp64 meets another.
bool sums_in_double(const Operand& a, const Columns& b);

// How many threads a call that starts its own pool uses: starting them takes longer than a small product.
unsigned threads_for(const Operand& a, const Columns& b, unsigned asked);

// Runs the ending over every tile of A B. Not from inside a task of the pool.
// Throws Error: bad_argument for shapes, types and ports that do not fit; numerical where an argmax or top-k meets NaN.
template <class T>
void run(const Operand& a, const Columns& b, const EndingCall<T>& call, core::ThreadPool& pool);

// --- For searches of a dictionary: A is its rows, the columns of B are signals ---

// maxima[block][signal]: the largest |product| of each kTileRows rows, rounded in fp32 like the products themselves;
// NaN where there is one. A in fp32, bf16 or fp16, B alike.
void block_maxima(const Operand& a, const Columns& b, MutableMatrix maxima, core::ThreadPool& pool);

// The k best of every column by value or by magnitude, winners[column][k], best first; ties to the lower row.
void best_rows(const Operand& a, const Columns& b, bool by_magnitude, std::int64_t k, std::span<Winner> winners,
               core::ThreadPool& pool);

}  // namespace envoi::gemm
