// The register tiles of the main loop (kernels.hpp), compiled once an instruction set. No include guard.

// Rows held in registers at once: kRows x kPanel sums, kRows vectors of A and one of B.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 6 : 3;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

template <class D>
HWY_INLINE hn::Vec<D> LoadAs(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadAs(D d, const bfloat16* from) {
  const hn::Rebind<uint16_t, D> half;
  const hn::RebindToUnsigned<D> bits;
  const auto wide = hn::PromoteTo(bits, hn::LoadU(half, reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(d, hn::ShiftLeft<16>(wide));
}
HWY_INLINE Vec<float> Load(const float* from) { return LoadAs(Tag<float>(), from); }
HWY_INLINE Vec<double> Load(const double* from) { return LoadAs(Tag<double>(), from); }
HWY_INLINE Vec<float> Load(const bfloat16* from) { return LoadAs(Tag<float>(), from); }

// Sums of all lanes by halves, of `count` vectors, written one beside another.
#if HWY_TARGET == HWY_SCALAR
template <class T>
HWY_INLINE void StoreSums(hn::Vec1<T> a, T* out) {
  *out = hn::GetLane(a);
}
template <class T>
HWY_INLINE void StoreSum(Tag<T>, hn::Vec1<T> a, T* out) {
  *out = hn::GetLane(a);
}
template <class T>
HWY_INLINE void StoreSums(hn::Vec1<T> a, hn::Vec1<T> b, T* out) {
  StoreSums(a, out), StoreSums(b, out + 1);
}
template <class T>
HWY_INLINE void StoreSums(hn::Vec1<T> a, hn::Vec1<T> b, hn::Vec1<T> c, hn::Vec1<T> e, T* out) {
  StoreSums(a, b, out), StoreSums(c, e, out + 2);
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

HWY_INLINE void StoreSums(Vec<float> a, Vec<float> b, Vec<float> c, Vec<float> e, float* out) {
  const hn::Full128<float> d;
  const auto fa = Fold(Tag<float>(), a), fb = Fold(Tag<float>(), b), fc = Fold(Tag<float>(), c);
  const auto fe = Fold(Tag<float>(), e);
  // a0+a2, b0+b2, a1+a3, b1+b3
  const auto ab = hn::Add(hn::InterleaveLower(d, fa, fb), hn::InterleaveUpper(d, fa, fb));
  const auto ce = hn::Add(hn::InterleaveLower(d, fc, fe), hn::InterleaveUpper(d, fc, fe));
  hn::StoreU(hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab)), d, out);
}
HWY_INLINE void StoreSums(Vec<float> a, Vec<float> b, float* out) {
  const hn::Full128<float> d;
  const auto fa = Fold(Tag<float>(), a), fb = Fold(Tag<float>(), b);
  const auto ab = hn::Add(hn::InterleaveLower(d, fa, fb), hn::InterleaveUpper(d, fa, fb));
  const auto both = hn::Add(ab, hn::ConcatUpperUpper(d, ab, ab));
  hn::StoreU(hn::LowerHalf(both), hn::Half<hn::Full128<float>>(), out);
}
template <class D>
HWY_INLINE void StoreSum(D d, hn::Vec<D> a, float* out) {
  const hn::Full128<float> d128;
  const auto fa = Fold(d, a);
  const auto aa = hn::Add(hn::InterleaveLower(d128, fa, fa), hn::InterleaveUpper(d128, fa, fa));
  *out = hn::GetLane(hn::Add(aa, hn::ConcatUpperUpper(d128, aa, aa)));
}
HWY_INLINE void StoreSums(Vec<float> a, float* out) { StoreSum(Tag<float>(), a, out); }

HWY_INLINE void StoreSums(Vec<double> a, Vec<double> b, double* out) {
  const hn::Full128<double> d;
  const auto fa = Fold(Tag<double>(), a), fb = Fold(Tag<double>(), b);
  hn::StoreU(hn::Add(hn::InterleaveLower(d, fa, fb), hn::InterleaveUpper(d, fa, fb)), d, out);
}
HWY_INLINE void StoreSums(Vec<double> a, Vec<double> b, Vec<double> c, Vec<double> e, double* out) {
  StoreSums(a, b, out);
  StoreSums(c, e, out + 2);
}
template <class D>
HWY_INLINE void StoreSum(D d, hn::Vec<D> a, double* out) {
  const auto fa = Fold(d, a);
  *out = hn::GetLane(hn::Add(fa, hn::ConcatUpperUpper(hn::Full128<double>(), fa, fa)));
}
HWY_INLINE void StoreSums(Vec<double> a, double* out) { StoreSum(Tag<double>(), a, out); }
#endif

// Row by row, so that each sum has a name of its own: compilers keep those in registers, not arrays.
template <int rows, int width, class A, class B, class T>
struct Sums {
  Sums<rows - 1, width, A, B, T> before;
  Vec<T> s0, s1, s2, s3;

  HWY_INLINE Sums() {}  // written out, so that it is of this instruction set
  HWY_INLINE void Clear() {
    before.Clear();
    s0 = s1 = s2 = s3 = hn::Zero(Tag<T>());
  }
  HWY_INLINE void Step(const A* const* from, size_t k, const B* panel) {
    constexpr size_t lanes = HWY_LANES(T);
    Add(from, k, Load(panel), Load(panel + (width > 1 ? lanes : 0)), Load(panel + (width > 2 ? 2 * lanes : 0)),
        Load(panel + (width > 2 ? 3 * lanes : 0)));
  }
  HWY_INLINE void Add(const A* const* from, size_t k, Vec<T> b0, Vec<T> b1, Vec<T> b2, Vec<T> b3) {
    before.Add(from, k, b0, b1, b2, b3);
    const Vec<T> a = Load(from[rows - 1] + k);
    s0 = hn::MulAdd(a, b0, s0);
    if constexpr (width > 1) s1 = hn::MulAdd(a, b1, s1);
    if constexpr (width > 2) s2 = hn::MulAdd(a, b2, s2), s3 = hn::MulAdd(a, b3, s3);
  }
  HWY_INLINE void Store(T* out, std::int64_t stride) const {
    before.Store(out, stride);
    out += (rows - 1) * stride;
    if constexpr (width == 1) StoreSums(s0, out);
    if constexpr (width == 2) StoreSums(s0, s1, out);
    if constexpr (width == 4) StoreSums(s0, s1, s2, s3, out);
  }
};
template <int width, class A, class B, class T>
struct Sums<0, width, A, B, T> {
  HWY_INLINE Sums() {}
  HWY_INLINE void Clear() {}
  HWY_INLINE void Add(const A* const*, size_t, Vec<T>, Vec<T>, Vec<T>, Vec<T>) {}
  HWY_INLINE void Store(T*, std::int64_t) const {}
};

// `rows` rows by `width` columns.
template <int rows, int width, class A, class B, class T>
HWY_NOINLINE void RegisterTile(const TileWork<A, B, T>& work, int first, const B* HWY_RESTRICT panel,
                               T* HWY_RESTRICT out) {
  Sums<rows, width, A, B, T> sums;
  sums.Clear();
  const A* from[rows];
  for (int r = 0; r < rows; ++r) from[r] = work.rows[first + r];
  constexpr size_t lanes = HWY_LANES(T);
  const size_t whole = static_cast<size_t>(work.depth) / lanes * lanes;
  for (size_t k = 0; k < whole; k += lanes, panel += width * lanes) sums.Step(from, k, panel);
  if (whole < static_cast<size_t>(work.depth)) {
    for (int r = 0; r < rows; ++r) from[r] = work.tails + static_cast<size_t>(first + r) * lanes;
    sums.Step(from, 0, panel);
  }
  sums.Store(out, work.out_stride);
}

// One column, row after row. Vectors of 64 bytes are taken as two halves, lane for lane the same sums: where rows are
// not aligned, fewer loads cross a cache line, and memory is read a tenth faster.
template <class T>
constexpr bool Halved() {
  return HWY_LANES(T) * sizeof(T) == 64;
}
template <class A, class B, class T>
HWY_NOINLINE void Column(const TileWork<A, B, T>& work, const B* HWY_RESTRICT column, T* HWY_RESTRICT out) {
  constexpr bool halved = Halved<T>();
  const std::conditional_t<halved, hn::Half<Tag<T>>, Tag<T>> d;
  constexpr size_t lanes = HWY_LANES(T);
  const auto depth = static_cast<size_t>(work.depth), whole = depth / lanes * lanes;
  for (int r = 0; r < work.row_count; ++r) {
    const A* HWY_RESTRICT row = work.rows[r];
    auto low = hn::Zero(d), high = low;
    size_t k = 0;
    const auto step = [&](const A* a, const B* b) HWY_ATTR {
      low = hn::MulAdd(LoadAs(d, a), LoadAs(d, b), low);
      if constexpr (halved) high = hn::MulAdd(LoadAs(d, a + lanes / 2), LoadAs(d, b + lanes / 2), high);
    };
    for (; k + 4 * lanes <= whole; k += 4 * lanes) {
      step(row + k, column + k);
      step(row + k + lanes, column + k + lanes);
      step(row + k + 2 * lanes, column + k + 2 * lanes);
      step(row + k + 3 * lanes, column + k + 3 * lanes);
    }
    for (; k < whole; k += lanes) step(row + k, column + k);
    if (whole < depth) step(work.tails + static_cast<size_t>(r) * lanes, column + k);
    StoreSum(d, halved ? hn::Add(low, high) : low, out + r * work.out_stride);
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
  if (work.columns == 1) return Column(work, work.packed, work.out);
  const auto padded = static_cast<int64_t>((static_cast<size_t>(work.depth) + lanes - 1) / lanes * lanes);
  const int panels = work.columns / kPanel + (work.columns % kPanel + 1) / 2;
  // A product with few columns is bound by memory, which is read fastest one row after the other.
  const int most = work.columns < kPanel ? 1 : kRows;
  Fetch<A, B, T> fetch(work, (work.row_count + most - 1) / most * panels);
  const auto strip = [&](int row, int rows, int column) HWY_ATTR {
    const int width = panel_width(work.columns - column);
    RegisterTiles<kRows>(work, rows, width, row, work.packed + column * padded,
                         work.out + row * work.out_stride + column);
    fetch.Some();
    return column + width;
  };
  const auto height = [&](int row) HWY_ATTR {
    const int left = work.row_count - row;
    return left >= 2 * most || left == most ? most : left > most ? (left + 1) / 2 : left;
  };
  // What the inner loop goes through should stay in the second cache: the rows, or if they are too long the columns.
  const bool long_rows = work.row_count * work.depth * static_cast<int64_t>(sizeof(A)) > 256 * 1024;
  if (long_rows) {
    for (int row = 0, rows; row < work.row_count; row += rows) {
      rows = height(row);
      for (int column = 0; column < work.columns;) column = strip(row, rows, column);
    }
  } else {
    for (int column = 0, next; column < work.columns; column = next) {
      next = column;
      for (int row = 0, rows; row < work.row_count; row += rows) {
        rows = height(row);
        next = strip(row, rows, column);
      }
    }
  }
}
