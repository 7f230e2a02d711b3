// One tile through an ending (ports.inl): loads its operands, calls it for every row and vector of column pairs, keeps
// its results. The fields of In and Out are met in their order.

struct AnyField {
  template <class T>
  constexpr operator T() const;
};
template <class S, class... Known>
constexpr int fields_of() {
  if constexpr (sizeof...(Known) < 7 && requires { S{Known{}..., AnyField{}}; }) {
    return fields_of<S, Known..., AnyField>();
  } else {
    return static_cast<int>(sizeof...(Known));
  }
}
template <class Ending>
inline constexpr int operands_of = fields_of<typename Ending::template In<Counted>>();
template <class Ending>
inline constexpr int results_of = fields_of<typename Ending::template Out<Counted>>();

// call(field, number) for every field. What is called may be for the host alone.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <int count, class S, class Call>
ENVOI_FN constexpr void each_field([[maybe_unused]] S& s, [[maybe_unused]] Call call) {
  if constexpr (count == 1) {
    auto& [a] = s;
    call(a, 0);
  } else if constexpr (count == 2) {
    auto& [a, b] = s;
    call(a, 0), call(b, 1);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = s;
    call(a, 0), call(b, 1), call(c, 2);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    call(a, 0), call(b, 1), call(c, 2), call(d, 3);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    call(a, 0), call(b, 1), call(c, 2), call(d, 3), call(e, 4);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    call(a, 0), call(b, 1), call(c, 2), call(d, 3), call(e, 4), call(f, 5);
  }
}

// call(field of s, field of t) for every field.
template <int count, class S, class T, class Call>
ENVOI_FN void both_fields([[maybe_unused]] S& s, [[maybe_unused]] T& t, [[maybe_unused]] Call call) {
  if constexpr (count == 1) {
    auto& [a] = s;
    auto& [a2] = t;
    call(a, a2);
  } else if constexpr (count == 2) {
    auto& [a, b] = s;
    auto& [a2, b2] = t;
    call(a, a2), call(b, b2);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = s;
    auto& [a2, b2, c2] = t;
    call(a, a2), call(b, b2), call(c, c2);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    auto& [a2, b2, c2, d2] = t;
    call(a, a2), call(b, b2), call(c, c2), call(d, d2);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    auto& [a2, b2, c2, d2, e2] = t;
    call(a, a2), call(b, b2), call(c, c2), call(d, d2), call(e, e2);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    auto& [a2, b2, c2, d2, e2, f2] = t;
    call(a, a2), call(b, b2), call(c, c2), call(d, d2), call(e, e2), call(f, f2);
  }
}

// Refuses at compile time an ending that is not made as ending.hpp says.
struct MustBeOperand {
  template <class Field>
  ENVOI_FN constexpr void operator()(const Field&, int) const {
    static_assert(std::is_base_of_v<CountedOperand, Field>,
                  "every field of an ending's In is an operand port: Scalar<V>, Row<V>, Column<V>, Tile<V> or "
                  "HalfTile<V>; what is the same for a whole call may be a member of the ending itself");
  }
};
struct MustBeResult {
  template <class Field>
  ENVOI_FN constexpr void operator()(const Field&, int) const {
    static_assert(std::is_base_of_v<CountedResult, Field>,
                  "every field of an ending's Out is a result port: Store<V>, SumN<V>, ArgmaxN<V> and the others");
  }
};
template <class Ending>
ENVOI_FN constexpr bool check_ending() {
  using In = typename Ending::template In<Counted>;
  using Out = typename Ending::template Out<Counted>;
  static_assert(std::is_aggregate_v<In> && std::is_aggregate_v<Out>,
                "an ending's In and Out are plain structs of ports, without constructors");
  static_assert(operands_of<Ending> <= 6, "an ending has at most six operands, and this In has more");
  static_assert(results_of<Ending> <= 6, "an ending has at most six results, and this Out has more");
  In in{};
  Out out{};
  each_field<operands_of<Ending>>(in, MustBeOperand{});
  each_field<results_of<Ending>>(out, MustBeResult{});
  return true;
}
// The same before its operands and results are bound, so that it is the first that a compiler says.
template <class Ending>
struct Checked {
  static_assert(check_ending<Ending>());
  using In = typename Ending::template In<Bound>;
  using Out = typename Ending::template Out<Bound>;
};

template <class T>
struct BeginLoading {
  const FinishedTile<T>& tile;
  const Port* operands;
  template <class Field>
  ENVOI_FN void operator()(Field& field, int i) const {
    field.begin(tile, operands[i]);
  }
};
template <class T>
struct BeginKeeping {
  const FinishedTile<T>& tile;
  const PortState* results;
  template <class Field>
  ENVOI_FN void operator()(Field& field, int i) const {
    field.begin(tile, results[i]);
  }
};
struct BeginRow {
  int row;
  template <class Field>
  ENVOI_FN void operator()(Field& field, int) const {
    field.begin_row(row);
  }
};
struct EndRow {
  int row;
  template <class Field>
  ENVOI_FN void operator()(Field& field, int) const {
    field.end_row(row);
  }
};
struct EndTile {
  template <class Field>
  ENVOI_FN void operator()(Field& field, int) const {
    field.end();
  }
};
struct LoadField {
  int j;
  template <class Loader, class Value>
  ENVOI_FN void operator()(const Loader& loader, Value& value) const {
    loader.load(j, value);
  }
};
struct KeepField {
  int j;
  template <class Keeper, class Value>
  ENVOI_FN void operator()(Keeper& keeper, const Value& value) const {
    keeper.put(j, value.x);
  }
};

// What the main loop calls for a tile. `ending` is an Ending, `operands` and `results` are in the order of its fields.
template <class Ending, class V>
void apply_ending(const void* ending, const FinishedTile<typename V::Number>& tile, const Port* operands,
                  const PortState* results) {
  using T = typename V::Number;
  static_assert(check_ending<Ending>());
  constexpr int ins = operands_of<Ending>, outs = results_of<Ending>;
  const Ending& end = *static_cast<const Ending*>(ending);
  typename Ending::template In<Loading<V>> loaders;
  typename Ending::template Out<Keeping<V>> keepers;
  each_field<ins>(loaders, BeginLoading<T>{tile, operands});
  each_field<outs>(keepers, BeginKeeping<T>{tile, results});
  const int pairs = tile.evens();
  for (int r = 0; r < tile.rows; ++r) {
    each_field<ins>(loaders, BeginRow{r});
    each_field<outs>(keepers, BeginRow{r});
    const T* even = tile.values + r * tile.stride;
    for (int j = 0; j < pairs; j += V::lanes()) {
      typename Ending::template In<V> values;
      both_fields<ins>(loaders, values, LoadField{j});
      const typename Ending::template Out<V> kept = end(Pair<V>{V::load(even + j), V::load(even + pairs + j)}, values);
      both_fields<outs>(keepers, kept, KeepField{j});
    }
    each_field<outs>(keepers, EndRow{r});
  }
  each_field<outs>(keepers, EndTile{});
}
