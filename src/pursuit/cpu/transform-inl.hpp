// Batched Fourier transforms whose lanes are windows: mixed radix (2, 3, 4, 5), Stockham's order, no bit reversal.
// Included inside HWY_NAMESPACE, once an instruction set; so without a guard.

// One pass: n = radix * m points spaced by s. Values are [point][re, im][lane]. Of the results only those that end up
// in bins that are wanted are made.
template <int radix, class T>
HWY_INLINE void TransformPass(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int m, int s, const T* HWY_RESTRICT root,
                              Bins wanted) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const size_t lanes = hn::Lanes(d);
  const size_t point = 2 * lanes;
  // Result q + s j of this pass goes into the bins that equal it modulo s radix.
  const int modulus = s * radix;
  const int mirrored =
      wanted.mirror < 0 ? -1 : (wanted.mirror - wanted.count + 1 + 2 * modulus * wanted.count) % modulus;
  const auto needed = [&](int result) {
    if (result < wanted.count) return true;
    if (mirrored < 0) return false;
    const int after = result - mirrored;
    return (after < 0 ? after + modulus : after) < wanted.count;
  };
  for (int i = 0; i < m; ++i) {
    V wr[radix], wi[radix];
    for (int j = 1; j < radix; ++j) {
      const size_t at = static_cast<size_t>(i) * static_cast<size_t>(j) * static_cast<size_t>(s);  // < size
      wr[j] = hn::Set(d, root[2 * at]);
      wi[j] = hn::Set(d, root[2 * at + 1]);
    }
    for (int q = 0; q < s; ++q) {
      bool any = false;
      for (int j = 0; j < radix; ++j) any |= needed(q + s * j);
      if (!any) continue;
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
      } else if constexpr (radix == 3) {
        const V half = hn::Set(d, T(-0.5)), sine = hn::Set(d, T(0.86602540378443864676));
        const V tr = hn::Add(ar[1], ar[2]), ti = hn::Add(ai[1], ai[2]);
        const V ur = hn::Mul(sine, hn::Sub(ar[1], ar[2])), ui = hn::Mul(sine, hn::Sub(ai[1], ai[2]));
        const V mr = hn::MulAdd(half, tr, ar[0]), mi = hn::MulAdd(half, ti, ai[0]);
        br[0] = hn::Add(ar[0], tr), bi[0] = hn::Add(ai[0], ti);
        br[1] = hn::Add(mr, ui), bi[1] = hn::Sub(mi, ur);  // m - i u
        br[2] = hn::Sub(mr, ui), bi[2] = hn::Add(mi, ur);
      } else {
        static_assert(radix == 5);
        const V c1 = hn::Set(d, T(0.30901699437494742410)), c2 = hn::Set(d, T(-0.80901699437494742410));
        const V s1 = hn::Set(d, T(0.95105651629515357212)), s2 = hn::Set(d, T(0.58778525229247312917));
        const V pr = hn::Add(ar[1], ar[4]), pi = hn::Add(ai[1], ai[4]);
        const V qr = hn::Add(ar[2], ar[3]), qi = hn::Add(ai[2], ai[3]);
        const V mr = hn::Sub(ar[1], ar[4]), mi = hn::Sub(ai[1], ai[4]);
        const V nr = hn::Sub(ar[2], ar[3]), ni = hn::Sub(ai[2], ai[3]);
        const V er = hn::MulAdd(c2, qr, hn::MulAdd(c1, pr, ar[0])), ei = hn::MulAdd(c2, qi, hn::MulAdd(c1, pi, ai[0]));
        const V fr = hn::MulAdd(c1, qr, hn::MulAdd(c2, pr, ar[0])), fi = hn::MulAdd(c1, qi, hn::MulAdd(c2, pi, ai[0]));
        const V gr = hn::MulAdd(s2, nr, hn::Mul(s1, mr)), gi = hn::MulAdd(s2, ni, hn::Mul(s1, mi));
        const V hr = hn::NegMulAdd(s1, nr, hn::Mul(s2, mr)), hi = hn::NegMulAdd(s1, ni, hn::Mul(s2, mi));
        br[0] = hn::Add(ar[0], hn::Add(pr, qr)), bi[0] = hn::Add(ai[0], hn::Add(pi, qi));
        br[1] = hn::Add(er, gi), bi[1] = hn::Sub(ei, gr);  // e - i g
        br[4] = hn::Sub(er, gi), bi[4] = hn::Add(ei, gr);
        br[2] = hn::Add(fr, hi), bi[2] = hn::Sub(fi, hr);  // f - i h
        br[3] = hn::Sub(fr, hi), bi[3] = hn::Add(fi, hr);
      }
      for (int j = 0; j < radix; ++j) {
        if (!needed(q + s * j)) continue;
        T* out = y + (static_cast<size_t>(q) + static_cast<size_t>(s) * static_cast<size_t>(radix * i + j)) * point;
        if (j == 0 || i == 0) {  // no turn
          hn::StoreU(br[j], d, out);
          hn::StoreU(bi[j], d, out + lanes);
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
HWY_NOINLINE T* Transform(T* a, T* b, const TransformPlan<T>& plan, Bins wanted) {
  int n = plan.size, s = 1;
  for (const int radix : plan.radices) {
    const int m = n / radix;
    switch (radix) {
      case 2:
        TransformPass<2>(a, b, m, s, plan.root.data(), wanted);
        break;
      case 3:
        TransformPass<3>(a, b, m, s, plan.root.data(), wanted);
        break;
      case 4:
        TransformPass<4>(a, b, m, s, plan.root.data(), wanted);
        break;
      default:
        TransformPass<5>(a, b, m, s, plan.root.data(), wanted);
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
  const size_t point = 2 * lanes;
  if (2 * depth - 1 <= size) {  // each point has one sample or none
    for (int k = 0; k < depth; ++k) {
      const T* w = factor + static_cast<size_t>(k) * 4;
      const auto x = hn::LoadU(d, right + static_cast<size_t>(k) * lanes);
      T* out = data + static_cast<size_t>(k) * point;
      hn::StoreU(hn::Mul(x, hn::Set(d, w[0])), d, out);
      hn::StoreU(hn::Mul(x, hn::Set(d, w[1])), d, out + lanes);
      if (k == 0) continue;
      const auto y = hn::LoadU(d, left + static_cast<size_t>(k) * lanes);
      out = data + static_cast<size_t>(size - k) * point;
      hn::StoreU(hn::Mul(y, hn::Set(d, w[2])), d, out);
      hn::StoreU(hn::Mul(y, hn::Set(d, w[3])), d, out + lanes);
    }
    const size_t end = static_cast<size_t>(size - depth + 1) * point;
    for (size_t i = static_cast<size_t>(depth) * point; i < end; i += lanes) hn::StoreU(hn::Zero(d), d, data + i);
    return;
  }
  const size_t total = static_cast<size_t>(size) * point;
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
