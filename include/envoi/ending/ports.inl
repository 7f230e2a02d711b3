// The ports of endings. No include guard: this text is compiled once for every vector type that endings run on.
// V is that type, with the operators and functions of `Pair<V>`, two adjacent columns; V(number) is a constant.
// Where these want a pair a V will do, for both columns.

template <class V>
struct Pair {
  V even, odd;

  Pair() = default;
  ENVOI_FN Pair(V both) : even(both), odd(both) {}
  ENVOI_FN Pair(V e, V o) : even(e), odd(o) {}

  ENVOI_FN friend Pair operator+(Pair a, Pair b) { return {a.even + b.even, a.odd + b.odd}; }
  ENVOI_FN friend Pair operator-(Pair a, Pair b) { return {a.even - b.even, a.odd - b.odd}; }
  ENVOI_FN friend Pair operator*(Pair a, Pair b) { return {a.even * b.even, a.odd * b.odd}; }
  ENVOI_FN friend Pair operator/(Pair a, Pair b) { return {a.even / b.even, a.odd / b.odd}; }
  ENVOI_FN friend Pair operator-(Pair a) { return {-a.even, -a.odd}; }
  ENVOI_FN Pair& operator+=(Pair b) { return *this = *this + b; }
  ENVOI_FN Pair& operator-=(Pair b) { return *this = *this - b; }
  ENVOI_FN Pair& operator*=(Pair b) { return *this = *this * b; }
  ENVOI_FN Pair& operator/=(Pair b) { return *this = *this / b; }

  ENVOI_FN friend Pair fma(Pair a, Pair b, Pair c) { return {fma(a.even, b.even, c.even), fma(a.odd, b.odd, c.odd)}; }
  ENVOI_FN friend Pair abs(Pair a) { return {abs(a.even), abs(a.odd)}; }
  ENVOI_FN friend Pair sqrt(Pair a) { return {sqrt(a.even), sqrt(a.odd)}; }
  ENVOI_FN friend Pair exp(Pair a) { return {exp(a.even), exp(a.odd)}; }
  ENVOI_FN friend Pair log(Pair a) { return {log(a.even), log(a.odd)}; }
  ENVOI_FN friend Pair tanh(Pair a) { return {tanh(a.even), tanh(a.odd)}; }
  ENVOI_FN friend Pair max(Pair a, Pair b) { return {max(a.even, b.even), max(a.odd, b.odd)}; }
  ENVOI_FN friend Pair min(Pair a, Pair b) { return {min(a.even, b.even), min(a.odd, b.odd)}; }
  ENVOI_FN friend Pair where_greater(Pair a, Pair b, Pair x, Pair y) {
    return {where_greater(a.even, b.even, x.even, y.even), where_greater(a.odd, b.odd, x.odd, y.odd)};
  }
  ENVOI_FN friend Pair sigmoid(Pair a) { return {sigmoid(a.even), sigmoid(a.odd)}; }
  ENVOI_FN friend Pair silu(Pair a) { return {silu(a.even), silu(a.odd)}; }
  ENVOI_FN friend Pair gelu(Pair a) { return {gelu(a.even), gelu(a.odd)}; }
};

// 1 / (1 + exp(-x)), x sigmoid(x), the tanh form of GELU. NaN stays NaN.
template <class T>
ENVOI_FN Lanes<T> sigmoid(Lanes<T> x) {
  using V = Lanes<T>;
  return V(1) / (V(1) + exp(V(0) - x));
}
template <class T>
ENVOI_FN Lanes<T> silu(Lanes<T> x) {
  using V = Lanes<T>;
  return x / (V(1) + exp(V(0) - x));
}
template <class T>
ENVOI_FN Lanes<T> gelu(Lanes<T> x) {  // 0.5 x (1 + tanh(u)) = x sigmoid(2 u)
  using V = Lanes<T>;
  return x * sigmoid(V(1.5957691216057308) * (x + V(0.044715) * x * x * x));
}

// What a port is at each stage: a count of fields, a place in memory, a loader or keeper of a tile, a value.
struct Counted {};
struct Bound {};
struct CountedOperand {};
struct CountedResult {};
template <class V>
struct Loading {};
template <class V>
struct Keeping {};

#define ENVOI_OPERAND_PORT(Name, Kind, Value)           \
  template <class V>                                    \
  struct Name : Value<V> {};                            \
  template <>                                           \
  struct Name<Counted> : CountedOperand {};             \
  template <>                                           \
  struct Name<Bound> : OperandPort {                    \
    using OperandPort::OperandPort;                     \
    static constexpr PortKind kind = PortKind::Kind;    \
  };                                                    \
  template <class V>                                    \
  struct Name<Loading<V>> : Name##Loader<V> {};

#define ENVOI_RESULT_PORT(Name, Kind, To, Value, ...)   \
  template <class V>                                    \
  struct Name {                                         \
    Value x;                                            \
    ENVOI_FN Name(Value value) : x(value) {}            \
    ENVOI_FN Name(V even, V odd)                        \
      requires std::is_same_v<Value, Pair<V>>           \
        : x(even, odd) {}                               \
  };                                                    \
  template <>                                           \
  struct Name<Counted> : CountedResult {};              \
  template <>                                           \
  struct Name<Bound> : To {                             \
    using To::To;                                       \
    static constexpr PortKind kind = PortKind::Kind;    \
  };                                                    \
  template <class V>                                    \
  struct Name<Keeping<V>> : __VA_ARGS__ {};

// One value a pair of columns, or for all.
template <class V>
struct One {
  V value;
  ENVOI_FN operator V() const { return value; }
  ENVOI_FN operator Pair<V>() const { return {value, value}; }
};

#ifdef ENVOI_ENDING_ON_GPU
#include "envoi/cuda/loaders.inl"
#include "envoi/cuda/keepers.inl"
#else
#include "envoi/ending/loaders.inl"
#include "envoi/ending/keepers.inl"
#endif

// Operands. A row is one value a column, a column one value a row; a half tile is one value a pair of columns.
ENVOI_OPERAND_PORT(Scalar, scalar, One)
ENVOI_OPERAND_PORT(Row, row, Pair)
ENVOI_OPERAND_PORT(Column, column, One)
ENVOI_OPERAND_PORT(Tile, tile, Pair)
ENVOI_OPERAND_PORT(HalfTile, half_tile, One)

// Results. ..N is over the columns, one result a row; ..M over the rows, one result a column.
ENVOI_RESULT_PORT(Store, store, ResultPort, Pair<V>, StoreKeeper<V>)
ENVOI_RESULT_PORT(StoreHalf, store_half, ResultPort, V, StoreHalfKeeper<V>)
ENVOI_RESULT_PORT(SumN, sum_n, ResultPort, Pair<V>, ReduceRow<V, Sum>)
ENVOI_RESULT_PORT(SumM, sum_m, ResultPort, Pair<V>, ReduceColumns<V, Sum>)
ENVOI_RESULT_PORT(MaxN, max_n, ResultPort, Pair<V>, ReduceRow<V, Largest>)
ENVOI_RESULT_PORT(MaxAbsN, max_abs_n, ResultPort, Pair<V>, ReduceRow<V, LargestMagnitude>)
ENVOI_RESULT_PORT(MaxAbsM, max_abs_m, ResultPort, Pair<V>, ReduceColumns<V, LargestMagnitude>)
ENVOI_RESULT_PORT(LseN, lse_n, ResultPort, Pair<V>, LseKeeper<V>)
ENVOI_RESULT_PORT(SelectN, select_n, SelectPort, Pair<V>, SelectKeeper<V>)
ENVOI_RESULT_PORT(ArgmaxN, argmax_n, WinnersPort, Pair<V>, ArgmaxKeeper<V, false>)
ENVOI_RESULT_PORT(ArgmaxAbsN, argmax_abs_n, WinnersPort, Pair<V>, ArgmaxKeeper<V, true>)
ENVOI_RESULT_PORT(ArgmaxHalfN, argmax_half_n, WinnersPort, V, ArgmaxHalfKeeper<V>)
ENVOI_RESULT_PORT(ArgmaxM, argmax_m, WinnersPort, Pair<V>, BestKeeper<V, true, false>)
ENVOI_RESULT_PORT(ArgmaxAbsM, argmax_abs_m, WinnersPort, Pair<V>, BestKeeper<V, true, true>)
ENVOI_RESULT_PORT(TopkN, topk_n, WinnersPort, Pair<V>, BestKeeper<V, false, false>)
ENVOI_RESULT_PORT(TopkAbsN, topk_abs_n, WinnersPort, Pair<V>, BestKeeper<V, false, true>)
ENVOI_RESULT_PORT(TopkHalfN, topk_half_n, WinnersPort, V, BestHalfKeeper<V>)
ENVOI_RESULT_PORT(TopkM, topk_m, WinnersPort, Pair<V>, BestKeeper<V, true, false>)
ENVOI_RESULT_PORT(TopkAbsM, topk_abs_m, WinnersPort, Pair<V>, BestKeeper<V, true, true>)

#undef ENVOI_OPERAND_PORT
#undef ENVOI_RESULT_PORT

#include "envoi/ending/apply.inl"
