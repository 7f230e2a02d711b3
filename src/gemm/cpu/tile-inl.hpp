// The register tiles of the main loop (kernels.hpp), compiled once an instruction set. No include guard.

// Rows held in registers at once: kRows x kPanel sums, kRows vectors of A and one of B.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 6 : 3;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

HWY_INLINE Vec<float> Load(const float* from) { return hn::LoadU(Tag<float>(), from); }
HWY_INLINE Vec<double> Load(const double* from) { return hn::LoadU(Tag<double>(), from); }
HWY_INLINE Vec<float> Load(const bfloat16* from) {
  const Tag<float> d;
  const hn::Rebind<uint16_t, Tag<float>> half;
  const hn::RebindToUnsigned<Tag<float>> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(d, hn::ShiftLeft<16>(wide));
}

// Sums of all lanes by halves, of `count` vectors, written one beside another.
#if HWY_TARGET == HWY_SCALAR
template <int count, class T>
HWY_INLINE void StoreSums(const Vec<T>* sums, T* out) {
  for (int i = 0; i < count; ++i) out[i] = hn::GetLane(sums[i]);
}
#else
template <class D>
HWY_INLINE auto Fold([[maybe_unused]] D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) <= 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return Fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <int count>
HWY_INLINE void StoreSums(const Vec<float>* sums, float* out) {
  const hn::Full128<float> d;
  const auto a = Fold(Tag<float>(), sums[0]);
  const auto b = count > 1 ? Fold(Tag<float>(), sums[count > 1 ? 1 : 0]) : hn::Zero(d);
  const auto c = count > 2 ? Fold(Tag<float>(), sums[count > 2 ? 2 : 0]) : hn::Zero(d);
  const auto e = count > 2 ? Fold(Tag<float>(), sums[count > 2 ? 3 : 0]) : hn::Zero(d);
  // a0+a2, b0+b2, a1+a3, b1+b3
  const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto all = hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab));
  if constexpr (count == 4) {
    hn::StoreU(all, d, out);
  } else if constexpr (count == 2) {
    hn::StoreU(hn::LowerHalf(all), hn::Half<hn::Full128<float>>(), out);
  } else {
    *out = hn::GetLane(all);
  }
}

template <int count>
HWY_INLINE void StoreSums(const Vec<double>* sums, double* out) {
  const hn::Full128<double> d;
  if constexpr (count == 1) {
    const auto a = Fold(Tag<double>(), sums[0]);
    *out = hn::GetLane(hn::Add(hn::InterleaveLower(d, a, a), hn::InterleaveUpper(d, a, a)));
  } else {
    for (int i = 0; i < count; i += 2) {
      const auto a = Fold(Tag<double>(), sums[i]), b = Fold(Tag<double>(), sums[i + 1]);
      hn::StoreU(hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)), d, out + i);
    }
  }
}
#endif

// `rows` rows by `width` columns.
template <int rows, int width, class A, class B, class T>
HWY_NOINLINE void RegisterTile(const TileWork<A, B, T>& work, int first, const B* HWY_RESTRICT panel,
                               T* HWY_RESTRICT out) {
  const Tag<T> d;
  constexpr size_t lanes = HWY_LANES(T);
  Vec<T> sums[rows][width];
  const A* from[rows];
  for (int r = 0; r < rows; ++r) {
    from[r] = work.rows[first + r];
    for (int c = 0; c < width; ++c) sums[r][c] = hn::Zero(d);
  }
  const auto step = [&](const B* HWY_RESTRICT b, const auto& row) HWY_ATTR {
    Vec<T> a[rows];
    for (int r = 0; r < rows; ++r) a[r] = row(r);
    for (int c = 0; c < width; ++c) {
      const Vec<T> column = Load(b + static_cast<size_t>(c) * lanes);
      for (int r = 0; r < rows; ++r) sums[r][c] = hn::MulAdd(a[r], column, sums[r][c]);
    }
  };
  const auto whole = static_cast<size_t>(work.depth) / lanes * lanes;
  for (size_t k = 0; k < whole; k += lanes, panel += width * lanes) {
    step(panel, [&](int r) HWY_ATTR { return Load(from[r] + k); });
  }
  if (whole < static_cast<size_t>(work.depth)) {
    const A* tails = work.tails + static_cast<size_t>(first) * lanes;
    step(panel, [&](int r) HWY_ATTR { return Load(tails + static_cast<size_t>(r) * lanes); });
  }
  for (int r = 0; r < rows; ++r) StoreSums<width>(sums[r], out + r * work.out_stride);
}

// One column, row after row.
template <class A, class B, class T>
HWY_NOINLINE void Column(const TileWork<A, B, T>& work, const B* HWY_RESTRICT column, T* HWY_RESTRICT out) {
  const Tag<T> d;
  constexpr size_t lanes = HWY_LANES(T);
  const auto depth = static_cast<size_t>(work.depth), whole = depth / lanes * lanes;
  for (int r = 0; r < work.row_count; ++r) {
    const A* HWY_RESTRICT row = work.rows[r];
    Vec<T> sum[1] = {hn::Zero(d)};
    size_t k = 0;
    for (; k + 4 * lanes <= whole; k += 4 * lanes) {
      sum[0] = hn::MulAdd(Load(row + k), Load(column + k), sum[0]);
      sum[0] = hn::MulAdd(Load(row + k + lanes), Load(column + k + lanes), sum[0]);
      sum[0] = hn::MulAdd(Load(row + k + 2 * lanes), Load(column + k + 2 * lanes), sum[0]);
      sum[0] = hn::MulAdd(Load(row + k + 3 * lanes), Load(column + k + 3 * lanes), sum[0]);
    }
    for (; k < whole; k += lanes) sum[0] = hn::MulAdd(Load(row + k), Load(column + k), sum[0]);
    if (whole < depth) sum[0] = hn::MulAdd(Load(work.tails + static_cast<size_t>(r) * lanes), Load(column + k), sum[0]);
    StoreSums<1>(sum, out + r * work.out_stride);
  }
}

template <int rows, class A, class B, class T>
HWY_INLINE void RegisterTiles(const TileWork<A, B, T>& work, int wanted, int width, int first, const B* panel, T* out) {
  if constexpr (rows > 0) {
    if (wanted != rows) return RegisterTiles<rows - 1>(work, wanted, width, first, panel, out);
    if (width == 4) return RegisterTile<rows, 4>(work, first, panel, out);
    if (width == 2) return RegisterTile<rows, 2>(work, first, panel, out);
    RegisterTile<rows, 1>(work, first, panel, out);
  }
}

// Fetches the next rows a share at a time, so that memory is read while the units multiply.
template <class A, class B, class T>
class Fetch {
 public:
  Fetch(const TileWork<A, B, T>& work, int times) : work_(work) {
    lines_ = (static_cast<size_t>(work.depth) * sizeof(A) + 63) / 64;
    const size_t total = work.next_rows ? lines_ * static_cast<size_t>(work.row_count) : 0;
    share_ = (total + static_cast<size_t>(times) - 1) / static_cast<size_t>(times);
    left_ = total;
  }
  HWY_INLINE void Some() {
    for (size_t i = 0; i < share_ && left_ > 0; ++i, --left_) {
      __builtin_prefetch(reinterpret_cast<const char*>(work_.next_rows[row_]) + line_ * 64, 0, 2);
      if (++line_ == lines_) line_ = 0, ++row_;
    }
  }

 private:
  const TileWork<A, B, T>& work_;
  size_t lines_ = 0, line_ = 0, row_ = 0, share_ = 0, left_ = 0;
};

template <class A, class B, class T>
void TileOf(const TileWork<A, B, T>& work) {
  constexpr size_t lanes = HWY_LANES(T);
  const size_t padded = (static_cast<size_t>(work.depth) + lanes - 1) / lanes * lanes;
  if (work.columns == 1) return Column(work, work.packed, work.out);
  const int strips = (work.row_count + kRows - 1) / kRows;
  const int panels = work.columns / kPanel + (work.columns % kPanel + 1) / 2;
  Fetch<A, B, T> fetch(work, strips * panels);
  for (int column = 0; column < work.columns;) {
    const int width = panel_width(work.columns - column);
    const B* panel = work.packed + static_cast<size_t>(column) * padded;
    for (int row = 0; row < work.row_count;) {
      const int left = work.row_count - row;
      // A product with few columns is bound by memory, which is read fastest one row after the other.
      const int most = work.columns < kPanel ? 1 : kRows;
      const int rows = left >= 2 * most || left == most ? most : left > most ? (left + 1) / 2 : left;
      RegisterTiles<kRows>(work, rows, width, row, panel, work.out + row * work.out_stride + column);
      fetch.Some();
      row += rows;
    }
    column += width;
  }
}
