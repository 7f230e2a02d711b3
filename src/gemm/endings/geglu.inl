// GeGLU on pairs of columns of p, each row of the product times a number of its own (1 / rms of an activation):
// gelu(gate) up, the gate even and up odd, gelu in its tanh form. NaN stays NaN.
struct GeGlu {
  template <class V>
  struct In {
    Column<V> scale;
  };
  template <class V>
  struct Out {
    StoreHalf<V> gated;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> p = acc * in.scale;
    return {gelu(p.even) * p.odd};
  }
};
