// Every operation on pairs and on Vs: for each [even, odd, the same on a V].
template <class V>
std::vector<typename V::Number> apply_operators(typename V::Number first, typename V::Number second,
                                                typename V::Number constant) {
  using T = typename V::Number;
  std::vector<T> all;
  const auto keep = [&](Pair<V> pair, V one) {
    for (const T number : {pair.even.first(), pair.odd.first(), one.first()}) all.push_back(number);
  };
  const V x = V(static_cast<double>(first)), y = V(static_cast<double>(second));
  const Scalar<V> c{{V(static_cast<double>(constant))}};
  const Pair<V> p(x, x), q = {y, y};
  keep(p + q, x + y), keep(p - y, x - y), keep(x * q, x * y), keep(p / q, x / y);
  keep(p * c, x * c), keep(c - p, c - x), keep(-p, -x);
  Pair<V> r = p, s = p, t = p, u = p;
  V r1 = x, s1 = x, t1 = x, u1 = x;
  r += c, s -= q, t *= y, u /= c;
  r1 += c, s1 -= y, t1 *= y, u1 /= c;
  keep(r, r1), keep(s, s1), keep(t, t1), keep(u, u1);
  keep(fma(p, y, c), fma(x, y, c));
  keep(abs(p), abs(x)), keep(sqrt(abs(p)), sqrt(abs(x))), keep(exp(p), exp(x)), keep(log(p), log(x));
  keep(tanh(p), tanh(x)), keep(max(p, y), max(x, y)), keep(min(c, p), min(c, x));
  keep(where_greater(p, q, p, c), where_greater(x, y, x, c));
  keep(sigmoid(p), sigmoid(x)), keep(silu(p), silu(x)), keep(gelu(p), gelu(x));
  return all;
}
