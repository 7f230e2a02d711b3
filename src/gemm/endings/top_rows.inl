// The k best rows of each column by value; k = 1 is argmax. Ties: the lower row. NaN is an error.
struct TopRows {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    TopkM<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
