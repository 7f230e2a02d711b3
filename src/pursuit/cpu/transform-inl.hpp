// Batched Fourier transforms whose lanes are windows: mixed radix (2, 3, 4, 5), Stockham's order, no bit reversal.
// Included inside HWY_NAMESPACE, once an instruction set; so without a guard.

// One pass: n = radix * m points spaced by s. Values are [point][re, im][lane].
template <int radix, class T>
HWY_INLINE void TransformPass(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int m, int s, const T* HWY_RESTRICT root,
                              int size) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const size_t lanes = hn::Lanes(d);
  const size_t point = 2 * lanes;
  for (int i = 0; i < m; ++i) {
    V wr[radix], wi[radix];
    for (int j = 1; j < radix; ++j) {
      const size_t at =
          static_cast<size_t>(i) * static_cast<size_t>(j) * static_cast<size_t>(s) % static_cast<size_t>(size);
      wr[j] = hn::Set(d, root[2 * at]);
      wi[j] = hn::Set(d, root[2 * at + 1]);
    }
    for (int q = 0; q < s; ++q) {
      V ar[radix], ai[radix], br[radix], bi[radix];
      for (int r = 0; r < radix; ++r) {
        const T* in = x + (static_cast<size_t>(q) + static_cast<size_t>(s) * static_cast<size_t>(i + m * r)) * point;
        ar[r] = hn::LoadU(d, in);
        ai[r] = hn::LoadU(d, in + lanes);
      }
      if constexpr (radix == 2) {
        br[0] = hn::Add(ar[0], ar[1]), bi[0] = hn::Add(ai[0], ai[1]);
        br[1] = hn::Sub(ar[0], ar[1]), bi[1] = hn::Sub(ai[0], ai[1]);
      } else if constexpr (radix == 4) {
        const V pr = hn::Add(ar[0], ar[2]), pi = hn::Add(ai[0], ai[2]);
        const V mr = hn::Sub(ar[0], ar[2]), mi = hn::Sub(ai[0], ai[2]);
        const V qr = hn::Add(ar[1], ar[3]), qi = hn::Add(ai[1], ai[3]);
        const V nr = hn::Sub(ar[1], ar[3]), ni = hn::Sub(ai[1], ai[3]);
        br[0] = hn::Add(pr, qr), bi[0] = hn::Add(pi, qi);
        br[2] = hn::Sub(pr, qr), bi[2] = hn::Sub(pi, qi);
        br[1] = hn::Add(mr, ni), bi[1] = hn::Sub(mi, nr);  // m - i n
        br[3] = hn::Sub(mr, ni), bi[3] = hn::Add(mi, nr);
      } else {
        // exp(-2 pi i r j / radix), from the table of roots.
        const size_t stride = static_cast<size_t>(size / radix);
        for (int j = 0; j < radix; ++j) {
          br[j] = ar[0], bi[j] = ai[0];
          for (int r = 1; r < radix; ++r) {
            const T* w = root + 2 * (stride * static_cast<size_t>(r * j % radix));
            const V cr = hn::Set(d, w[0]), ci = hn::Set(d, w[1]);
            br[j] = hn::NegMulAdd(ai[r], ci, hn::MulAdd(ar[r], cr, br[j]));
            bi[j] = hn::MulAdd(ai[r], cr, hn::MulAdd(ar[r], ci, bi[j]));
          }
        }
      }
      for (int j = 0; j < radix; ++j) {
        T* out = y + (static_cast<size_t>(q) + static_cast<size_t>(s) * static_cast<size_t>(radix * i + j)) * point;
        if (j == 0) {
          hn::StoreU(br[0], d, out);
          hn::StoreU(bi[0], d, out + lanes);
        } else {
          hn::StoreU(hn::NegMulAdd(bi[j], wi[j], hn::Mul(br[j], wr[j])), d, out);
          hn::StoreU(hn::MulAdd(bi[j], wr[j], hn::Mul(br[j], wi[j])), d, out + lanes);
        }
      }
    }
  }
}

// Transforms a (size points of all lanes), using b; returns whichever of the two holds the result.
template <class T>
HWY_NOINLINE T* Transform(T* a, T* b, const TransformPlan<T>& plan) {
  int n = plan.size, s = 1;
  for (const int radix : plan.radices) {
    const int m = n / radix;
    switch (radix) {
      case 2:
        TransformPass<2>(a, b, m, s, plan.root.data(), plan.size);
        break;
      case 3:
        TransformPass<3>(a, b, m, s, plan.root.data(), plan.size);
        break;
      case 4:
        TransformPass<4>(a, b, m, s, plan.root.data(), plan.size);
        break;
      default:
        TransformPass<5>(a, b, m, s, plan.root.data(), plan.size);
        break;
    }
    std::swap(a, b);
    n = m;
    s *= radix;
  }
  return a;
}

// data[k mod size] = sum of right[k] (re, im of factor) and left[k] (re, im of its other half), as complex points.
template <class T>
HWY_NOINLINE void Wrap(const T* HWY_RESTRICT right, const T* HWY_RESTRICT left, const T* HWY_RESTRICT factor, int depth,
                       int size, T* HWY_RESTRICT data) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t total = static_cast<size_t>(size) * 2 * lanes;
  for (size_t i = 0; i < total; i += lanes) hn::StoreU(hn::Zero(d), d, data + i);
  for (int k = 0; k < depth; ++k) {
    for (int side = 0; side < (k == 0 ? 1 : 2); ++side) {
      const int at = side == 0 ? k % size : (size - k % size) % size;
      const auto x = hn::LoadU(d, (side == 0 ? right : left) + static_cast<size_t>(k) * lanes);
      T* out = data + static_cast<size_t>(at) * 2 * lanes;
      const T* w = factor + static_cast<size_t>(k) * 4 + side * 2;
      hn::StoreU(hn::MulAdd(x, hn::Set(d, w[0]), hn::LoadU(d, out)), d, out);
      hn::StoreU(hn::MulAdd(x, hn::Set(d, w[1]), hn::LoadU(d, out + lanes)), d, out + lanes);
    }
  }
}
