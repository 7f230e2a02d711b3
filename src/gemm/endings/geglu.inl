// GeGLU on pairs of columns: gelu(gate) up, the gate even and up odd, gelu in its tanh form. NaN stays NaN.
struct GeGlu {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    StoreHalf<V> gated;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {gelu(acc.even) * acc.odd};
  }
};
