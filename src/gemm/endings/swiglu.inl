// SwiGLU on pairs of columns: silu(gate) up, the gate even and up odd. NaN stays NaN.
struct SwiGlu {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    StoreHalf<V> gated;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {silu(acc.even) * acc.odd};
  }
};
