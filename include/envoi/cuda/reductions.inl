// How sums, maxima, log-sum-exps and selected columns are kept on a GPU (keepers.inl).

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
