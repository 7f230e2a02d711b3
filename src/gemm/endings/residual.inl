// residual + product, and the sum of squares of each row, which the next norm needs. NaN stays NaN in both.
struct ResidualSquares {
  template <class V>
  struct In {
    Tile<V> residual;
  };
  template <class V>
  struct Out {
    Store<V> sum;
    SumN<V> squares;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc + in.residual;
    return {x, x * x};
  }
};
