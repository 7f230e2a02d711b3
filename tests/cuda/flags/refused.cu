// Endings that must not compile for a GPU; CASE chooses one. What the compiler says of it is in tests/CMakeLists.txt.
#include <envoi/cuda/ending.cuh>

namespace mine {
using namespace envoi::cuda;

struct Refused {
#if CASE == 4
  float table[64];
#endif
  template <class V>
  struct In {
#if CASE == 1
    Scalar<V> a, b, c, d, e, f, g;
#elif CASE == 2
    Scalar<V> a;
    float factor;
#endif
  };
  template <class V>
  struct Out {
#if CASE == 3
    Pair<V> a;
#else
    Store<V> a;
#endif
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V>) const {
    return {acc};
  }
};

#if CASE == 4
Product refused(const Matrix& a, const Matrix& b, const MutableMatrix& c) { return product(a, b, Refused{}, {}, {c}); }
#else
Product refused(const Matrix& a, const Matrix& b) { return product(a, b, Refused{}, {}, {}); }
#endif

}  // namespace mine
