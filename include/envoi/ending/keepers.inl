// How a tile's results are kept (ports.inl). Lanes beyond the last column hold anything: every keeper leaves them out.

template <class T>
ENVOI_SELDOM void spill_stage(const Port& port, std::int64_t row, std::int64_t column, int count, const T* stage) {
  const std::int64_t at = row * port.row_stride + column * port.column_stride;
  void* data = const_cast<void*>(port.data);
  for (int i = 0; i < count; ++i) {
    const std::int64_t element = at + i * port.column_stride;
    if (port.dtype == DType::f32) {
      static_cast<float*>(data)[element] = static_cast<float>(stage[i]);
    } else if (port.dtype == DType::f64) {
      static_cast<double*>(data)[element] = static_cast<double>(stage[i]);
    } else if (port.dtype == DType::bf16) {
      static_cast<bfloat16*>(data)[element] = bfloat16(static_cast<float>(stage[i]));
    } else {
      static_cast<float16*>(data)[element] = float16(static_cast<float>(stage[i]));
    }
  }
}

// A matrix of the results, or of one result a pair of columns.
template <class V, int per_pair>
struct MatrixKeeper {
  using T = typename V::Number;
  T stage[kStage];
  T* to = stage;
  const Port* port = nullptr;
  std::int64_t row = 0, column = 0;
  int columns = 0;
  bool same_type = false, direct = false;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& state) {
    port = &state.port;
    row = tile.row, column = tile.column / 2 * per_pair, columns = per_pair == 2 ? tile.columns : tile.evens();
    same_type = port->dtype == dtype_of<T>;
    direct = same_type && port->column_stride == 1 && columns % (per_pair * V::lanes()) == 0;
  }
  inline void begin_row(int r) {
    if (direct) to = static_cast<T*>(const_cast<void*>(port->data)) + (row + r) * port->row_stride + column;
  }
  inline void end_row(int r) {
    if (direct) return;
    if (same_type) {
      T* out = static_cast<T*>(const_cast<void*>(port->data)) + (row + r) * port->row_stride;
      for (int i = 0; i < columns; ++i) out[(column + i) * port->column_stride] = stage[i];
    } else {
      spill_stage(*port, row + r, column, columns, stage);
    }
  }
  inline void end() {}
};
template <class V>
struct StoreKeeper : MatrixKeeper<V, 2> {
  ENVOI_FN void put(int j, const Pair<V>& x) { V::store_pairs(x.even, x.odd, this->to + 2 * j); }
};
template <class V>
struct StoreHalfKeeper : MatrixKeeper<V, 1> {
  ENVOI_FN void put(int j, const V& x) { x.store(this->to + j); }
};

// Reductions: how two are joined, and what stands in lanes beyond the last column, `first` being a lane that is not.
// NaN stays. No infinity is written here: a compiler that is told that there are none may do anything with one.
struct Sum {
  template <class V>
  ENVOI_FN static V join(V a, V b) {
    return a + b;
  }
  template <class V>
  ENVOI_FN static V take(V x) {
    return x;
  }
  template <class V>
  ENVOI_FN static V beyond(V) {
    return V(0);
  }
  static constexpr bool from_zero = true;
};
struct Largest {
  template <class V>
  ENVOI_FN static V join(V a, V b) {
    return max(a, b);
  }
  template <class V>
  ENVOI_FN static V take(V x) {
    return x;
  }
  template <class V>
  ENVOI_FN static V beyond(V first) {
    return V(first.first());
  }
  static constexpr bool from_zero = false;
};
struct LargestMagnitude : Largest {
  template <class V>
  ENVOI_FN static V take(V x) {
    return abs(x);
  }
  template <class V>
  ENVOI_FN static V beyond(V) {
    return V(0);
  }
  static constexpr bool from_zero = true;
};

// One result a row: lane by lane, then the lanes by halves.
template <class V, class How>
struct ReduceRow {
  using T = typename V::Number;
  V even, odd;
  T* partials = nullptr;
  int evens = 0, odds = 0;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& state) {
    partials = static_cast<T*>(state.partials) + tile.column_block * state.partial_stride + tile.row;
    evens = tile.evens(), odds = tile.odds();
  }
  inline void begin_row(int) { even = odd = V(0); }
  ENVOI_FN void put(int j, const Pair<V>& x) {
    const V beyond = How::beyond(x.even);
    const V next_even = first_lanes(evens - j, How::take(x.even), beyond);
    const V next_odd = first_lanes(odds - j, How::take(x.odd), beyond);
    if (!How::from_zero && j == 0) {
      even = next_even, odd = next_odd;
    } else {
      even = How::join(even, next_even), odd = How::join(odd, next_odd);
    }
  }
  ENVOI_SELDOM void end_row(int r) {
    T lanes[64];
    How::join(even, odd).store(lanes);
    for (int width = V::lanes() / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] = How::join(V(lanes[i]), V(lanes[i + width])).first();
    }
    partials[r] = lanes[0];
  }
  inline void end() {}
};

// One result a column: row after row within the tile.
template <class V, class How>
struct ReduceColumns {
  using T = typename V::Number;
  V first_even, first_odd;  // of the first vector; the others in memory
  T even[kStage], odd[kStage];
  T* partials = nullptr;
  int evens = 0, odds = 0;
  inline void begin(const FinishedTile<T>& tile, const PortState& state) {
    partials = static_cast<T*>(state.partials) + tile.row_block * state.partial_stride + tile.column;
    evens = tile.evens(), odds = tile.odds();
    static_assert(How::from_zero);
    const V start = V(0);
    first_even = first_odd = start;
    for (int i = V::lanes(); i < evens; i += V::lanes()) start.store(even + i), start.store(odd + i);
  }
  inline void begin_row(int) {}
  ENVOI_FN void put(int j, const Pair<V>& x) {
    if (j == 0) {
      first_even = How::join(first_even, How::take(x.even)), first_odd = How::join(first_odd, How::take(x.odd));
      return;
    }
    How::join(V::load(even + j), How::take(x.even)).store(even + j);
    How::join(V::load(odd + j), How::take(x.odd)).store(odd + j);
  }
  inline void end_row(int) {}
  inline void end() {
    first_even.store(even), first_odd.store(odd);
    for (int i = 0; i < evens; ++i) partials[2 * i] = even[i];
    for (int i = 0; i < odds; ++i) partials[2 * i + 1] = odd[i];
  }
};

// log(sum(exp(x))) over the columns as the largest x and the sum of exp(x - largest). NaN stays; +Inf gives +Inf.
template <class V>
struct LseKeeper {
  using T = typename V::Number;
  T even[kStage], odd[kStage];
  T* partials = nullptr;
  int evens = 0, odds = 0;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& state) {
    partials = static_cast<T*>(state.partials) + tile.column_block * state.partial_stride + 2 * tile.row;
    evens = tile.evens(), odds = tile.odds();
  }
  inline void begin_row(int) {}
  ENVOI_FN void put(int j, const Pair<V>& x) {
    const V beyond = V(x.even.first());  // counts for the largest, not for the sum
    first_lanes(evens - j, x.even, beyond).store(even + j);
    first_lanes(odds - j, x.odd, beyond).store(odd + j);
  }
  ENVOI_SELDOM void end_row(int r) {
    V largest = V(even[0]);
    for (int j = 0; j < evens; j += V::lanes()) largest = max(largest, max(V::load(even + j), V::load(odd + j)));
    T lanes[64];
    largest.store(lanes);
    T top = lanes[0];
    for (int i = 1; i < V::lanes(); ++i) top = max(V(top), V(lanes[i])).first();
    V sum = V(0);
    const V shift = V(top);
    if (std::abs(top) <= std::numeric_limits<T>::max()) {
      for (int j = 0; j < evens; j += V::lanes()) {
        sum = sum + (first_lanes(evens - j, exp(V::load(even + j) - shift), V(0)) +
                     first_lanes(odds - j, exp(V::load(odd + j) - shift), V(0)));
      }
    }
    sum.store(lanes);
    for (int width = V::lanes() / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    partials[2 * r] = top;
    partials[2 * r + 1] = lanes[0];
  }
  inline void end() {}
};

// The value at one column of each row.
template <class V>
struct SelectKeeper {
  using T = typename V::Number;
  T row_values[kStage];
  const PortState* state = nullptr;
  std::int64_t row = 0, column = 0;
  int columns = 0;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& s) {
    state = &s, row = tile.row, column = tile.column, columns = tile.columns;
  }
  inline void begin_row(int) {}
  ENVOI_FN void put(int j, const Pair<V>& x) { V::store_pairs(x.even, x.odd, row_values + 2 * j); }
  inline void end_row(int r) {
    const std::int64_t target = state->port.targets[row + r] - column;
    if (target >= 0 && target < columns) spill_stage(state->port, row + r, 0, 1, row_values + target);
  }
  inline void end() {}
};

// The best k. While a slot has fewer (it is open) every candidate is inserted; then a vector none of whose keys is
// above its threshold is left at once. A worker meets its candidates in ascending order, so an equal key never replaces
// one. NaN is above every threshold, and is noted.
template <class T>
ENVOI_SELDOM void insert_best(Best& best, std::int64_t slot, T value, std::int64_t index) {
  const auto key = [&](double v) { return best.magnitude && v < 0 ? -v : v; };
  double* values = best.values + slot * best.k;
  std::int64_t* indices = best.index + slot * best.k;
  std::int64_t& count = best.count[slot];
  if (count == best.k && !(key(value) > key(values[best.k - 1]))) return;
  std::int64_t place = count < best.k ? count++ : best.k - 1;
  for (; place > 0 && key(values[place - 1]) < key(value); --place) {
    values[place] = values[place - 1], indices[place] = indices[place - 1];
  }
  values[place] = value, indices[place] = index;
  if (count == best.k) static_cast<T*>(best.threshold)[slot] = static_cast<T>(key(values[best.k - 1]));
}

template <class V, bool along_m, bool magnitude>
struct BestKeeper {
  using T = typename V::Number;
  Best* best = nullptr;
  const T* thresholds = nullptr;
  V threshold;
  std::int64_t first_row = 0, row = 0, column = 0;
  int evens = 0, odds = 0;
  bool open = true;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& state) {
    best = &state.best[tile.worker];
    thresholds = static_cast<const T*>(best->threshold);
    first_row = tile.row, column = tile.column, evens = tile.evens(), odds = tile.odds();
  }
  inline void begin_row(int r) {
    row = first_row + r;
    if (!along_m) threshold = V(thresholds[row]);
    if (!along_m || open) open = best->count[along_m ? column : row] < best->k;  // the columns of a tile fill together
  }
  ENVOI_FN void put(int j, const Pair<V>& x) {
    if (evens + odds == 1) {  // one column: a search for one signal
      const T key = magnitude ? std::abs(x.even.first()) : x.even.first();
      if (open || !(key <= thresholds[along_m ? column : row])) insert(j, x.even, x.odd);
      return;
    }
    V even = magnitude ? abs(x.even) : x.even, odd = magnitude ? abs(x.odd) : x.odd;
    if (j + V::lanes() > odds) {
      const V none = V(std::numeric_limits<T>::lowest());
      even = first_lanes(evens - j, even, none), odd = first_lanes(odds - j, odd, none);
    }
    V even_threshold, odd_threshold;
    if constexpr (along_m) {
      V::load_pairs(thresholds + column + 2 * j, even_threshold, odd_threshold);
    } else {
      even_threshold = odd_threshold = threshold;
    }
    if (open || !(all_at_most(even, even_threshold) && all_at_most(odd, odd_threshold))) insert(j, x.even, x.odd);
  }
  inline void end_row(int) {}
  inline void end() {}

 private:
  ENVOI_SELDOM void insert(int j, const V& even, const V& odd) {
    T values[2 * 64];
    V::store_pairs(even, odd, values);
    const int count = std::min(2 * V::lanes(), evens + odds - 2 * j);
    for (int i = 0; i < count; ++i) {
      const std::int64_t at = column + 2 * j + i;
      if (values[i] != values[i]) {
        best->note_nan(row, at);
      } else {
        insert_best(*best, along_m ? at : row, values[i], along_m ? row : at);
      }
    }
    if (!along_m) threshold = V(thresholds[row]), open = best->count[row] < best->k;
  }
};

// The same with one value a pair of columns; the index is the pair's.
template <class V>
struct BestHalfKeeper {
  using T = typename V::Number;
  Best* best = nullptr;
  V threshold;
  std::int64_t first_row = 0, row = 0, column = 0;
  int pairs = 0;
  bool open = true;
  ENVOI_SELDOM void begin(const FinishedTile<T>& tile, const PortState& state) {
    best = &state.best[tile.worker];
    first_row = tile.row, column = tile.column / 2, pairs = tile.evens();
  }
  inline void begin_row(int r) {
    row = first_row + r;
    look();
  }
  ENVOI_FN void put(int j, const V& x) {
    const V key = first_lanes(pairs - j, x, V(std::numeric_limits<T>::lowest()));
    if (open || !all_at_most(key, threshold)) insert(j, x);
  }
  inline void end_row(int) {}
  inline void end() {}

 private:
  inline void look() {
    threshold = V(static_cast<const T*>(best->threshold)[row]);
    open = best->count[row] < best->k;
  }
  ENVOI_SELDOM void insert(int j, const V& x) {
    T values[64];
    x.store(values);
    for (int i = 0; i < std::min(V::lanes(), pairs - j); ++i) {
      if (values[i] != values[i]) {
        best->note_nan(row, column + j + i);
      } else {
        insert_best(*best, row, values[i], column + j + i);
      }
    }
    look();
  }
};

// Winners of rows of which there is one each are kept like the others.
template <class V, bool magnitude>
using ArgmaxKeeper = BestKeeper<V, false, magnitude>;
template <class V>
using ArgmaxHalfKeeper = BestHalfKeeper<V>;
