// What does not fit is refused in one line before anything runs; what does not fit into memory is survived.
#include <limits>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;

template <class Call>
std::string refusal(Call call, ErrorKind kind = ErrorKind::bad_argument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    const std::string what = error.what();
    EXPECT_FALSE(what.empty());
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    return what;
  }
  return "";
}
#define EXPECT_REFUSED(words, ...)                                              \
  do {                                                                          \
    const std::string said = refusal([&] { static_cast<void>(__VA_ARGS__); });  \
    EXPECT_FALSE(said.empty()) << "not refused: " #__VA_ARGS__;                 \
    EXPECT_TRUE(said.empty() || said.find(words) != std::string::npos) << said; \
  } while (false)

// Without a GPU every function says so, and none crashes.
TEST(no_gpu, is_said) {
  EXPECT_NO_THROW(devices());
  const std::string why = why_no_device();
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  std::vector<float> numbers(100);
  const gemm::Matrix a(numbers.data(), 4, 6), b(numbers.data(), 6, 8);
  const gemm::MutableMatrix c(numbers.data() + 60, 4, 8);
  const std::string said = refusal([&] { static_cast<void>(store(a, b, c)); }, ErrorKind::no_device);
  EXPECT_FALSE(said.empty());
  for (const Device& device : devices()) EXPECT_FALSE(device.refusal.empty()) << device.name;
}

TEST_F(GpuTest, devices_say_what_they_are) {
  ASSERT_TRUE(built());
  bool usable = false;
  for (const Device& device : devices()) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_bytes, std::size_t{1} << 30);
    usable |= device.refusal.empty();
  }
  EXPECT_TRUE(usable);
}

// Arguments are looked at before a GPU is, so that these need none; what they name is never read.
class refused : public testing::Test {
 protected:
  std::vector<float> numbers = std::vector<float>(1000), out = std::vector<float>(1000, -1.0f);
  gemm::Matrix a = f32(0, 4, 6), b = f32(100, 6, 8);
  gemm::MutableMatrix c = result(0, 4, 8);
  void TearDown() override {
    for (const float x : out) ASSERT_EQ(x, -1.0f);
  }
  gemm::Matrix f32(int at, std::int64_t rows, std::int64_t columns) const {
    return {numbers.data() + at, rows, columns};
  }
  gemm::Matrix bf16(int at, std::int64_t rows, std::int64_t columns) const {
    return {reinterpret_cast<const gemm::bfloat16*>(numbers.data()) + at, rows, columns};
  }
  gemm::MutableMatrix result(int at, std::int64_t rows, std::int64_t columns) {
    return at_out(at, rows, columns, columns);
  }
  gemm::MutableMatrix at_out(int at, std::int64_t rows, std::int64_t columns, std::int64_t down,
                             std::int64_t along = 1) {
    return {out.data() + at, rows, columns, down, along};
  }
  Winner* winners() { return reinterpret_cast<Winner*>(out.data()); }
};

TEST_F(refused, shapes_that_do_not_meet) {
  const gemm::Matrix odd = f32(100, 6, 7);
  EXPECT_REFUSED("4 x 6", store(a, b.transposed(), c));
  EXPECT_REFUSED("4 x 8", store(a, b, result(0, 8, 4)));
  EXPECT_REFUSED("1 x 8", bias_activation(a, b, f32(0, 1, 7), Activation::none, c));
  EXPECT_REFUSED("1 x 8", bias_activation(a, b, f32(0, 8, 1), Activation::relu, c));
  EXPECT_REFUSED("4 x 1", row_scale(a, b, f32(0, 1, 4), c));
  EXPECT_REFUSED("4 x 1", swiglu(a, b, f32(0, 3, 1), result(0, 4, 4)));
  EXPECT_REFUSED("4 x 4", swiglu(a, b, gemm::Matrix(), result(0, 4, 8)));
  EXPECT_REFUSED("4 x 8", geglu(a, b, gemm::Matrix(), result(0, 4, 4), result(100, 4, 4)));
  EXPECT_REFUSED("4 x 8", residual_squares(a, b, f32(0, 4, 7), c, result(100, 4, 1)));
  EXPECT_REFUSED("4 x 1", residual_squares(a, b, f32(0, 4, 8), c, result(100, 1, 4)));
  EXPECT_REFUSED("4 x 4", rope(a, b, f32(0, 4, 8), f32(0, 4, 4), c));
  EXPECT_REFUSED("4 x 4", rope(a, b, f32(0, 4, 4), f32(0, 4, 8), c));
  EXPECT_REFUSED("pairs", swiglu(a, odd, gemm::Matrix(), result(0, 4, 3)));
  EXPECT_REFUSED("pairs", rope(a, odd, f32(0, 4, 3), f32(0, 4, 3), result(0, 4, 7)));
  EXPECT_REFUSED("pairs", pair_energy(a, odd, 1, winners()));
  const auto* targets = reinterpret_cast<const std::int64_t*>(numbers.data());
  EXPECT_REFUSED("4 x 1", cross_entropy(a, b, targets, result(0, 4, 2), result(100, 4, 1)));
  EXPECT_REFUSED("4 x 1", cross_entropy(a, b, targets, result(0, 4, 1), result(100, 5, 1)));
}

TEST_F(refused, sizes_and_places_that_cannot_be) {
  const auto* nothing = static_cast<const float*>(nullptr);
  auto* nowhere = static_cast<float*>(nullptr);
  EXPECT_REFUSED("-1", store(f32(0, -1, 6), b, c));
  EXPECT_REFUSED("null", store(gemm::Matrix(nothing, 4, 6), b, c));
  EXPECT_REFUSED("null", store(a, gemm::Matrix(nothing, 6, 8), c));
  EXPECT_REFUSED("null", store(a, b, gemm::MutableMatrix(nowhere, 4, 8)));
  EXPECT_REFUSED("null", bias_activation(a, b, gemm::Matrix(nothing, 1, 8), Activation::none, c));
  EXPECT_REFUSED("null", argmax(a, b, Over::columns, By::value, nullptr));
  EXPECT_REFUSED("target", cross_entropy(a, b, nullptr, result(0, 4, 1), result(100, 4, 1)));
  EXPECT_REFUSED("", store(gemm::Matrix(static_cast<const float*>(a.data), kHuge, 6, kHuge), b, c));
  EXPECT_REFUSED("", store(gemm::Matrix(static_cast<const float*>(a.data), kHuge, 6, 0), b, c));
  EXPECT_REFUSED("address space", store(gemm::Matrix(static_cast<const float*>(a.data), 4, 6, kHuge), b, c));
  EXPECT_REFUSED("at least 1", top_k(a, b, Over::rows, By::value, 0, winners()));
  EXPECT_REFUSED("at least 1", pair_energy(a, b, -3, winners()));
}

TEST_F(refused, types_that_do_not_fit) {
  const gemm::Matrix doubles(reinterpret_cast<const double*>(numbers.data()), 4, 6);
  const gemm::MutableMatrix double_result(reinterpret_cast<double*>(out.data()), 4, 8);
  gemm::Matrix half = bf16(100, 6, 8);
  half.dtype = DType::f16;
  EXPECT_REFUSED("fp64", store(doubles, b, c));
  EXPECT_REFUSED("fp64", store(a, b, double_result));
  EXPECT_REFUSED("fp64", row_scale(a, b, gemm::Matrix(reinterpret_cast<const double*>(numbers.data()), 4, 1), c));
  EXPECT_REFUSED("", store(bf16(0, 4, 6), b, c));
  EXPECT_REFUSED("", store(bf16(0, 4, 6), half, c));
  EXPECT_REFUSED("", store(a, half, c));
}

TEST_F(refused, results_that_overlap) {
  EXPECT_REFUSED("overlaps itself", store(a, b, at_out(0, 4, 8, 7)));
  EXPECT_REFUSED("overlaps itself", store(a, b, at_out(0, 4, 8, 0)));
  const gemm::Matrix out_a(static_cast<const float*>(out.data()), 4, 6);
  EXPECT_REFUSED("overlaps A", store(out_a, b, c));
  const gemm::Matrix out_b(static_cast<const float*>(out.data()), 6, 8);
  EXPECT_REFUSED("overlaps B", store(a, out_b, c));
  EXPECT_REFUSED("overlaps", residual_squares(a, b, f32(0, 4, 8), c, result(3, 4, 1)));
  const gemm::Matrix shifted(static_cast<const float*>(out.data()) + 1, 4, 8);
  EXPECT_REFUSED("overlaps", residual_squares(a, b, shifted, c, result(100, 4, 1)));
}

// What the menu has no kernel for says so; no ending of fp32 falls back to less.
TEST_F(GpuTest, what_is_not_offered_is_refused) {
  for (int e = 0; e < kEndings; ++e) {
    const auto ending = static_cast<Ending>(e);
    if (offered(ending, Kind::f32)) continue;
    const Prepared setup = prepare({Kind::f32, 20, 30, 40});
    EXPECT_REFUSED("Fp32::tf32", expect_right(ending, setup));
  }
}

TEST_F(GpuTest, a_workspace_too_small_runs_nothing) {
  int refused = 0;
  // Rows that the GPU's copy engine cannot read are copied; reductions and winners have partial results.
  const Held odd = hold(DType::bf16, 300, 77, Layout::every_third), columns = hold(DType::bf16, 77, 600);
  fill(odd), fill(columns);
  const Held lse = hold(DType::f32, 300, 1), target = hold(DType::f32, 300, 1), product = hold(DType::f32, 300, 600);
  const HeldWinners best(300, 8);
  const Targets targets(std::vector<std::int64_t>(300, 0));
  const Product products[] = {
      store(odd.matrix, columns.matrix, product.writable()),
      cross_entropy(odd.matrix, columns.matrix, targets.data(), lse.writable(), target.writable()),
      top_k(odd.matrix, columns.matrix, Over::columns, By::value, 8, best.data()),
  };
  for (const Product& p : products) {
    EXPECT_FALSE(p.describe().empty());
    const std::size_t bytes = p.workspace_bytes();
    ASSERT_GT(bytes, 0u) << p.describe();
    const Buffer workspace(bytes);
    EXPECT_REFUSED("workspace", p.run(nullptr, workspace.data(), bytes - 1));
    EXPECT_REFUSED("workspace", p.run(nullptr, workspace.data(), 0));
    EXPECT_REFUSED("workspace", p.run(nullptr, nullptr, bytes));
    EXPECT_REFUSED("workspace", p.run());
    ++refused;
    CHECK_CUDA(cudaDeviceSynchronize());
    for (const std::byte byte : workspace.copy()) ASSERT_EQ(byte, std::byte{0xFF});
  }
  EXPECT_EQ(refused, 3);
  expect_untouched(product, "product"), expect_untouched(lse, "lse"), expect_untouched(target, "target");
  for (const std::byte byte : best.memory().copy()) ASSERT_EQ(byte, std::byte{0xFF});
}

TEST_F(GpuTest, a_workspace_that_no_gpu_has_is_asked_for_and_survived) {
  // Overlapping rows with a step of three elements: 6 million rows of 16384 in 12 MB, which as a copy are 200 GB.
  const std::int64_t rows = 6'000'000, depth = 16384, columns = 64;
  const Held signal = hold(DType::bf16, 1, rows + 3 * depth);
  const Held filters = hold(DType::bf16, depth, columns, Layout::columns);
  fill(signal), fill(filters);
  const gemm::Matrix shifts(reinterpret_cast<const gemm::bfloat16*>(signal.memory->data()), rows, depth, 1, 3);
  const HeldWinners best(columns, 1);
  const Product product = argmax(shifts, filters.matrix, Over::rows, By::value, best.data());
  const std::size_t bytes = product.workspace_bytes();
  EXPECT_GE(bytes, static_cast<std::size_t>(rows * depth) * 2) << product.describe();
  const Buffer some(std::size_t{1} << 20);
  EXPECT_REFUSED("workspace", product.run(nullptr, some.data(), some.size()));
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaErrorMemoryAllocation);
  if (memory) cudaFree(memory);
  cudaGetLastError();
  for (const std::byte byte : best.memory().copy()) ASSERT_EQ(byte, std::byte{0xFF});
  for (const Kind kind : kKinds) expect_right(Ending::store, prepare({kind, 300, 300, 300}));
}

// An error that another left behind is not taken for one of ours.
TEST_F(GpuTest, an_old_error_of_another_is_none_of_ours) {
  const Prepared setup = prepare({Kind::bf16, 64, 64, 63});  // with a copy before the product
  const Held product = hold(DType::f32, 64, 64);
  const auto fail = [] {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  };
  fail();
  const Product p = store(setup.a.matrix, setup.b.matrix, product.writable());
  const Buffer workspace(p.workspace_bytes());
  fail();
  EXPECT_NO_THROW(p.run(nullptr, workspace.data(), workspace.size()));
  cudaGetLastError();
  CHECK_CUDA(cudaDeviceSynchronize());
  for (const float x : take(product, "product")) ASSERT_TRUE(std::isfinite(x));
}

TEST_F(GpuTest, the_stride_of_a_single_row_is_never_taken) {
  const Prepared setup = prepare({Kind::bf16, 1, 96, 64});
  gemm::Matrix a_row = setup.a.matrix;
  a_row.row_stride = std::numeric_limits<std::int64_t>::min();
  const Held product = hold(DType::f32, 1, 96);
  gemm::MutableMatrix to = product.writable();
  to.row_stride = std::numeric_limits<std::int64_t>::min();
  run(store(a_row, setup.b.matrix, to));
  const std::vector<float> got = take(product, "product");
  for (std::int64_t n = 0; n < 96; ++n) {
    EXPECT_NEAR(got[static_cast<std::size_t>(n)], setup.product(0, n), setup.product.bound(0, n) + 1e-6);
  }
}

}  // namespace
}  // namespace envoi::cuda::tests
