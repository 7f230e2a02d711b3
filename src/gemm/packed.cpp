// Packing of B.
#include "gemm/packed.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "core/thread_pool.hpp"
#include "envoi/ending/tile.hpp"
#include "gemm/cpu/kernels.hpp"
#include "gemm/vectors.hpp"

namespace envoi::gemm {
namespace {

template <class T>
void pack_tile(const Vectors& b, std::int64_t first, int columns, std::int64_t lanes, std::int64_t padded, T* to) {
  // Even columns, then odd ones; a few at a time, so that they are read together where they lie side by side.
  std::vector<T> copied(static_cast<std::size_t>(columns * padded));
  b.copy(first, columns, copied.data(), padded);
  const int evens = (columns + 1) / 2;
  for (int column = 0; column < columns;) {
    const int width = panel_width(columns - column);
    T* panel = to + column * padded;
    for (int c = 0; c < width; ++c) {
      const int at = column + c;
      const T* from = copied.data() + (at < evens ? 2 * at : 2 * (at - evens) + 1) * padded;
      for (std::int64_t k = 0; k < padded; k += lanes) {
        std::copy(from + k, from + k + lanes, panel + k * width + c * lanes);
      }
    }
    column += width;
  }
}

template <class T>
void pack_all(const Vectors& b, Packed::Data& data, core::ThreadPool& pool) {
  data.padded = (data.rows + data.lanes - 1) / data.lanes * data.lanes;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(data.padded, data.columns, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::int64_t>(sizeof(T)), &bytes)) {
    throw Error(ErrorKind::bad_argument, "B is " + std::to_string(data.rows) + " x " + std::to_string(data.columns) +
                                             ": too large to be packed");
  }
  try {
    data.memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes) + 64);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, "packing B takes " + std::to_string(bytes) + " bytes, which there are not");
  }
  void* at = data.memory.get();
  std::size_t space = static_cast<std::size_t>(bytes) + 64;
  data.first = std::align(64, static_cast<std::size_t>(bytes), at, space);
  const auto tiles = static_cast<std::size_t>((data.columns + kTileColumns - 1) / kTileColumns);
  pool.run(tiles, [&](std::size_t tile, unsigned) {
    const std::int64_t first = static_cast<std::int64_t>(tile) * kTileColumns;
    const auto columns = static_cast<int>(std::min<std::int64_t>(kTileColumns, data.columns - first));
    pack_tile(b, first, columns, data.lanes, data.padded, static_cast<T*>(data.first) + first * data.padded);
  });
}

}  // namespace

std::shared_ptr<const Packed::Data> pack(const Operand& b, core::ThreadPool& pool) {
  const Vectors vectors = Vectors::columns_of(b);
  auto data = std::make_shared<Packed::Data>();
  data->rows = vectors.depth(), data->columns = vectors.count(), data->dtype = vectors.dtype();
  if (data->dtype == DType::f64) {
    data->lanes = kernel<double, double, double>().lanes;
    pack_all<double>(vectors, *data, pool);
  } else {
    data->lanes = kernel<float, float, float>().lanes;
    if (data->dtype == DType::bf16) {
      pack_all<bfloat16>(vectors, *data, pool);
    } else {
      pack_all<float>(vectors, *data, pool);
    }
  }
  return data;
}

const Columns& packed(const Columns& b, core::ThreadPool& pool, std::optional<Columns>& own) {
  return b.whole() ? own.emplace(Packed(pack(*b.whole(), pool))) : b;
}

Packed::Packed(const Operand& b, unsigned threads) {
  const bool small = b.rows() * 1.0 * b.columns() < 1e6;
  core::ThreadPool pool(small ? 1 : core::thread_count(threads));
  data_ = pack(b, pool);
}
std::int64_t Packed::rows() const { return data_->rows; }
std::int64_t Packed::columns() const { return data_->columns; }
DType Packed::dtype() const { return data_->dtype; }

}  // namespace envoi::gemm
