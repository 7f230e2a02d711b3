// How a thread's operands are loaded on a GPU (ports.inl). A thread has rows `row` and `row + 8` (half h = 0, 1) and,
// of each eight columns j, the pair at `column + 8 j`. Places beyond the last row or column give 0.

// Where a thread's sums are in the product.
struct Spot {
  std::int64_t row, column;
  int rows_left, columns_left;  // from there to the edges, at most INT_MAX; may be 0 or less
  std::int64_t column_block;    // of the tile, counted in tiles
  std::int64_t block_row;       // the first row of its warpgroup
  int thread;                   // of the warpgroup
  int warpgroup;                // of the consumers
  unsigned char* staging;       // of the warp
  const Arguments* arguments;

  __device__ __forceinline__ bool has(int h) const { return 8 * h < rows_left; }
  __device__ __forceinline__ bool has(int h, int j, int i) const {
    return 8 * h < rows_left && 8 * j + i < columns_left;
  }
};

__device__ __forceinline__ float widen_bf16(unsigned bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ float widen_f16(unsigned bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
__device__ __forceinline__ float read_element(const DevicePort& port, std::int64_t element) {
  if (port.dtype == DType::f32) return static_cast<const float*>(port.data)[element];
  const unsigned bits = static_cast<const unsigned short*>(port.data)[element];
  return port.dtype == DType::bf16 ? widen_bf16(bits) : widen_f16(bits);
}

// How the matrices among an ending's operands come to the threads: through shared memory as one of the 16-bit types, or
// otherwise. It is the same for a whole product, so the ending is compiled for each and asks once a chunk.
enum class TileWay : int { other = 0, bf16 = 1, f16 = 2 };

// What loaders need not say. `prefetch` comes some steps before a tile's sums are whole, `begin` while the last step is
// still at work, so that what is asked for is on its way when it is needed.
struct LoaderBase {
  __device__ __forceinline__ static void prefetch(const Spot&, const DevicePort&) {}
  template <TileWay way>
  __device__ __forceinline__ void begin_chunk(int) {}
};

// The warpgroup's 64 rows of a matrix, `per_pair` numbers for two columns, into the second cache.
template <class Shape, int per_pair>
__device__ __forceinline__ void prefetch_rows(const Spot& spot, const DevicePort& port) {
  if (port.column_stride != 1) return;
  const int size = port.dtype == DType::f32 ? 4 : 2, row_bytes = Shape::kColumns / 2 * per_pair * size;
  const int lines = row_bytes / 128;  // of each row, as far as they are in the matrix
  const std::int64_t column = spot.column_block * (Shape::kColumns / 2 * per_pair);
  const std::int64_t columns = per_pair == 2 ? spot.arguments->columns : spot.arguments->columns / 2;
  const char* first = static_cast<const char*>(port.data) + (spot.block_row * port.row_stride + column) * size;
  for (int i = spot.thread; i < kBlockRows * lines; i += 128) {
    const int row = i / lines, line = i % lines;
    if (spot.block_row + row >= spot.arguments->rows || column + line * (128 / size) >= columns) continue;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(first + row * port.row_stride * size + line * 128));
  }
}

template <class Shape>
struct ScalarLoader : LoaderBase {
  float value;
  __device__ __forceinline__ void begin(const Spot&, const DevicePort& port) { value = read_element(port, 0); }
  template <TileWay way>
  __device__ __forceinline__ void load(int, int, One<Lanes<float>>& to) const {
    to.value.v = value;
  }
};

// Sixteen values of a chunk, all asked for before the first is used; the type is asked for once. `at(i)` is the
// element's number, `has(i)` whether there is one.
template <DType type, class At, class Has>
__device__ __forceinline__ void read_sixteen(const DevicePort& port, float (&values)[16], const At& at,
                                             const Has& has) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    values[i] = 0;
    if (!has(i)) continue;
    if constexpr (type == DType::f32) {
      values[i] = static_cast<const float*>(port.data)[at(i)];
    } else {
      const unsigned bits = static_cast<const unsigned short*>(port.data)[at(i)];
      values[i] = type == DType::bf16 ? widen_bf16(bits) : widen_f16(bits);
    }
  }
}
template <class At, class Has>
__device__ __forceinline__ void read_sixteen(const DevicePort& port, float (&values)[16], const At& at,
                                             const Has& has) {
  if (port.dtype == DType::f32) {
    read_sixteen<DType::f32>(port, values, at, has);
  } else if (port.dtype == DType::bf16) {
    read_sixteen<DType::bf16>(port, values, at, has);
  } else {
    read_sixteen<DType::f16>(port, values, at, has);
  }
}

template <class Shape>
struct RowLoader : LoaderBase {
  float values[16];  // of each column of a chunk
  const DevicePort* port;
  std::int64_t column;
  int columns_left;
  __device__ __forceinline__ void begin(const Spot& spot, const DevicePort& p) {
    port = &p, column = spot.column, columns_left = spot.columns_left;
  }
  template <TileWay way>
  __device__ __forceinline__ void begin_chunk(int chunk) {
    const std::int64_t stride = port->column_stride, first = (column + 64 * chunk) * stride;
    const int left = columns_left - 64 * chunk;
    read_sixteen(
        *port, values, [=](int i) { return first + (8 * (i / 2) + i % 2) * stride; },
        [=](int i) { return 8 * (i / 2) + i % 2 < left; });
  }
  template <TileWay way>
  __device__ __forceinline__ void load(int, int j, Pair<Lanes<float>>& to) const {
    to.even.v = values[2 * (j % 8)], to.odd.v = values[2 * (j % 8) + 1];
  }
};

template <class Shape>
struct ColumnLoader : LoaderBase {
  float values[2];
  __device__ __forceinline__ void begin(const Spot& spot, const DevicePort& port) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      values[h] = !port.data ? 1.0f : spot.has(h) ? read_element(port, (spot.row + 8 * h) * port.row_stride) : 0.0f;
    }
  }
  template <TileWay way>
  __device__ __forceinline__ void load(int h, int, One<Lanes<float>>& to) const {
    to.value.v = values[h];
  }
};

// What is seldom needed is not inlined: the code that a tile's ending runs through should lie together.

// The first `count` of eight 16-bit numbers, the others 0.
__device__ __noinline__ static uint4 read_part(const unsigned short* from, int count) {
  unsigned words[4] = {0, 0, 0, 0};
  for (int i = 0; i < count; ++i) words[i / 2] |= static_cast<unsigned>(from[i]) << (16 * (i % 2));
  return make_uint4(words[0], words[1], words[2], words[3]);
}
// A thread's pairs of a chunk, [j][h], wherever they are.
__device__ __noinline__ static void read_pairs(const DevicePort* port, std::int64_t row, std::int64_t column,
                                               int rows_left, int columns_left, float* even, float* odd) {
  const std::int64_t first = row * port->row_stride + column * port->column_stride;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) {
    const int j = i / 2, h = i % 2;
    const std::int64_t at = first + 8 * h * port->row_stride + 8 * j * port->column_stride;
    const bool has_row = 8 * h < rows_left;
    even[i] = has_row && 8 * j < columns_left ? read_element(*port, at) : 0.0f;
    odd[i] = has_row && 8 * j + 1 < columns_left ? read_element(*port, at + port->column_stride) : 0.0f;
  }
}

// A matrix of 16-bit numbers in aligned rows: a warp reads its 16 rows of a chunk in lines of 128 bytes, two chunks
// ahead of their use, and hands them round in shared memory. Others are read pair by pair.
template <class Shape>
struct TileLoader : LoaderBase {
  __device__ __forceinline__ static void prefetch(const Spot& s, const DevicePort& p) { prefetch_rows<Shape, 2>(s, p); }

  static constexpr bool kTwoSlots = Shape::kColumns > kChunkColumns;
  uint4 ahead[2][4];        // pieces of the next two chunks
  float even[16], odd[16];  // of each (j, h) of a chunk, of others
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) {
    spot = s, port = &p;
    if (port->staging < 0) return;
    read_ahead(0, ahead[0]);
    if (Shape::kColumns > kChunkColumns) read_ahead(1, ahead[1]);
  }
  template <TileWay way>
  __device__ __forceinline__ void begin_chunk(int chunk) {
    if constexpr (way == TileWay::other) {
      float some_even[16], some_odd[16];
      read_pairs(port, spot.row, spot.column + 64 * chunk, spot.rows_left, spot.columns_left - 64 * chunk, some_even,
                 some_odd);
#pragma unroll
      for (int i = 0; i < 16; ++i) even[i] = some_even[i], odd[i] = some_odd[i];
    } else {
      const int lane = spot.thread % 32;
      if (port->slots == 2 && lane == 0) {  // where this chunk goes, the copy engine may still read a result's
        if constexpr (kTwoSlots) {
          ptx::wait_stores_read<1>();
        } else {
          ptx::wait_stores_read<0>();
        }
      }
      __syncwarp();  // and the chunk before has been read
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = 4 * i + lane / 8;
        const std::uint32_t to = base(chunk) + row * 128 + ((lane % 8 * 16) ^ (row & 7) << 4);
        const uint4 x = ahead[chunk % 2][i];
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                     : "memory");
      }
      __syncwarp();
      if (64 * (chunk + 2) < Shape::kColumns) read_ahead(chunk + 2, ahead[chunk % 2]);
    }
  }
  template <TileWay way>
  __device__ __forceinline__ void load(int h, int j, Pair<Lanes<float>>& to) const {
    if constexpr (way == TileWay::other) {
      to.even.v = even[2 * (j % 8) + h], to.odd.v = odd[2 * (j % 8) + h];
    } else {
      const int row = spot.thread % 32 / 4;
      const std::uint32_t from = (base(j / 8) + row * 144 + 4 * (spot.thread % 4)) ^ (16 * (j % 8));
      unsigned both;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(both) : "r"(from + 1024 * h) : "memory");
      if constexpr (way == TileWay::bf16) {
        to.even.v = __uint_as_float(both << 16), to.odd.v = __uint_as_float(both & 0xFFFF0000u);
      } else {
        to.even.v = widen_f16(both & 0xFFFFu), to.odd.v = widen_f16(both >> 16);
      }
    }
  }

 private:
  // Two slots are those of the result, which takes each number's place once it has been read.
  __device__ __forceinline__ std::uint32_t base(int chunk) const {
    return ptx::shared_address(spot.staging) + port->staging + (kTwoSlots && port->slots == 2 ? chunk % 2 * 2048 : 0);
  }
  __device__ __forceinline__ void read_ahead(int chunk, uint4 (&pieces)[4]) {
    const int lane = spot.thread % 32;
    const std::int64_t row = spot.block_row + spot.thread / 32 * 16 + lane / 8;
    const std::int64_t column = spot.column_block * Shape::kColumns + 64 * chunk + lane % 8 * 8;
    const std::int64_t left = spot.arguments->columns - column, rows = spot.arguments->rows - row;
    const auto* from = static_cast<const unsigned short*>(port->data) + row * port->row_stride + column;
#pragma unroll
    for (int i = 0; i < 4; ++i, from += 4 * port->row_stride) {
      pieces[i] = make_uint4(0, 0, 0, 0);
      if (4 * i >= rows) continue;
      if (left >= 8) {
        pieces[i] = *reinterpret_cast<const uint4*>(from);
      } else if (left > 0) {
        pieces[i] = read_part(from, static_cast<int>(left));
      }
    }
  }
};

template <class Shape>
struct HalfTileLoader : LoaderBase {
  __device__ __forceinline__ static void prefetch(const Spot& s, const DevicePort& p) { prefetch_rows<Shape, 1>(s, p); }

  float values[16];  // of each (j, h) of a chunk
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  template <TileWay way>
  __device__ __forceinline__ void begin_chunk(int chunk) {
    const std::int64_t down = 8 * port->row_stride, step = port->column_stride;
    const std::int64_t first = spot.row * port->row_stride + (spot.column / 2 + 32 * chunk) * step;
    const Spot& place = spot;
    read_sixteen(
        *port, values, [=](int i) { return first + i % 2 * down + 4 * (i / 2) * step; },
        [&, chunk](int i) { return place.has(i % 2, 8 * chunk + i / 2, 0); });
  }
  template <TileWay way>
  __device__ __forceinline__ void load(int h, int j, One<Lanes<float>>& to) const {
    to.value.v = values[2 * (j % 8) + h];
  }
};
