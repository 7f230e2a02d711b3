// SwiGLU on pairs of columns of p, each row of the product times a number of its own (1 / rms of an activation):
// silu(gate) up, the gate even and up odd; and p itself, which training needs. NaN stays NaN.
struct SwiGluKept {
  template <class V>
  struct In {
    Column<V> scale;
  };
  template <class V>
  struct Out {
    StoreHalf<V> gated;
    Store<V> projected;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> p = acc * in.scale;
    return {.gated = silu(p.even) * p.odd, .projected = p};
  }
};
