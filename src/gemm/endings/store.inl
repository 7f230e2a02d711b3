// The product itself, rounded to the type of the matrix that takes it. NaN and infinity are stored as they are.
struct StoreProduct {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    Store<V> product;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};
