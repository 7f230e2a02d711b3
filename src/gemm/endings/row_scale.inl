// Each row times a number of its own (1 / rms of an activation, a router's score). NaN stays NaN.
struct RowScale {
  template <class V>
  struct In {
    Column<V> scale;
  };
  template <class V>
  struct Out {
    Store<V> scaled;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    return {acc * in.scale};
  }
};
