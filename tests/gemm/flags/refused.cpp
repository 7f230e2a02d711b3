// Endings that must not compile; CASE chooses one. What the compiler says of it is in tests/CMakeLists.txt.
#include "envoi/ending.hpp"

namespace envoi::gemm {

struct Refused {
  template <class V>
  struct In {
#if CASE == 1
    Scalar<V> a, b, c, d, e, f, g;
#elif CASE == 3
    Scalar<V> a;
    float factor;
#elif CASE == 4
    Store<V> a;
#elif CASE == 7
    In() {}
#endif
  };
  template <class V>
  struct Out {
#if CASE == 2
    Store<V> a, b, c, d, e, f, g;
#elif CASE == 5
    Pair<V> a;
#elif CASE == 6
    Store<V> a;
    Row<V> b;
#else
    Store<V> a;
#endif
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};

void refused(const Matrix& a, const Matrix& b) { run_ending(a, b, Refused{}, {}, {}); }

}  // namespace envoi::gemm
