// What endings may write on a V and on a Pair<V>: the same on plain lanes and on the library's vectors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "envoi/ending.hpp"
#include "reference.hpp"
// After the standard library.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

namespace envoi::gemm {
#include "gemm_operators.inl"
}

// On Arm even the least instruction set has attributes, which lambdas and tests lack: there the plain lanes are tested,
// and the vectors through the endings.
#if HWY_ARCH_ARM
namespace vectors = envoi::gemm;
#else
#undef ENVOI_FN
#undef ENVOI_SELDOM
#define ENVOI_FN HWY_INLINE
#define ENVOI_SELDOM HWY_NOINLINE
HWY_BEFORE_NAMESPACE();
namespace envoi::gemm::compiled_again {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
#include "gemm/cpu/vector-inl.hpp"
// After the vectors.
#include "envoi/ending/ports.inl"
#include "gemm_operators.inl"
}  // namespace HWY_NAMESPACE
}  // namespace envoi::gemm::compiled_again
HWY_AFTER_NAMESPACE();
namespace vectors = envoi::gemm::compiled_again::HWY_NAMESPACE;
#endif

namespace envoi::gemm::tests {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

void same(double found, double wanted, double relative, const char* what) {
  if (std::isnan(wanted) || std::isinf(wanted)) {
    EXPECT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted) << what << ": " << found << " " << wanted;
  } else {
    EXPECT_NEAR(found, wanted, relative * std::max(1.0, std::abs(wanted))) << what;
  }
}

// Every operation of gemm_operators.inl, one element at a time.
template <class T>
void check(std::vector<T> (*apply)(T, T, T), const std::vector<T>& drawn) {
  const double eps = sizeof(T) == 4 ? 1e-6 : 1e-14;
  for (const T x : drawn) {
    for (const T y : drawn) {
      const T c = T(0.75);
      const std::vector<T> found = apply(x, y, c);
      const double sigmoid = 1 / (1 + std::exp(-double(x)));
      const double u = 0.7978845608028654 * (double(x) + 0.044715 * double(x) * double(x) * double(x));
      const std::vector<double> wanted{double(x + y),
                                       double(x - y),
                                       double(x * y),
                                       double(x / y),
                                       double(x * c),
                                       double(c - x),
                                       double(-x),
                                       double(x + c),
                                       double(x - y),
                                       double(x * y),
                                       double(x / c),
                                       double(x * y + c),
                                       double(std::abs(x)),
                                       std::sqrt(double(std::abs(x))),
                                       std::exp(double(x)),
                                       std::log(double(x)),
                                       std::tanh(double(x)),
                                       double(std::max(x, y)),
                                       double(std::min(x, c)),
                                       x > y ? double(x) : double(c),
                                       sigmoid,
                                       double(x) * sigmoid,
                                       0.5 * double(x) * (1 + std::tanh(u))};
      ASSERT_EQ(found.size(), 3 * wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        same(double(found[3 * i]), wanted[i], 8 * eps, std::to_string(i).c_str());
        same(found[3 * i + 1], found[3 * i], 0, std::to_string(i).c_str());
        same(found[3 * i + 2], found[3 * i], 0, std::to_string(i).c_str());
      }
    }
  }
}

template <class T>
std::vector<T> numbers() {
  std::vector<T> drawn{0, 1, T(-2.5), T(0.3), 7, T(-30), T(1e-3)};
  for (const T x : noise<T>(8)) drawn.push_back(x);
  return drawn;
}

TEST(operators, on_plain_lanes_and_on_vectors) {
  check<float>(&apply_operators<Lanes<float>>, numbers<float>());
  check<double>(&apply_operators<Lanes<double>>, numbers<double>());
  check<float>(&vectors::apply_operators<vectors::Lanes<float>>, numbers<float>());
  check<double>(&vectors::apply_operators<vectors::Lanes<double>>, numbers<double>());
}

TEST(operators, logarithm_and_tanh_at_their_ends) {
  const auto ends = []<class V>(V) {
    using T = typename V::Number;
    for (const double x : {0.0, -1.0, kInfinity, -kInfinity, kNan, 1e30, -1e30, 1e-30}) {
      same(double(log(V(x)).first()), std::log(double(T(x))), 1e-6, "log");
      same(double(tanh(V(x)).first()), std::tanh(x), 1e-6, "tanh");
    }
  };
  ends(Lanes<float>(0)), ends(Lanes<double>(0)), ends(vectors::Lanes<float>(0)), ends(vectors::Lanes<double>(0));
}

}  // namespace
}  // namespace envoi::gemm::tests
