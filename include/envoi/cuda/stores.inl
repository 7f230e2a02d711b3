// How stored results are kept on a GPU (keepers.inl).

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
