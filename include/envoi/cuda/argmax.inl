// How winners of rows are kept where there is one of each (ports.inl): a chunk's values only, and the best so far.
// Needs a quarter of the registers of the k best.

template <class Shape, int per_pair, bool magnitude>
struct ArgmaxOfRow : KeeperBase {
  static constexpr int kValues = 8 * per_pair;
  float values[2][kValues];  // of a chunk: [half][column, or pair of columns]
  float top[2], best[2];     // the largest key so far, NaN from the first NaN on, and its value
  int place[2];              // among the block's columns or pairs
  const DevicePort* port;
  Spot spot;

  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  __device__ __forceinline__ void end_chunk(int chunk) {
    const bool edge = spot.columns_left < 64 * (chunk + 1);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float(&x)[kValues] = values[h];
      if (edge) {  // what is left out loses, to the lowest index if not by value
#pragma unroll
        for (int i = 0; i < kValues; ++i) x[i] = has_column(chunk, i) ? x[i] : magnitude ? 0.0f : -INFINITY;
      }
      float largest = key(x[0]);
#pragma unroll
      for (int i = 1; i < kValues; ++i) largest = larger_of(largest, key(x[i]));
      int first = 0;
      float value = x[0];
#pragma unroll
      for (int i = kValues - 1; i >= 0; --i) {
        if (key(x[i]) == largest) first = column(i), value = x[i];
      }
      if (chunk == 0 || largest > top[h] || largest != largest) {
        top[h] = largest, best[h] = value, place[h] = first + 32 * per_pair * chunk;
      }
    }
  }
  __device__ __forceinline__ void end() {
    const int quad = spot.thread % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = larger_of(top[h], from_lane(top[h], 1));
      largest = larger_of(largest, from_lane(largest, 2));
      const int own = top[h] == largest ? place[h] + (per_pair == 2 ? 2 * quad : quad) : INT_MAX;
      int lowest = min(own, __shfl_xor_sync(0xFFFFFFFFu, own, 1));
      lowest = min(lowest, __shfl_xor_sync(0xFFFFFFFFu, lowest, 2));
      if (!spot.has(h)) continue;
      Candidate* to = static_cast<Candidate*>(port->partials) + spot.column_block * port->partial_stride + spot.row;
      if (largest != largest) {
        if (quad == 0) to[8 * h] = Candidate{NAN, -2};
      } else if (own == lowest) {
        to[8 * h] = Candidate{best[h], lowest};
      }
    }
  }

 private:
  __device__ __forceinline__ static float key(float x) { return Contest<magnitude>::key(x); }
  // Of value i, from the thread's first one in the chunk.
  __device__ __forceinline__ static int column(int i) { return per_pair == 2 ? 8 * (i / 2) + i % 2 : 4 * i; }
  __device__ __forceinline__ bool has_column(int chunk, int i) const {
    return 64 * chunk + (per_pair == 2 ? column(i) : 8 * i) < spot.columns_left;
  }
};

template <class Shape, bool magnitude>
struct ArgmaxKeeper : ArgmaxOfRow<Shape, 2, magnitude> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Pair<Lanes<float>>& x) {
    this->values[h][2 * (j % 8)] = x.even.v, this->values[h][2 * (j % 8) + 1] = x.odd.v;
  }
};
template <class Shape>
struct ArgmaxHalfKeeper : ArgmaxOfRow<Shape, 1, false> {
  template <bool whole>
  __device__ __forceinline__ void put(int h, int j, const Lanes<float>& x) {
    this->values[h][j % 8] = x.v;
  }
};
