// Rotary position embedding: each pair of columns turned by the angle of its row's position. NaN stays NaN.
struct Rope {
  template <class V>
  struct In {
    HalfTile<V> cosine, sine;
  };
  template <class V>
  struct Out {
    Store<V> turned;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    return {{acc.even * in.cosine - acc.odd * in.sine, acc.even * in.sine + acc.odd * in.cosine}};
  }
};
