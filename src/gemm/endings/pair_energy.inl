// Pairs of columns as (re, im): the k pairs of the most energy in each row. Ties: the lower pair. NaN is an error.
struct PairEnergy {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    TopkHalfN<V> best;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc.even * acc.even + acc.odd * acc.odd};
  }
};
