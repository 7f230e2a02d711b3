// The vector that endings run on, of one instruction set: lanes of Highway's. No include guard.

template <class T>
struct Lanes {
  using Number = T;
  using D = hn::ScalableTag<T>;
  hn::Vec<D> v;

  Lanes() = default;
  HWY_INLINE Lanes(hn::Vec<D> vector) : v(vector) {}
  HWY_INLINE explicit Lanes(double number) : v(hn::Set(D(), static_cast<T>(number))) {}

  static constexpr int lanes() { return static_cast<int>(HWY_LANES(T)); }
  static HWY_INLINE Lanes load(const T* from) { return hn::LoadU(D(), from); }
  HWY_INLINE void store(T* to) const { hn::StoreU(v, D(), to); }
  static HWY_INLINE void load_pairs(const T* from, Lanes& even, Lanes& odd) {
    hn::LoadInterleaved2(D(), from, even.v, odd.v);
  }
  static HWY_INLINE void store_pairs(const Lanes& even, const Lanes& odd, T* to) {
    hn::StoreInterleaved2(even.v, odd.v, D(), to);
  }
  HWY_INLINE T first() const { return hn::GetLane(v); }

  HWY_INLINE friend Lanes operator+(Lanes a, Lanes b) { return hn::Add(a.v, b.v); }
  HWY_INLINE friend Lanes operator-(Lanes a, Lanes b) { return hn::Sub(a.v, b.v); }
  HWY_INLINE friend Lanes operator*(Lanes a, Lanes b) { return hn::Mul(a.v, b.v); }
  HWY_INLINE friend Lanes operator/(Lanes a, Lanes b) { return hn::Div(a.v, b.v); }
  HWY_INLINE friend Lanes operator-(Lanes a) { return hn::Neg(a.v); }
  HWY_INLINE Lanes& operator+=(Lanes b) { return *this = *this + b; }
  HWY_INLINE Lanes& operator-=(Lanes b) { return *this = *this - b; }
  HWY_INLINE Lanes& operator*=(Lanes b) { return *this = *this * b; }
  HWY_INLINE Lanes& operator/=(Lanes b) { return *this = *this / b; }
  HWY_INLINE friend Lanes fma(Lanes a, Lanes b, Lanes c) { return hn::MulAdd(a.v, b.v, c.v); }
  HWY_INLINE friend Lanes abs(Lanes a) { return hn::Abs(a.v); }
  HWY_INLINE friend Lanes sqrt(Lanes a) { return hn::Sqrt(a.v); }
  // NaN if either is.
  HWY_INLINE friend Lanes max(Lanes a, Lanes b) {
    return hn::IfThenElse(hn::Gt(a.v, b.v), a.v, hn::IfThenElse(hn::IsNaN(a.v), a.v, b.v));
  }
  HWY_INLINE friend Lanes min(Lanes a, Lanes b) {
    return hn::IfThenElse(hn::Lt(a.v, b.v), a.v, hn::IfThenElse(hn::IsNaN(a.v), a.v, b.v));
  }
  // Where a > b, x, elsewhere y.
  HWY_INLINE friend Lanes where_greater(Lanes a, Lanes b, Lanes x, Lanes y) {
    return hn::IfThenElse(hn::Gt(a.v, b.v), x.v, y.v);
  }
  HWY_INLINE friend Lanes exp(Lanes a) {
    const D d;
    const auto most = hn::Set(d, sizeof(T) == 4 ? T(88.72283) : T(709.782712893384));
    const auto y = hn::IfThenElse(hn::Gt(a.v, most), hn::Inf(d), hn::Exp(d, hn::Min(a.v, most)));
    return hn::IfThenElse(hn::IsNaN(a.v), a.v, y);
  }
  // Of 0 minus infinity, of less NaN.
  HWY_INLINE friend Lanes log(Lanes a) {
    const D d;
    const auto zero = hn::Zero(d);
    const auto y = hn::IfThenElse(hn::Lt(a.v, hn::Inf(d)), hn::Log(d, a.v), a.v);  // infinity and NaN stay
    return hn::IfThenElse(
        hn::Gt(a.v, zero), y,
        hn::IfThenElse(hn::Eq(a.v, zero), hn::Neg(hn::Inf(d)), hn::IfThenElse(hn::IsNaN(a.v), a.v, hn::NaN(d))));
  }
  HWY_INLINE friend Lanes tanh(Lanes a) {
    const D d;
    const auto most = hn::Set(d, T(20));  // tanh is 1 from here on
    const auto y = hn::Tanh(d, hn::Min(hn::Max(a.v, hn::Neg(most)), most));
    return hn::IfThenElse(hn::IsNaN(a.v), a.v, y);
  }
  // The first `count` lanes of a, the others of b.
  HWY_INLINE friend Lanes first_lanes(int count, Lanes a, Lanes b) {
    if (count >= lanes()) return a;
    return hn::IfThenElse(hn::FirstN(D(), static_cast<size_t>(count < 0 ? 0 : count)), a.v, b.v);
  }
  HWY_INLINE friend bool all_at_most(Lanes a, Lanes b) { return hn::AllTrue(D(), hn::Le(a.v, b.v)); }
};
