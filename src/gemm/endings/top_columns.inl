// The k best columns of each row by value; k = 1 is argmax. Ties: the lower column. NaN is an error.
struct TopColumns {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    TopkN<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
