// A layer whose values are clipped to [0, limit], and of each row how much was above the limit.
struct ClippedLayer {
  template <class V>
  struct In {
    Row<V> bias;      // a number for each column
    Scalar<V> limit;  // one for all
  };
  template <class V>
  struct Out {
    Store<V> layer;
    SumN<V> excess;  // summed over the columns: one for each row
    ArgmaxN<V> largest;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc + in.bias;
    return {.layer = min(max(x, V(0)), in.limit), .excess = max(x - in.limit, V(0)), .largest = x};
  }
};
