// How a thread's results are kept on a GPU (ports.inl). Chunks of 64 columns go by one after the other, of each chunk
// the eight j, of each j the halves h. What is beyond the last row or column is left out.

__device__ __forceinline__ unsigned narrow(DType dtype, float x) {
  return dtype == DType::bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x)) : __half_as_ushort(__float2half_rn(x));
}
__device__ __forceinline__ unsigned narrow_pair(DType dtype, float even, float odd) {
  unsigned both;
  if (dtype == DType::bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(odd), "f"(even));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(odd), "f"(even));
  }
  return both;
}
__device__ __forceinline__ void write_element(const DevicePort& port, std::int64_t element, float x) {
  if (port.dtype == DType::f32) {
    static_cast<float*>(port.data)[element] = x;
  } else {
    static_cast<unsigned short*>(port.data)[element] = static_cast<unsigned short>(narrow(port.dtype, x));
  }
}

// What keepers need not say.
struct KeeperBase {
  __device__ __forceinline__ void begin_chunk(int) {}
  __device__ __forceinline__ void end_chunk(int) {}
  __device__ __forceinline__ void end() {}
};

// What is seldom needed is not inlined: the code that a tile's ending runs through should lie together.

// A thread's values of a chunk, element by element: halves h, each 8 x per_pair numbers.
template <int per_pair>
__device__ __noinline__ void write_elements(const DevicePort* port, std::int64_t row, std::int64_t column,
                                            int rows_left, int columns_left, const float* values) {
  const std::int64_t first = row * port->row_stride + column * port->column_stride;
  for (int h = 0; h < 2; ++h) {
    if (8 * h >= rows_left) return;
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < per_pair; ++i) {
        if (8 * j + i >= columns_left) continue;
        write_element(*port, first + 8 * h * port->row_stride + (4 * per_pair * j + i) * port->column_stride,
                      values[(8 * h + j) * per_pair + i]);
      }
    }
  }
}
// The first `count` elements of a piece of 16 bytes that goes over the edge.
template <int size>
__device__ __noinline__ void write_part(unsigned char* line, uint4 x, int count) {
  for (int i = 0; i < count; ++i) {
    const unsigned word = i * size < 4 ? x.x : i * size < 8 ? x.y : i * size < 12 ? x.z : x.w;
    if constexpr (size == 4) {
      reinterpret_cast<unsigned*>(line)[i] = word;
    } else {
      reinterpret_cast<unsigned short*>(line)[i] = static_cast<unsigned short>(word >> (16 * (i % 2)));
    }
  }
}

// A matrix of results: element by element, or, where its rows are aligned, through shared memory, from which a warp
// writes its 16 rows in lines of 128 (or 64) bytes. The swizzle keeps both ways free of bank conflicts. A chunk's
// values stay in registers until it is whole, so that type and way are asked for once.
template <class Shape, int per_pair>
struct MatrixKeeper : KeeperBase {
  float values[2][8 * per_pair];  // of a chunk: [half][column]
  const DevicePort* port;
  Spot spot;

  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  __device__ __forceinline__ void end_chunk(int chunk) {
    if (!port->data) return;
    if (port->staging < 0) {
      float copy[16 * per_pair];
#pragma unroll
      for (int i = 0; i < 16 * per_pair; ++i) copy[i] = values[i / (8 * per_pair)][i % (8 * per_pair)];
      write_elements<per_pair>(port, spot.row, spot.column / 2 * per_pair + 32 * per_pair * chunk, spot.rows_left,
                               spot.columns_left - 64 * chunk, copy);
    } else if (port->dtype == DType::f32) {
      write_lines<DType::f32>(chunk);
    } else if constexpr (per_pair == 2) {
      if (port->dtype == DType::bf16) {
        write_box<DType::bf16>(chunk);
      } else {
        write_box<DType::f16>(chunk);
      }
    } else {
      if (port->dtype == DType::bf16) {
        write_lines<DType::bf16>(chunk);
      } else {
        write_lines<DType::f16>(chunk);
      }
    }
  }

 private:
  // 16-bit numbers of whole pieces of 16 bytes: the copy engine takes the warp's 16 rows x 64 columns from shared
  // memory.
  template <DType type>
  __device__ __forceinline__ void write_box(int chunk) {
    const int lane = spot.thread % 32, row = lane % 8, matrix = lane / 8;
    const bool two = Shape::kColumns > kChunkColumns && port->slots == 2;  // in turn
    if (lane == 0) {                                                       // the engine may still read what was there
      if (two) {
        ptx::wait_stores_read<1>();
      } else {
        ptx::wait_stores_read<0>();
      }
    }
    __syncwarp();
    const int offset = port->staging + (two ? chunk % 2 * 2048 : 0);
    // Of the four 8 x 8 matrices that are stored at once, this lane's row: upper or lower rows, first or second
    // columns.
    const std::uint32_t place =
        ptx::shared_address(spot.staging) + offset + (row + 8 * (matrix & 1)) * 128 + ((row ^ matrix >> 1) << 4);
    if constexpr (per_pair == 2) {
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place ^ (16 * j)),
                     "r"(narrow_pair(type, values[0][2 * j], values[0][2 * j + 1])),
                     "r"(narrow_pair(type, values[1][2 * j], values[1][2 * j + 1])),
                     "r"(narrow_pair(type, values[0][2 * j + 2], values[0][2 * j + 3])),
                     "r"(narrow_pair(type, values[1][2 * j + 2], values[1][2 * j + 3]))
                     : "memory");
      }
    }
    ptx::fence_for_copies();
    __syncwarp();
    const std::int64_t column = spot.column_block * Shape::kColumns + 64 * chunk;
    const std::int64_t first_row = spot.block_row + spot.thread / 32 * 16;
    if (lane == 0) {
      if (column < spot.arguments->columns && first_row < spot.arguments->rows) {
        ptx::store_box(&spot.arguments->copied[port->map], static_cast<int>(column), static_cast<int>(first_row),
                       spot.staging + offset);
      }
      ptx::commit_stores();  // also of nothing: a group for each chunk is what waiting for them counts
    }
  }
  template <DType type>
  __device__ __forceinline__ void write_lines(int chunk) {
    constexpr int kSize = type == DType::f32 ? 4 : 2;
    constexpr int kRowBytes = 32 * per_pair * kSize;  // of the chunk
    constexpr int kBoxBytes = kRowBytes < 128 ? kRowBytes : 128;
    const int lane = spot.thread % 32, quad = lane % 4, row = lane / 4;
    const std::uint32_t base = ptx::shared_address(spot.staging) + port->staging;
    const std::uint32_t place = base + row * kBoxBytes + (kBoxBytes == 64 ? (row >> 1 & 3) << 4 : row << 4);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        // Bytes of the row: what j gives changes bits that the swizzle is on, what the quad gives does not.
        if constexpr (per_pair == 2 && type == DType::f32) {
          const std::uint32_t within = 32 * j + 8 * quad;
          const std::uint32_t to = (place ^ (within & 0x70)) + (within & 8) + j / 4 * 2048 + h * 8 * kBoxBytes;
          asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(values[h][2 * j]), "f"(values[h][2 * j + 1])
                       : "memory");
        } else if constexpr (type == DType::f32) {
          const std::uint32_t to = (place ^ (16 * j)) + 4 * quad + h * 8 * kBoxBytes;
          asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(values[h][j]) : "memory");
        } else {
          const std::uint32_t to = (place ^ (j / 2 * 16)) + j % 2 * 8 + 2 * quad + h * 8 * kBoxBytes;
          asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(static_cast<unsigned short>(narrow(type, values[h][j])))
                       : "memory");
        }
      }
    }
    __syncwarp();
    constexpr int kPieces = kRowBytes / 16, kRowsAtOnce = 32 / kPieces, kInPiece = 16 / kSize;
    const int piece = lane % kPieces;
    const std::int64_t first_row = spot.block_row + spot.thread / 32 * 16 + lane / kPieces;
    const std::int64_t column = (spot.column_block * Shape::kColumns + 64 * chunk) / 2 * per_pair + piece * kInPiece;
    const std::int64_t columns = per_pair == 2 ? spot.arguments->columns : spot.arguments->columns / 2;
    const int left = static_cast<int>(min(columns - column, std::int64_t{kInPiece}));
    const int rows = static_cast<int>(min(spot.arguments->rows - first_row, std::int64_t{16}));
    unsigned char* line = static_cast<unsigned char*>(port->data) + (first_row * port->row_stride + column) * kSize;
    const std::int64_t down = kRowsAtOnce * port->row_stride * kSize;
#pragma unroll
    for (int r = 0; r < 16; r += kRowsAtOnce, line += down) {
      const int at = r + lane / kPieces;
      const int mask = kBoxBytes == 64 ? (at >> 1 & 3) << 4 : (at & 7) << 4;
      const std::uint32_t from =
          base + piece * 16 / kBoxBytes * 2048 + at * kBoxBytes + ((piece * 16 % kBoxBytes) ^ mask);
      uint4 x;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                   : "r"(from)
                   : "memory");
      if (r >= rows) continue;
      if (left == kInPiece) {
        *reinterpret_cast<uint4*>(line) = x;
      } else if (left > 0) {
        write_part<kSize>(line, x, left);
      }
    }
    __syncwarp();
  }
};
template <class Shape>
struct StoreKeeper : MatrixKeeper<Shape, 2> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    this->values[h][2 * (j % 8)] = x.even.v, this->values[h][2 * (j % 8) + 1] = x.odd.v;
  }
};
template <class Shape>
struct StoreHalfKeeper : MatrixKeeper<Shape, 1> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Lanes<float>& x) {
    this->values[h][j % 8] = x.v;
  }
};

// Reductions: how two are joined, what a value counts as, and what stands for one that is left out. NaN stays.
struct Sum {
  __device__ __forceinline__ static float join(float a, float b) { return rounded_sum(a, b); }
  __device__ __forceinline__ static float take(float x) { return x; }
  __device__ __forceinline__ static float nothing() { return 0; }
};
struct Largest {
  __device__ __forceinline__ static float join(float a, float b) { return larger_of(a, b); }
  __device__ __forceinline__ static float take(float x) { return x; }
  __device__ __forceinline__ static float nothing() { return -INFINITY; }
};
struct LargestMagnitude {
  __device__ __forceinline__ static float join(float a, float b) { return larger_of(a, b); }
  __device__ __forceinline__ static float take(float x) { return fabsf(x); }
  __device__ __forceinline__ static float nothing() { return 0; }
};

// Partial results of chunks joined in pairs, so that a block's has the same bits in tiles of any width.
template <class Value, int chunks>
struct PairwiseTree {
  static constexpr int kLevels = chunks >= 4 ? 3 : chunks >= 2 ? 2 : 1;
  static_assert(chunks == 1 || chunks == 2 || chunks == 4);
  Value levels[kLevels];
  template <class Join>
  __device__ __forceinline__ void add(int chunk, Value value, Join join) {
    int level = 0;
#pragma unroll
    for (int bits = chunk; bits & 1; bits >>= 1) value = join(levels[level++], value);
    levels[level] = value;
  }
  __device__ __forceinline__ Value all() const { return levels[kLevels - 1]; }
};

__device__ __forceinline__ float from_lane(float x, int other) { return __shfl_xor_sync(0xFFFFFFFFu, x, other); }

// One result a row: of each chunk a thread's values in their order, then the four threads of the row.
template <class Shape, class How>
struct ReduceRow : KeeperBase {
  float run[2];
  PairwiseTree<float, Shape::kColumns / kChunkColumns> tree[2];
  const DevicePort* port;
  Spot spot;
  struct Join {
    __device__ __forceinline__ float operator()(float a, float b) const { return How::join(a, b); }
  };
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  __device__ __forceinline__ void begin_chunk(int) { run[0] = run[1] = How::nothing(); }
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    const float even = whole || 8 * j < spot.columns_left ? How::take(x.even.v) : How::nothing();
    const float odd = whole || 8 * j + 1 < spot.columns_left ? How::take(x.odd.v) : How::nothing();
    run[h] = How::join(How::join(run[h], even), odd);
  }
  __device__ __forceinline__ void end_chunk(int chunk) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float x = How::join(run[h], from_lane(run[h], 1));
      x = How::join(x, from_lane(x, 2));
      tree[h].add(chunk, x, Join());
    }
  }
  __device__ __forceinline__ void end() {
    if (spot.thread % 4 != 0) return;
    float* to = static_cast<float*>(port->partials) + spot.column_block * port->partial_stride + spot.row;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (spot.has(h)) to[8 * h] = tree[h].all();
    }
  }
};

// One result a column of each 64 rows.
template <class Shape, class How>
struct ReduceColumns : KeeperBase {
  float even, odd;  // of half 0
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    const float e = spot.has(h) ? How::take(x.even.v) : How::nothing();
    const float o = spot.has(h) ? How::take(x.odd.v) : How::nothing();
    if (h == 0) {
      even = e, odd = o;
      return;
    }
    even = How::join(even, e), odd = How::join(odd, o);
#pragma unroll
    for (int other = 4; other < 32; other *= 2) {
      even = How::join(even, from_lane(even, other)), odd = How::join(odd, from_lane(odd, other));
    }
    if (spot.thread % 32 >= 4 || spot.block_row >= spot.arguments->rows) return;
    // Of each warp its 16 rows; the four are joined when the results are finished.
    float* to = static_cast<float*>(port->partials) + (spot.block_row / 16 + spot.thread / 32) * port->partial_stride +
                spot.column + 8 * j;
    if (8 * j < spot.columns_left) to[0] = even;
    if (8 * j + 1 < spot.columns_left) to[1] = odd;
  }
};

// log(sum(exp(x))) over the columns, as the largest x and the sum of exp(x - largest); 0 where that is not finite.
// Without branches, and in sums of four, so that the chip has something to do while it waits for each of them.
template <class Shape>
struct LseKeeper : KeeperBase {
  float values[2][16];
  PairwiseTree<float2, Shape::kColumns / kChunkColumns> tree[2];
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ static bool finite(float x) { return fabsf(x) <= FLT_MAX; }
  struct Join {
    __device__ __forceinline__ float2 operator()(float2 a, float2 b) const {
      const float top = larger_of(a.x, b.x), shift = finite(top) ? top : 0.0f;
      const float sum =
          rounded_sum(a.y * power_of_two((a.x - shift) * kLog2E), b.y * power_of_two((b.x - shift) * kLog2E));
      return make_float2(top, finite(top) ? sum : 0.0f);
    }
  };
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    values[h][2 * (j % 8)] = whole || 8 * j < spot.columns_left ? x.even.v : -INFINITY;
    values[h][2 * (j % 8) + 1] = whole || 8 * j + 1 < spot.columns_left ? x.odd.v : -INFINITY;
  }
  __device__ __forceinline__ void end_chunk(int chunk) {
    float top[2], sum[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float four[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        four[i] = larger_of(larger_of(values[h][i], values[h][i + 4]), larger_of(values[h][i + 8], values[h][i + 12]));
      }
      top[h] = larger_of(larger_of(four[0], four[1]), larger_of(four[2], four[3]));
    }
#pragma unroll
    for (int other = 1; other < 4; other *= 2) {
#pragma unroll
      for (int h = 0; h < 2; ++h) top[h] = larger_of(top[h], from_lane(top[h], other));
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float shift = finite(top[h]) ? -top[h] * kLog2E : 0.0f;
      float four[4] = {0, 0, 0, 0};
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        four[i % 4] = rounded_sum(four[i % 4], power_of_two(fmaf(values[h][i], kLog2E, shift)));
      }
      sum[h] = rounded_sum(rounded_sum(four[0], four[1]), rounded_sum(four[2], four[3]));
    }
#pragma unroll
    for (int other = 1; other < 4; other *= 2) {
#pragma unroll
      for (int h = 0; h < 2; ++h) sum[h] = rounded_sum(sum[h], from_lane(sum[h], other));
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      // It is between 1 and 64; of numbers so large that their products with log2(e) are off by whole powers of two it
      // does not matter where.
      sum[h] = fminf(fmaxf(sum[h], 1.0f), 64.0f);
      tree[h].add(chunk, make_float2(top[h], finite(top[h]) ? sum[h] : 0.0f), Join());
    }
  }
  __device__ __forceinline__ void end() {
    if (spot.thread % 4 != 0) return;
    float2* to = static_cast<float2*>(port->partials) + spot.column_block * port->partial_stride + spot.row;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (spot.has(h)) to[8 * h] = tree[h].all();
    }
  }
};

// The value at one column of each row. Most chunks have none of a warp's columns, which is seen before any value is.
template <class Shape>
struct SelectKeeper : KeeperBase {
  float values[2][16];
  int offsets[2];  // of the target from the thread's first column
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) {
    spot = s, port = &p;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      offsets[h] = -1;
      if (!spot.has(h)) continue;
      const std::int64_t target = port->targets[spot.row + 8 * h], offset = target - spot.column;
      const bool is_column = target >= 0 && target < spot.arguments->columns;
      if (is_column && offset >= 0 && offset < Shape::kColumns) offsets[h] = static_cast<int>(offset);
      if (!is_column && spot.column_block == 0 && spot.thread % 4 == 0) {
        write_element(*port, (spot.row + 8 * h) * port->row_stride, NAN);
      }
    }
  }
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    values[h][2 * (j % 8)] = x.even.v, values[h][2 * (j % 8) + 1] = x.odd.v;
  }
  __device__ __forceinline__ void end_chunk(int chunk) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int offset = offsets[h] - 64 * chunk;
      if (!__any_sync(0xFFFFFFFFu, offset >= 0 && offset < 64)) continue;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (offset == 8 * (i / 2) + i % 2) {
          write_element(*port, (spot.row + 8 * h) * port->row_stride, values[h][i]);
        }
      }
    }
  }
};

// A winner: a larger key, or the same with a lower place, is better. Keys are values or magnitudes.
template <bool magnitude>
struct Contest {
  float value;
  int place;  // -1: none
  __device__ __forceinline__ static float key(float x) { return magnitude ? fabsf(x) : x; }
  __device__ __forceinline__ bool loses_to(float other, int other_place) const {
    return other_place >= 0 &&
           (place < 0 || key(other) > key(value) || (key(other) == key(value) && other_place < place));
  }
  __device__ __forceinline__ void meet(float other, int other_place) {
    if (loses_to(other, other_place)) value = other, place = other_place;
  }
  // Whether another comes after this one in the order of winners.
  __device__ __forceinline__ bool follows(float other, int other_place) const {
    return place >= 0 && (key(other) < key(value) || (key(other) == key(value) && other_place > place));
  }
  __device__ __forceinline__ void meet_lane(int other) {
    const float theirs = from_lane(value, other);
    const int their_place = __shfl_xor_sync(0xFFFFFFFFu, place, other);
    meet(theirs, their_place);
  }
};

// The best k of a row's columns in the tile (per_pair = 1: of its pairs), one after the other: each is the best of what
// comes after the one before it.
template <class Shape, int per_pair, bool magnitude>
struct BestOfRow : KeeperBase {
  static constexpr int kValues = Shape::kColumns / 8 * per_pair;
  float values[2][kValues];
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  // Where value i of this thread is among the block's columns (or pairs).
  __device__ __forceinline__ int place(int i) const {
    return per_pair == 2 ? 8 * (i / 2) + 2 * (spot.thread % 4) + i % 2 : 4 * i + spot.thread % 4;
  }
  __device__ __forceinline__ bool has_column(int i) const {
    return (per_pair == 2 ? 8 * (i / 2) + i % 2 : 8 * i) < spot.columns_left;
  }
  __device__ __forceinline__ void end() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      Candidate* to = static_cast<Candidate*>(port->partials) +
                      (spot.column_block * port->partial_stride + spot.row + 8 * h) * port->k;
      if (port->k == 1) {
        keep_best(values[h], spot.has(h), to);
      } else {
        keep_some(values[h], spot.has(h), to, port->k);
      }
    }
  }

 private:
  __device__ __forceinline__ float key(float x) const { return Contest<magnitude>::key(x); }
  __device__ __forceinline__ void keep_best(float (&x)[kValues], bool has_row, Candidate* to) {
    if (spot.columns_left < Shape::kColumns) {  // what is left out loses, to the lowest index if not by value
#pragma unroll
      for (int i = 0; i < kValues; ++i) x[i] = has_column(i) ? x[i] : magnitude ? 0.0f : -INFINITY;
    }
    float top = key(x[0]);
#pragma unroll
    for (int i = 1; i < kValues; ++i) top = larger_of(top, key(x[i]));
    top = larger_of(top, from_lane(top, 1));
    top = larger_of(top, from_lane(top, 2));
    int first = INT_MAX;
    float value = top;
#pragma unroll
    for (int i = kValues - 1; i >= 0; --i) {
      if (key(x[i]) == top) first = i, value = x[i];
    }
    const int own = first == INT_MAX ? INT_MAX : place(first);
    int lowest = min(own, __shfl_xor_sync(0xFFFFFFFFu, own, 1));
    lowest = min(lowest, __shfl_xor_sync(0xFFFFFFFFu, lowest, 2));
    if (!has_row) return;
    if (top != top) {
      if (spot.thread % 4 == 0) *to = Candidate{NAN, -2};
    } else if (own == lowest) {
      *to = Candidate{value, lowest};
    }
  }
  __device__ __forceinline__ void keep_some(const float (&x)[kValues], bool has_row, Candidate* to, int k) const {
    bool nan = false;
#pragma unroll
    for (int i = 0; i < kValues; ++i) nan |= has_column(i) && x[i] != x[i];
    nan = (__ballot_sync(0xFFFFFFFFu, nan) & (0xFu << (spot.thread % 32 & ~3))) != 0;
    Contest<magnitude> last{0, -1};
    for (int r = 0; r < k; ++r) {
      Contest<magnitude> best{0, -1};
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        if (has_column(i) && (r == 0 || last.follows(x[i], place(i)))) best.meet(x[i], place(i));
      }
      best.meet_lane(1);
      best.meet_lane(2);
      if (has_row && spot.thread % 4 == 0) to[r] = nan ? Candidate{NAN, -2} : Candidate{best.value, best.place};
      last = best;
    }
  }
};

// The best k of each column's rows, of the 16 rows of a warp.
template <class Shape, bool magnitude>
struct BestOfColumn : KeeperBase {
  Pair<Lanes<float>> upper;  // of half 0
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    if (h == 0) {
      upper = x;
      return;
    }
    contest(upper.even.v, x.even.v, 8 * j);
    contest(upper.odd.v, x.odd.v, 8 * j + 1);
  }

 private:
  __device__ __forceinline__ void contest(float first, float second, int column) {
    const int lane = spot.thread % 32, k = port->k;
    const bool has_nan = (spot.has(0) && first != first) || (spot.has(1) && second != second);
    const bool nan = (__ballot_sync(0xFFFFFFFFu, has_nan) & (0x11111111u << lane % 4)) != 0;
    Candidate* to = static_cast<Candidate*>(port->partials) +
                    ((spot.block_row / 16 + spot.thread / 32) * port->partial_stride + spot.column + column) * k;
    Contest<magnitude> last{0, -1};
    for (int r = 0; r < k; ++r) {
      Contest<magnitude> best{0, -1};
      if (spot.has(0) && (r == 0 || last.follows(first, lane / 4))) best.meet(first, lane / 4);
      if (spot.has(1) && (r == 0 || last.follows(second, lane / 4 + 8))) best.meet(second, lane / 4 + 8);
#pragma unroll
      for (int other = 4; other < 32; other *= 2) best.meet_lane(other);
      if (lane < 4 && column < spot.columns_left && spot.block_row < spot.arguments->rows) {
        to[r] = nan ? Candidate{NAN, -2} : Candidate{best.value, best.place};
      }
      last = best;
    }
  }
};

template <class Shape, bool along_m, bool magnitude>
struct BestKeeper : BestOfColumn<Shape, magnitude> {};
template <class Shape, bool magnitude>
struct BestKeeper<Shape, false, magnitude> : BestOfRow<Shape, 2, magnitude> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    this->values[h][2 * j] = x.even.v, this->values[h][2 * j + 1] = x.odd.v;
  }
};
template <class Shape>
struct BestHalfKeeper : BestOfRow<Shape, 1, false> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Lanes<float>& x) {
    this->values[h][j] = x.v;
  }
};
