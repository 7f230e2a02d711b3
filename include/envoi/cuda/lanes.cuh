// The "vector" that endings run on in a GPU: one float of a thread. No include guard: included once beside ports.inl,
// in the namespace of the device's ports. Sums and products are rounded one by one, whatever the compiler may fuse, so
// that an ending has the same bits in every kernel. exp, log and tanh are CUDA's (2 units of the last place); sigmoid,
// silu and gelu come from the chip's exp2 and 1/x, with relative errors of about 2e-7 (1 + |x|).

ENVOI_FN float rounded_sum(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
ENVOI_FN float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
ENVOI_FN float rounded_quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}
ENVOI_FN float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}
ENVOI_FN float reciprocal(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}
// NaN if either is.
ENVOI_FN float larger_of(float a, float b) {
#ifdef __CUDA_ARCH__
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a > b || a != a ? a : b;
#endif
}
ENVOI_FN float smaller_of(float a, float b) {
#ifdef __CUDA_ARCH__
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a < b || a != a ? a : b;
#endif
}
inline constexpr float kLog2E = 1.44269504088896341f;

template <class T>
struct Lanes {
  static_assert(std::is_same_v<T, float>, "endings on a GPU run on float");
  using Number = T;
  float v;

  Lanes() = default;
  ENVOI_FN explicit Lanes(double number) : v(static_cast<float>(number)) {}
  static ENVOI_FN Lanes of(float x) {
    Lanes r;
    r.v = x;
    return r;
  }
  static constexpr int lanes() { return 1; }

  ENVOI_FN friend Lanes operator+(Lanes a, Lanes b) { return of(rounded_sum(a.v, b.v)); }
  ENVOI_FN friend Lanes operator-(Lanes a, Lanes b) { return of(rounded_sum(a.v, -b.v)); }
  ENVOI_FN friend Lanes operator*(Lanes a, Lanes b) { return of(rounded_product(a.v, b.v)); }
  ENVOI_FN friend Lanes operator/(Lanes a, Lanes b) { return of(rounded_quotient(a.v, b.v)); }
  ENVOI_FN friend Lanes operator-(Lanes a) { return of(-a.v); }
  ENVOI_FN Lanes& operator+=(Lanes b) { return *this = *this + b; }
  ENVOI_FN Lanes& operator-=(Lanes b) { return *this = *this - b; }
  ENVOI_FN Lanes& operator*=(Lanes b) { return *this = *this * b; }
  ENVOI_FN Lanes& operator/=(Lanes b) { return *this = *this / b; }
  ENVOI_FN friend Lanes fma(Lanes a, Lanes b, Lanes c) { return of(fmaf(a.v, b.v, c.v)); }
  ENVOI_FN friend Lanes abs(Lanes a) { return of(fabsf(a.v)); }
  ENVOI_FN friend Lanes sqrt(Lanes a) { return of(sqrtf(a.v)); }
  ENVOI_FN friend Lanes exp(Lanes a) { return of(expf(a.v)); }
  ENVOI_FN friend Lanes log(Lanes a) { return of(logf(a.v)); }
  ENVOI_FN friend Lanes tanh(Lanes a) { return of(tanhf(a.v)); }
  ENVOI_FN friend Lanes max(Lanes a, Lanes b) { return of(larger_of(a.v, b.v)); }
  ENVOI_FN friend Lanes min(Lanes a, Lanes b) { return of(smaller_of(a.v, b.v)); }
  ENVOI_FN friend Lanes where_greater(Lanes a, Lanes b, Lanes x, Lanes y) { return a.v > b.v ? x : y; }
  ENVOI_FN friend Lanes sigmoid(Lanes a) { return of(reciprocal(rounded_sum(1, power_of_two(-kLog2E * a.v)))); }
  ENVOI_FN friend Lanes silu(Lanes a) { return a * sigmoid(a); }
  ENVOI_FN friend Lanes gelu(Lanes a) {  // 0.5 x (1 + tanh(u)) = x sigmoid(2 u)
    return a * sigmoid(of(1.5957691216057308f) * (a + of(0.044715f) * a * a * a));
  }
};
