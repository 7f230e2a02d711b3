// What does not fit is refused in one line that says what, before anything is written.
#include <limits>

#include "envoi/ending.hpp"
#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

// In a namespace of one's own.
struct ScaledTwice {
  template <class V>
  struct In {
    Column<V> scale;
    Row<V> again;
  };
  template <class V>
  struct Out {
    Store<V> scaled, twice;
  };
  template <class V>
  ENVOI_FN Out<V> operator()(Pair<V> acc, In<V> in) const {
    return {.scaled = acc * in.scale, .twice = acc * in.scale * in.again};
  }
};

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_argument);
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos);
    return what;
  }
  return "";
}
#define EXPECT_REFUSED(words, ...) \
  EXPECT_NE(refusal([&] { __VA_ARGS__; }).find(words), std::string::npos) << refusal([&] { __VA_ARGS__; })

class gemm_arguments : public testing::Test {
 protected:
  std::vector<float> numbers = std::vector<float>(1000, 1.0f), out = std::vector<float>(1000, -1.0f);
  std::vector<double> doubles = std::vector<double>(1000, 1.0);
  Matrix a{numbers.data(), 4, 6}, b{numbers.data(), 6, 8};
  MutableMatrix c{out.data(), 4, 8};
  void TearDown() override {
    for (const float x : out) ASSERT_EQ(x, -1.0f);
  }
};

TEST_F(gemm_arguments, shapes_that_do_not_meet) {
  EXPECT_REFUSED("A is 4 x 6 and B 8 x 6", store(a, b.transposed(), c));
  EXPECT_REFUSED("4 x 8", store(a, b, MutableMatrix(out.data(), 8, 4)));
  EXPECT_REFUSED("bias is 1 x 7", bias_activation(a, b, Matrix(numbers.data(), 1, 7), Activation::none, c));
  EXPECT_REFUSED("scale is 1 x 4", row_scale(a, b, Matrix(numbers.data(), 1, 4), c));
  EXPECT_REFUSED("residual is 4 x 7",
                 residual_squares(a, b, Matrix(numbers.data(), 4, 7), c, MutableMatrix(out.data(), 4, 1)));
  EXPECT_REFUSED("pairs", swiglu(a, Matrix(numbers.data(), 6, 7), MutableMatrix(out.data(), 4, 3)));
  const MutableMatrix gated(out.data(), 4, 4), projected(out.data() + 100, 4, 8);
  EXPECT_REFUSED("scale is 1 x 4", swiglu(a, b, Matrix(numbers.data(), 1, 4), gated));
  EXPECT_REFUSED("gated is 4 x 8", geglu(a, b, Matrix(), projected, projected));
  EXPECT_REFUSED("projected is 4 x 4", swiglu(a, b, Matrix(), gated, MutableMatrix(out.data() + 100, 4, 4)));
  EXPECT_REFUSED("pairs", pair_energy(a, Matrix(numbers.data(), 6, 7)));
}

TEST_F(gemm_arguments, sizes_and_places_that_cannot_be) {
  EXPECT_REFUSED("negative", store(Matrix(numbers.data(), -1, 6), b, c));
  EXPECT_REFUSED("null", store(Matrix(static_cast<float*>(nullptr), 4, 6), b, c));
  EXPECT_REFUSED("null", store(a, Matrix(static_cast<float*>(nullptr), 6, 8), c));
  EXPECT_REFUSED("null", store(a, b, MutableMatrix(static_cast<float*>(nullptr), 4, 8)));
  EXPECT_REFUSED("address space", store(Matrix(numbers.data(), kHuge, 6, kHuge), b, c));
  EXPECT_REFUSED("64 bits", store(Matrix(numbers.data(), kHuge, 6, 0), b, c));
  EXPECT_REFUSED("too large", store(a, Matrix(numbers.data(), 6, kHuge, 0, 0), c));
}

TEST_F(gemm_arguments, results_that_overlap) {
  EXPECT_REFUSED("overlaps itself", store(a, b, MutableMatrix(out.data(), 4, 8, 7)));
  EXPECT_REFUSED("overlaps itself", store(a, b, MutableMatrix(out.data(), 4, 8, 0)));
  EXPECT_REFUSED("overlaps A", store(Matrix(out.data(), 4, 6), b, c));
  // A view with gaps inside a result that has none.
  EXPECT_REFUSED("overlaps", rope(a, b, Matrix(out.data(), 4, 4, 8, 1), Matrix(out.data() + 4, 4, 4, 8, 1), c));
  EXPECT_REFUSED("sum overlaps residual",
                 residual_squares(a, b, Matrix(out.data() + 1, 4, 8), c, MutableMatrix(out.data() + 50, 4, 1)));
  EXPECT_REFUSED("projected overlaps gated", geglu(a, b, Matrix(), MutableMatrix(out.data(), 4, 4), c));
  EXPECT_REFUSED("squares overlaps sum",
                 residual_squares(a, b, Matrix(numbers.data(), 4, 8), c, MutableMatrix(out.data() + 3, 4, 1)));
}

TEST_F(gemm_arguments, the_stride_of_a_single_row_is_never_taken) {
  std::vector<float> row(8);
  store(Matrix(numbers.data(), 1, 6), b, MutableMatrix(row.data(), 1, 8, std::numeric_limits<std::int64_t>::min(), 1));
  EXPECT_EQ(row, std::vector<float>(8, 6.0f));
}

// An error names the argument of a function, and of an ending of one's own the number and kind of the port.
TEST_F(gemm_arguments, which_argument_it_is) {
  const auto row_scaled = [&](Matrix scale, MutableMatrix twice) {
    run_ending(a, b, ScaledTwice{}, {.scale = scale, .again = Matrix(numbers.data(), 1, 8)},
               {.scaled = c, .twice = twice});
  };
  const Matrix scale(numbers.data(), 4, 1);
  EXPECT_REFUSED("operand 1 (column) is 1 x 4; this product needs 4 x 1", row_scaled(scale.transposed(), c));
  EXPECT_REFUSED("result 2 (store) is 8 x 4; this product needs 4 x 8",
                 row_scaled(scale, MutableMatrix(out.data() + 40, 8, 4)));
  EXPECT_REFUSED("result 2 (store) overlaps result 1 (store)", row_scaled(scale, c));
  numbers[7] = std::numeric_limits<float>::quiet_NaN();
  for (const Over over : {Over::columns, Over::rows}) {
    try {
      argmax(a, b, over, By::value);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("argmax needs numbers"), std::string::npos) << error.what();
    }
  }
}

TEST_F(gemm_arguments, types_that_do_not_mix) {
  EXPECT_REFUSED("fp64", store(Matrix(doubles.data(), 4, 6), b, c));
  EXPECT_REFUSED("fp64", store(a, Matrix(doubles.data(), 6, 8), c));
}

TEST_F(gemm_arguments, groups_and_gathers_and_winners) {
  const Packed part{b};
  EXPECT_REFUSED("groups", store(a, Columns::grouped({part, part}, {1, 2}), c));
  EXPECT_REFUSED("as many", Columns::grouped({part, part}, {4}));
  EXPECT_REFUSED("rows", Columns::grouped({part, part}, {5, -1}));
  EXPECT_REFUSED("alike", Columns::grouped({part, Packed(a)}, {2, 2}));
  EXPECT_REFUSED("at least one", Columns::grouped({}, {}));
  EXPECT_REFUSED("grouped product", argmax(a, Columns::grouped({part, part}, {2, 2}), Over::rows, By::value));
  EXPECT_REFUSED("row 6 of a matrix of 6", Operand::gathered(b, std::vector<std::int64_t>{0, 6}));
  EXPECT_REFUSED("row -1", Operand::gathered(b, std::vector<std::int64_t>{-1}));
  EXPECT_REFUSED("across the depth", store(Operand::gathered(b, std::vector<std::int64_t>{0}).transposed(), b, c));
  EXPECT_REFUSED("function", Operand::synthesised(4, 6, FillRows<float>()));
  EXPECT_REFUSED("at least 1", top_k(a, b, Over::rows, By::value, 0));
  EXPECT_REFUSED("column 8 of 8", cross_entropy(a, b, std::vector<std::int64_t>{0, 1, 8, 2},
                                                MutableMatrix(out.data(), 4, 1), MutableMatrix(out.data() + 4, 4, 1)));
  EXPECT_REFUSED("target column for each",
                 cross_entropy(a, b, std::vector<std::int64_t>{0}, MutableMatrix(out.data(), 4, 1),
                               MutableMatrix(out.data() + 4, 4, 1)));
  EXPECT_REFUSED("length and hop", Operand::shifts(std::span<const float>(numbers), 0));
  EXPECT_REFUSED("1024", store(a, b, c, 5000));
}

}  // namespace
}  // namespace envoi::gemm::tests
