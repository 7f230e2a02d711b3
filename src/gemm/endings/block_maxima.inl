// The largest magnitude of each block of rows in each column. NaN stays NaN.
struct BlockMaxima {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    MaxAbsM<V> maxima;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
