// How the k best are kept on a GPU (keepers.inl).

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
