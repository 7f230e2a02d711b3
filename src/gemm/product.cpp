// gemm(A, B, ending): shares out tiles, brings the rows of A to the main loop, hands its sums to the ending.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/thread_pool.hpp"
#include "gemm/cpu/kernels.hpp"
#include "gemm/gemm.hpp"
#include "gemm/packed.hpp"
#include "gemm/results.hpp"
#include "gemm/vectors.hpp"

namespace envoi::gemm {
namespace {

struct RowBlock {
  std::int64_t row;
  int rows;
  std::size_t group;
};

std::vector<RowBlock> row_blocks(std::int64_t rows, const Columns& b) {
  std::vector<RowBlock> blocks;
  std::vector<std::int64_t> groups = b.group_rows();
  if (groups.empty()) groups.push_back(rows);
  std::int64_t row = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::int64_t end = row + groups[g]; row < end;) {
      const auto count = static_cast<int>(std::min<std::int64_t>(kTileRows, end - row));
      blocks.push_back({row, count, g});
      row += count;
    }
  }
  return blocks;
}

// What one worker needs.
template <class A, class T>
struct Workspace {
  static constexpr std::size_t kBeyond = 3 * 64;  // read beyond the last sum by vectors of the ending
  std::vector<T> sums = std::vector<T>(kTileRows * kTileColumns + kBeyond);
  std::vector<A> copied, tails;
  const A* rows[kTileRows];
  const A* next[kTileRows];
};

// Points `rows` at the rows of a block, copying or making them where they cannot be read in place.
template <class A, class T>
void bring(const Vectors& a, const RowBlock& block, int lanes, Workspace<A, T>& space) {
  const std::int64_t depth = a.depth();
  if (a.in_place()) {
    for (int r = 0; r < block.rows; ++r) space.rows[r] = a.where<A>(block.row + r);
  } else {
    space.copied.resize(static_cast<std::size_t>(kTileRows * depth));
    a.copy(block.row, block.rows, space.copied.data(), depth);
    for (int r = 0; r < block.rows; ++r) space.rows[r] = space.copied.data() + r * depth;
  }
  if (const std::int64_t left = depth % lanes) {
    space.tails.resize(static_cast<std::size_t>(kTileRows * lanes));  // zeros, which stay beyond `left`
    for (int r = 0; r < block.rows; ++r) {
      A* tail = space.tails.data() + r * lanes;
      std::memcpy(tail, space.rows[r] + depth - left, static_cast<std::size_t>(left) * sizeof(A));
    }
  }
}

template <class A, class B, class T>
void run_tiles(const Vectors& a, const Columns& b, const EndingCall<T>& call, const std::vector<RowBlock>& blocks,
               Results<T>& results, core::ThreadPool& pool) {
  const Kernel<A, B, T>& main_loop = kernel<A, B, T>();
  const std::int64_t columns = b.columns();
  const std::int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  if (blocks.empty() || tiles == 0) return;

  // A task is some blocks of rows by some tiles of columns: enough of them for every thread, none too small.
  const auto count = static_cast<std::int64_t>(blocks.size());
  const std::int64_t wanted = std::int64_t{8} * pool.size();
  const std::int64_t run_of_blocks = std::clamp<std::int64_t>(count / wanted, 1, 8);
  const std::int64_t runs = (count + run_of_blocks - 1) / run_of_blocks;
  const std::int64_t chunk = pool.size() == 1 ? tiles : std::clamp<std::int64_t>(tiles * runs / wanted, 1, tiles);
  const std::int64_t chunks = (tiles + chunk - 1) / chunk;

  std::vector<Port> operands;
  for (const BoundPort& operand : call.operands) operands.push_back(operand.port);
  std::vector<Workspace<A, T>> spaces(pool.size());
  pool.run(static_cast<std::size_t>(runs * chunks), [&](std::size_t task, unsigned worker) {
    Workspace<A, T>& space = spaces[worker];
    const std::int64_t first_block = static_cast<std::int64_t>(task) / chunks * run_of_blocks;
    const std::int64_t first_tile = static_cast<std::int64_t>(task) % chunks * chunk;
    const std::int64_t end_block = std::min(first_block + run_of_blocks, count);
    for (std::int64_t at = first_block; at < end_block; ++at) {
      const RowBlock& block = blocks[static_cast<std::size_t>(at)];
      const Packed::Data& packed = b.parts()[block.group].data();
      bring(a, block, main_loop.lanes, space);
      const bool fetch = a.in_place() && columns >= kPanel && at + 1 < end_block;
      if (fetch) {
        const RowBlock& soon = blocks[static_cast<std::size_t>(at) + 1];
        for (int r = 0; r < block.rows; ++r) space.next[r] = a.where<A>(soon.row + std::min(r, soon.rows - 1));
      }
      const std::int64_t end_tile = std::min(first_tile + chunk, tiles);
      for (std::int64_t tile = first_tile; tile < end_tile; ++tile) {
        TileWork<A, B, T> work;
        work.rows = space.rows, work.tails = space.tails.data(), work.row_count = block.rows;
        if (fetch && tile + 1 == end_tile) work.next_rows = space.next;
        work.columns = static_cast<int>(std::min<std::int64_t>(kTileColumns, columns - tile * kTileColumns));
        work.packed = packed.tile<B>(tile * kTileColumns);
        work.depth = a.depth();
        work.out = space.sums.data(), work.out_stride = (work.columns + 3) / 4 * 4;  // few columns: few cache lines
        main_loop.tile(work);

        FinishedTile<T> finished;
        finished.values = space.sums.data(), finished.stride = work.out_stride;
        finished.row = block.row, finished.column = tile * kTileColumns;
        finished.row_block = at, finished.column_block = tile;
        finished.rows = block.rows, finished.columns = work.columns;
        finished.worker = worker;
        call.apply(call.ending, finished, operands.data(), results.states());
      }
    }
  });
}

}  // namespace

bool sums_in_double(const Operand& a, const Columns& b) {
  const bool left = a.dtype() == DType::f64, right = b.dtype() == DType::f64;
  if (left != right) throw Error(ErrorKind::bad_argument, "A and B must both be fp64 or neither");
  return left;
}

template <class T>
void run(const Operand& a, const Columns& columns, const EndingCall<T>& call, core::ThreadPool& pool) {
  std::optional<Columns> own;
  const Columns& b = packed(columns, pool, own);
  const Vectors rows = Vectors::rows_of(a);
  if (sums_in_double(a, b) != std::is_same_v<T, double>) {
    throw Error(ErrorKind::bad_argument, "this ending is for sums of another type than those of A and B");
  }
  if (rows.depth() != b.rows()) {
    throw Error(ErrorKind::bad_argument, "A is " + std::to_string(rows.count()) + " x " + std::to_string(rows.depth()) +
                                             " and B " + std::to_string(b.rows()) + " x " +
                                             std::to_string(b.columns()) +
                                             "; the columns of A must be as many as the rows of B");
  }
  std::int64_t grouped = 0, elements = 0;
  for (const std::int64_t group : b.group_rows()) {
    if (__builtin_add_overflow(grouped, group, &grouped)) grouped = -1;
  }
  if (!b.group_rows().empty() && grouped != rows.count()) {
    throw Error(ErrorKind::bad_argument, "the groups have " + std::to_string(grouped) + " rows together and A has " +
                                             std::to_string(rows.count()));
  }
  if (__builtin_mul_overflow(rows.count(), b.columns(), &elements)) {
    throw Error(ErrorKind::bad_argument, "the product has too many elements to be counted in 64 bits");
  }
  const std::vector<RowBlock> blocks = row_blocks(rows.count(), b);
  const Shape shape{rows.count(), b.columns(), static_cast<std::int64_t>(blocks.size()),
                    (b.columns() + kTileColumns - 1) / kTileColumns, !b.group_rows().empty()};
  for (const BoundPort& operand : call.operands) check_operand(operand, shape);
  Results<T> results(call.results, shape, pool.size());
  check_overlaps(rows.made() ? nullptr : &rows.matrix(), "A", call.operands, call.results);
  if constexpr (std::is_same_v<T, double>) {
    run_tiles<double, double>(rows, b, call, blocks, results, pool);
  } else {
    const bool narrow = rows.dtype() == DType::bf16, narrow_b = b.dtype() == DType::bf16;
    if (narrow && narrow_b) {
      run_tiles<bfloat16, bfloat16>(rows, b, call, blocks, results, pool);
    } else if (narrow) {
      run_tiles<bfloat16, float>(rows, b, call, blocks, results, pool);
    } else if (narrow_b) {
      run_tiles<float, bfloat16>(rows, b, call, blocks, results, pool);
    } else {
      run_tiles<float, float>(rows, b, call, blocks, results, pool);
    }
  }
  results.finish();
}
template void run(const Operand&, const Columns&, const EndingCall<float>&, core::ThreadPool&);
template void run(const Operand&, const Columns&, const EndingCall<double>&, core::ThreadPool&);

}  // namespace envoi::gemm
