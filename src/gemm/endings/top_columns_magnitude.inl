// The k best columns of each row by magnitude, with their signs. Ties: the lower column. NaN is an error.
struct TopColumnsMagnitude {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    TopkAbsN<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
