// A layer: activation(product + bias), the bias one number a column. NaN stays NaN.
struct BiasActivation {
  Activation activation = Activation::none;
  template <class V>
  struct In {
    Row<V> bias;
  };
  template <class V>
  struct Out {
    Store<V> layer;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    const Pair<V> x = acc + in.bias;
    if (activation == Activation::relu) return {max(x, V(0))};
    if (activation == Activation::silu) return {silu(x)};
    if (activation == Activation::gelu) return {gelu(x)};
    return {x};
  }
};
