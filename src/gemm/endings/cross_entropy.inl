// Of each row of logits: log(sum(exp)) and the logit of its target. A NaN anywhere in the row makes the first NaN.
struct CrossEntropy {
  template <class V>
  struct In {};
  template <class V>
  struct Out {
    LseN<V> lse;
    SelectN<V> target;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc, acc};
  }
};
