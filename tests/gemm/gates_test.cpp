// SwiGLU and GeGLU against double: with and without a row scale, what they gate kept or not.
#include "ending_cases.hpp"

namespace envoi::gemm::tests {
namespace {

template <class T>
class Gates : public Endings<T> {};
TYPED_TEST_SUITE(Gates, EndingTypes);

TYPED_TEST(Gates, swiglu_and_geglu_on_pairs) {
  using T = TypeParam;
  for (const bool gelu_gate : {false, true}) {
    const auto check = [&](bool own) {
      const Case<T> c(true);
      const bool kept = draw(0, 1), scaled = own || draw(0, 1);
      const Held<T> scale = hold<T>(c.rows, 1, draw(0, 5));
      Held<T> gated = c.empty(c.rows, c.columns / 2), projected = c.empty(c.rows, c.columns);
      const auto run_own = [&](const auto& plain, const auto& keeping) {
        if (kept) {
          run_ending(c.a.matrix, c.b.matrix, keeping, {.scale = scale.matrix},
                     {.gated = gated.writable(), .projected = projected.writable()}, c.threads);
        } else {
          run_ending(c.a.matrix, c.b.matrix, plain, {.scale = scale.matrix}, {.gated = gated.writable()}, c.threads);
        }
      };
      const auto run_library = [&](auto gate) {
        if (kept || scaled) {
          gate(c.a.matrix, c.b.matrix, scaled ? scale.matrix : Matrix(), gated.writable(),
               kept ? projected.writable() : MutableMatrix(), c.threads);
        } else {
          gate(c.a.matrix, c.b.matrix, gated.writable(), c.threads);
        }
      };
      if (own && gelu_gate) {
        run_own(GeGlu{}, GeGluKept{});
      } else if (own) {
        run_own(SwiGlu{}, SwiGluKept{});
      } else if (gelu_gate) {
        run_library([](const auto&... arguments) { geglu(arguments...); });
      } else {
        run_library([](const auto&... arguments) { swiglu(arguments...); });
      }
      const auto s = [&](std::int64_t i) { return scaled ? at<T>(scale.matrix, i, 0) : 1.0; };
      const auto p = [&](std::int64_t i, std::int64_t j) { return s(i) * c.expected(i, j); };
      const auto p_error = [&](std::int64_t i, std::int64_t j) { return std::abs(s(i)) * c.error(i, j); };
      const auto gate = [&](std::int64_t i, std::int64_t j) {
        return gelu_gate ? gelu_of(p(i, 2 * j)) : silu_of(p(i, 2 * j));
      };
      expect_near(
          gated, [&](std::int64_t i, std::int64_t j) { return gate(i, j) * p(i, 2 * j + 1); },
          [&](std::int64_t i, std::int64_t j) {
            const double e = curve_error<T>(p(i, 2 * j), p_error(i, 2 * j)), u = p(i, 2 * j + 1);
            const double f = p_error(i, 2 * j + 1);
            return e * std::abs(u) + (std::abs(gate(i, j)) + e) * f + kEps<T> * std::abs(gate(i, j) * u);
          });
      if (kept) expect_near(projected, p, p_error);
    };
    this->twice([&] { check(false); }, [&] { check(true); });
  }
}

// What is kept is the row-scaled product, to the bit; keeping it, and a scale of 1, change no bit of what is gated.
TYPED_TEST(Gates, gates_with_and_without_scale_and_kept_projection) {
  using T = TypeParam;
  const auto check = [](auto gate, const Case<T>& c) {
    const std::vector<T> scale = noise<T>(c.rows), ones(static_cast<std::size_t>(c.rows), T(1));
    const Matrix scales(scale.data(), c.rows, 1), all_ones(ones.data(), c.rows, 1);
    std::vector<T> first(static_cast<std::size_t>(c.rows * c.columns / 2)), second = first;
    std::vector<T> projected(2 * first.size()), wanted = projected;
    const auto half = [&](std::vector<T>& to) { return MutableMatrix(to.data(), c.rows, c.columns / 2); };
    const auto whole = [&](std::vector<T>& to) { return MutableMatrix(to.data(), c.rows, c.columns); };
    gate(c.a.matrix, c.b.matrix, half(first), c.threads);
    gate(c.a.matrix, c.b.matrix, all_ones, half(second));
    ASSERT_EQ(first, second);
    gate(c.a.matrix, c.b.matrix, Matrix(), half(second), whole(projected));
    store(c.a.matrix, c.b.matrix, whole(wanted));
    ASSERT_EQ(first, second);
    ASSERT_EQ(projected, wanted);
    gate(c.a.matrix, c.b.matrix, scales, half(first));
    gate(c.a.matrix, c.b.matrix, scales, half(second), whole(projected), c.threads);
    row_scale(c.a.matrix, c.b.matrix, scales, whole(wanted));
    ASSERT_EQ(first, second);
    ASSERT_EQ(projected, wanted);
  };
  for (int i = 0; i < effort(12); ++i) {
    check([](const auto&... arguments) { swiglu(arguments...); }, Case<T>(true));
    check([](const auto&... arguments) { geglu(arguments...); }, Case<T>(true));
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
