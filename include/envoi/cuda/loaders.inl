// How a thread's operands are loaded on a GPU (ports.inl). A thread has rows `row` and `row + 8` (half h = 0, 1) and, of
// each eight columns j, the pair at `column + 8 j`. Places beyond the last row or column give 0.

// Where a thread's sums are in the product.
struct Spot {
  std::int64_t row, column;
  int rows_left, columns_left;  // from there to the edges, at most INT_MAX; may be 0 or less
  std::int64_t column_block;    // of the tile, counted in tiles
  std::int64_t block_row;       // the first row of its warpgroup
  int thread;                   // of the warpgroup
  int warpgroup;                // of the consumers
  unsigned char* staging;       // of the warpgroup
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

template <class Shape>
struct ScalarLoader {
  float value;
  __device__ __forceinline__ void begin(const Spot&, const DevicePort& port) { value = read_element(port, 0); }
  __device__ __forceinline__ void begin_chunk(int) {}
  __device__ __forceinline__ void load(int, int, One<Lanes<float>>& to) const { to.value.v = value; }
};

template <class Shape>
struct RowLoader {
  float values[16];
  const DevicePort* port;
  std::int64_t column;
  int columns_left;
  __device__ __forceinline__ void begin(const Spot& spot, const DevicePort& p) {
    port = &p, column = spot.column, columns_left = spot.columns_left;
  }
  __device__ __forceinline__ void begin_chunk(int chunk) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int at = 64 * chunk + 8 * (i / 2) + i % 2;
      values[i] = at < columns_left ? read_element(*port, (column + at) * port->column_stride) : 0.0f;
    }
  }
  __device__ __forceinline__ void load(int, int j, Pair<Lanes<float>>& to) const {
    to.even.v = values[2 * (j % 8)], to.odd.v = values[2 * (j % 8) + 1];
  }
};

template <class Shape>
struct ColumnLoader {
  float values[2];
  __device__ __forceinline__ void begin(const Spot& spot, const DevicePort& port) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      values[h] = !port.data     ? 1.0f
                  : spot.has(h) ? read_element(port, (spot.row + 8 * h) * port.row_stride)
                                : 0.0f;
    }
  }
  __device__ __forceinline__ void begin_chunk(int) {}
  __device__ __forceinline__ void load(int h, int, One<Lanes<float>>& to) const { to.value.v = values[h]; }
};

// A chunk's values in registers, all asked for before the first is used.
template <class Shape>
struct TileLoader {
  unsigned raw[32];  // of each (j, h): a packed pair of 16 bits, or two floats
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  __device__ __forceinline__ void begin_chunk(int chunk) {
    const std::int64_t first = spot.row * port->row_stride + spot.column * port->column_stride;
    if (port->paired) {
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int j = 8 * chunk + i / 2, h = i % 2;
        const std::int64_t at = first + 8 * h * port->row_stride + 8 * j;
        raw[2 * i] = raw[2 * i + 1] = 0;
        if (spot.has(h, j, 1)) {
          if (port->dtype == DType::f32) {
            const uint2 both = *reinterpret_cast<const uint2*>(static_cast<const float*>(port->data) + at);
            raw[2 * i] = both.x, raw[2 * i + 1] = both.y;
          } else {
            raw[2 * i] = *reinterpret_cast<const unsigned*>(static_cast<const unsigned short*>(port->data) + at);
          }
        } else if (spot.has(h, j, 0)) {
          keep(i, read_element(*port, at), 0.0f);
        }
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int j = 8 * chunk + i / 2, h = i % 2;
      const std::int64_t at = first + 8 * h * port->row_stride + 8 * j * port->column_stride;
      keep(i, spot.has(h, j, 0) ? read_element(*port, at) : 0.0f,
           spot.has(h, j, 1) ? read_element(*port, at + port->column_stride) : 0.0f);
    }
  }
  __device__ __forceinline__ void load(int h, int j, Pair<Lanes<float>>& to) const {
    const int i = 2 * (j % 8) + h;
    if (port->dtype == DType::f32) {
      to.even.v = __uint_as_float(raw[2 * i]), to.odd.v = __uint_as_float(raw[2 * i + 1]);
    } else if (port->dtype == DType::bf16) {
      to.even.v = widen_bf16(raw[2 * i]), to.odd.v = __uint_as_float(raw[2 * i] & 0xFFFF0000u);
    } else {
      to.even.v = widen_f16(raw[2 * i] & 0xFFFFu), to.odd.v = widen_f16(raw[2 * i] >> 16);
    }
  }

 private:
  __device__ __forceinline__ void keep(int i, float even, float odd) {
    if (port->dtype == DType::f32) {
      raw[2 * i] = __float_as_uint(even), raw[2 * i + 1] = __float_as_uint(odd);
    } else if (port->dtype == DType::bf16) {  // exact: these were of 16 bits
      raw[2 * i] = (__float_as_uint(even) >> 16) | (__float_as_uint(odd) & 0xFFFF0000u);
    } else {
      raw[2 * i] = __half_as_ushort(__float2half_rn(even)) |
                   (static_cast<unsigned>(__half_as_ushort(__float2half_rn(odd))) << 16);
    }
  }
};

template <class Shape>
struct HalfTileLoader {
  float values[16];  // of each (j, h)
  const DevicePort* port;
  Spot spot;
  __device__ __forceinline__ void begin(const Spot& s, const DevicePort& p) { spot = s, port = &p; }
  __device__ __forceinline__ void begin_chunk(int chunk) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int j = 8 * chunk + i / 2, h = i % 2;
      values[i] = spot.has(h, j, 0) ? read_element(*port, (spot.row + 8 * h) * port->row_stride +
                                                              (spot.column / 2 + 4 * j) * port->column_stride)
                                    : 0.0f;
    }
  }
  __device__ __forceinline__ void load(int h, int j, One<Lanes<float>>& to) const {
    to.value.v = values[2 * (j % 8) + h];
  }
};
