// The k best rows of each column by magnitude, with their signs. Ties: the lower row. NaN is an error.
struct TopRowsMagnitude {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    TopkAbsM<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
