// How a tile's operands are loaded (ports.inl). Other types and strides are first converted into a row in L1.

constexpr int kStage = kTileColumns + 2 * 64;  // a row of a tile, and what a vector reads or writes beyond

template <class T>
ENVOI_SELDOM void fill_stage(const Port& port, std::int64_t row, std::int64_t column, int count, T* stage) {
  const std::int64_t at = row * port.row_stride + column * port.column_stride;
  for (int i = 0; i < count; ++i) {
    const std::int64_t element = at + i * port.column_stride;
    if (port.dtype == DType::f32) {
      stage[i] = static_cast<T>(static_cast<const float*>(port.data)[element]);
    } else if (port.dtype == DType::f64) {
      stage[i] = static_cast<T>(static_cast<const double*>(port.data)[element]);
    } else if (port.dtype == DType::bf16) {
      stage[i] = static_cast<T>(static_cast<float>(static_cast<const bfloat16*>(port.data)[element]));
    } else {
      stage[i] = static_cast<T>(static_cast<float>(static_cast<const float16*>(port.data)[element]));
    }
  }
}

template <class V>
struct ScalarLoader {
  using T = typename V::Number;
  V value;
  ENVOI_SELDOM void begin(const FinishedTile<T>&, const Port& port) {
    T x;
    fill_stage(port, 0, 0, 1, &x);
    value = V(x);
  }
  inline void begin_row(int) {}
  ENVOI_FN void load(int, One<V>& to) const { to.value = value; }
};

template <class V>
struct RowLoader {
  using T = typename V::Number;
  T stage[kStage] = {};
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const Port& port) {
    fill_stage(port, 0, tile.column, tile.columns, stage);
  }
  inline void begin_row(int) {}
  ENVOI_FN void load(int j, Pair<V>& to) const { V::load_pairs(stage + 2 * j, to.even, to.odd); }
};

template <class V>
struct ColumnLoader {
  using T = typename V::Number;
  T stage[kTileRows];
  V value;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const Port& port) {
    Port across = port;
    across.row_stride = port.column_stride, across.column_stride = port.row_stride;
    fill_stage(across, 0, tile.row, tile.rows, stage);
  }
  inline void begin_row(int r) { value = V(stage[r]); }
  ENVOI_FN void load(int, One<V>& to) const { to.value = value; }
};

template <class V, int per_pair>
struct MatrixLoader {
  using T = typename V::Number;
  T stage[kStage] = {};
  const T* from = stage;
  const Port* port = nullptr;
  std::int64_t row = 0, column = 0;
  int columns = 0;
  bool direct = false;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const Port& p) {
    port = &p;
    row = tile.row, column = tile.column / 2 * per_pair, columns = per_pair == 2 ? tile.columns : tile.evens();
    direct = p.dtype == dtype_of<T> && p.column_stride == 1 && columns % (per_pair * V::lanes()) == 0;
  }
  inline void begin_row(int r) {
    if (direct) {
      from = static_cast<const T*>(port->data) + (row + r) * port->row_stride + column;
    } else {
      fill_stage(*port, row + r, column, columns, stage);
    }
  }
};
template <class V>
struct TileLoader : MatrixLoader<V, 2> {
  ENVOI_FN void load(int j, Pair<V>& to) const { V::load_pairs(this->from + 2 * j, to.even, to.odd); }
};
template <class V>
struct HalfTileLoader : MatrixLoader<V, 1> {
  ENVOI_FN void load(int j, One<V>& to) const { to.value = V::load(this->from + j); }
};
