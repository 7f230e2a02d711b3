// Streams, graphs, workspaces and devices.
#include <algorithm>

#include "endings.cuh"

namespace envoi::cuda::tests {
namespace {

// A product with somewhere to put its results, which are compared as bytes.
struct Job {
  std::string name;
  Product product;
  std::vector<std::shared_ptr<Buffer>> results;

  std::vector<std::vector<std::byte>> bytes() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& result : results) all.push_back(result->copy());
    return all;
  }
};

// Operands at places that stay the same while their numbers change.
struct Operands {
  Held a, b, residual, scale;
  Targets targets;

  Operands(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k)
      : a(hold(type_of(kind), m, k)),
        b(hold(type_of(kind), k, n, Layout::columns)),
        residual(hold(DType::bf16, m, n)),
        scale(hold(DType::f32, m, 1)),
        targets(draw_targets(m, n)) {
    fill(a), fill(residual), fill(scale);
    fill(b, Fill::normal, 1 / std::sqrt(static_cast<double>(k)));
  }
  static std::vector<std::int64_t> draw_targets(std::int64_t m, std::int64_t n) {
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(m));
    for (std::int64_t& target : chosen) target = draw(0, n - 1);
    return chosen;
  }
  void take_numbers_of(const Operands& other, cudaStream_t stream) const {
    const auto copy = [&](const Buffer& to, const Buffer& from) {
      CHECK_CUDA(cudaMemcpyAsync(to.data(), from.data(), to.size(), cudaMemcpyDeviceToDevice, stream));
    };
    copy(*a.memory, *other.a.memory), copy(*b.memory, *other.b.memory);
    copy(*residual.memory, *other.residual.memory), copy(*scale.memory, *other.scale.memory);
    copy(targets.memory(), other.targets.memory());
  }
};

std::vector<Job> jobs(const Operands& from, Kind kind) {
  const Fp32 fp32 = fp32_of(kind);
  const gemm::Matrix &a = from.a.matrix, &b = from.b.matrix;
  const std::int64_t m = a.rows, n = b.columns;
  const auto matrix = [&](DType type, std::int64_t columns) { return hold(type, m, columns); };
  std::vector<Job> all;
  const Held product = matrix(DType::bf16, n);
  all.push_back({"store", store(a, b, product.writable(), fp32), {product.memory}});
  const auto winners_of = [&](std::int64_t slots, std::int64_t k) {
    return std::make_shared<Buffer>(static_cast<std::size_t>(slots * k) * sizeof(Winner));
  };
  const auto best_columns = winners_of(m, 8), best_rows = winners_of(n, 1);
  all.push_back({"top_k",
                 top_k(a, b, Over::columns, By::magnitude, 8, reinterpret_cast<Winner*>(best_columns->data()), fp32),
                 {best_columns}});
  all.push_back({"argmax",
                 argmax(a, b, Over::rows, By::magnitude, reinterpret_cast<Winner*>(best_rows->data()), fp32),
                 {best_rows}});
  if (!offered(Ending::residual_squares, kind)) return all;
  const Held sum = matrix(DType::f32, n), squares = matrix(DType::f32, 1);
  all.push_back({"residual_squares",
                 residual_squares(a, b, from.residual.matrix, sum.writable(), squares.writable(), fp32),
                 {sum.memory, squares.memory}});
  const Held gated = matrix(DType::f16, n / 2), projected = matrix(DType::bf16, n);
  all.push_back({"swiglu",
                 swiglu(a, b, from.scale.matrix, gated.writable(), projected.writable(), fp32),
                 {gated.memory, projected.memory}});
  const Held lse = matrix(DType::f32, 1), target = matrix(DType::f32, 1);
  all.push_back({"cross_entropy",
                 cross_entropy(a, b, from.targets.data(), lse.writable(), target.writable(), fp32),
                 {lse.memory, target.memory}});
  return all;
}

class streams : public OnGpu<testing::TestWithParam<Kind>> {
 protected:
  Kind kind = GetParam();
};

// A capture also refuses allocations and waits. Depth 137: rows that the GPU's copy engine cannot read, so that the
// workspace has copies of them.
TEST_P(streams, a_graph_replays_with_changed_inputs) {
  for (const std::int64_t k : {256, 137}) {
    const Operands operands(kind, 300, 530, k);
    const Stream stream;
    for (const Job& job : jobs(operands, kind)) {
      SCOPED_TRACE(job.name);
      const Buffer workspace(job.product.workspace_bytes());
      cudaGraph_t graph = nullptr;
      CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      job.product.run(stream, workspace.data(), workspace.size());
      CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
      for (const auto& result : job.results) {
        for (const std::byte b : result->copy()) ASSERT_EQ(b, std::byte{0xFF}) << "a capture ran";
      }
      cudaGraphExec_t replay = nullptr;
      CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));
      for (int i = 0; i < 3; ++i) {
        const Operands other(kind, 300, 530, k);
        operands.take_numbers_of(other, stream);
        for (const auto& result : job.results) result->poison();
        workspace.poison();
        CHECK_CUDA(cudaGraphLaunch(replay, stream));
        stream.wait();
        const auto replayed = job.bytes();
        for (const Job& fresh : jobs(other, kind)) {
          if (fresh.name != job.name) continue;
          run(fresh.product);
          EXPECT_EQ(replayed, fresh.bytes()) << "replay " << i;
        }
        for (const auto& result : job.results) result->expect_guards("a result");
        workspace.expect_guards("the workspace");
      }
      CHECK_CUDA(cudaGraphExecDestroy(replay));
      CHECK_CUDA(cudaGraphDestroy(graph));
    }
  }
}

TEST_P(streams, two_at_once_do_not_meet) {
  const Operands first(kind, 700, 1030, 333), second(kind, 515, 2050, 417);
  const std::vector<Job> ours = jobs(first, kind), others = jobs(second, kind);
  std::vector<std::vector<std::vector<std::byte>>> wanted;
  for (const auto* side : {&ours, &others}) {
    for (const Job& job : *side) {
      run(job.product);
      wanted.push_back(job.bytes());
      for (const auto& result : job.results) result->poison();
    }
  }
  const Stream both[2];
  std::vector<std::unique_ptr<Buffer>> workspaces;
  for (const auto* side : {&ours, &others}) {
    for (const Job& job : *side) workspaces.push_back(std::make_unique<Buffer>(job.product.workspace_bytes()));
  }
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ours[i].product.run(both[0], workspaces[i]->data(), workspaces[i]->size());
      others[i].product.run(both[1], workspaces[ours.size() + i]->data(), workspaces[ours.size() + i]->size());
    }
  }
  for (const Stream& stream : both) stream.wait();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].bytes(), wanted[i]) << ours[i].name;
    EXPECT_EQ(others[i].bytes(), wanted[ours.size() + i]) << others[i].name;
  }
  for (const auto& workspace : workspaces) workspace->expect_guards("a workspace");
}

// Whatever a workspace holds, zeros or what another product left there.
TEST_P(streams, a_workspace_may_hold_anything) {
  const Operands operands(kind, 300, 530, 137);
  const std::vector<Job> all = jobs(operands, kind);
  std::size_t largest = 0;
  for (const Job& job : all) largest = std::max(largest, job.product.workspace_bytes());
  const Buffer shared(largest);
  for (const Job& job : all) {
    run(job.product);
    const auto wanted = job.bytes();
    CHECK_CUDA(cudaMemset(shared.data(), 0, shared.size()));
    for (int i = 0; i < 3; ++i) {
      for (const Job& other : all) {
        if (i > 0 && &other != &job) other.product.run(nullptr, shared.data(), shared.size());
      }
      for (const auto& result : job.results) result->poison();
      job.product.run(nullptr, shared.data(), shared.size());
      CHECK_CUDA(cudaDeviceSynchronize());
      EXPECT_EQ(job.bytes(), wanted) << job.name;
    }
  }
  shared.expect_guards("the workspace");
}

INSTANTIATE_TEST_SUITE_P(Runs, streams, testing::ValuesIn(kKinds), kind_name);

class devices_of_one_process : public GpuTest {};
TEST_F(devices_of_one_process, each_runs_what_was_made_for_it) {
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  if (count < 2) GTEST_SKIP() << "there is one GPU";
  for (int device = 0; device < count; ++device) {
    CHECK_CUDA(cudaSetDevice(device));
    if (!devices()[static_cast<std::size_t>(device)].refusal.empty()) continue;
    for (const Kind kind : kKinds) {
      for (int e = 0; e < kEndings; ++e) {
        if (offered(static_cast<Ending>(e), kind)) expect_right(static_cast<Ending>(e), prepare({kind, 130, 200, 77}));
      }
    }
  }
  // Made for the last, run on the first.
  const Prepared setup = prepare({Kind::bf16, 64, 64, 64});
  const Held c = hold(DType::f32, 64, 64);
  const Product product = store(setup.a.matrix, setup.b.matrix, c.writable());
  const Buffer workspace(product.workspace_bytes());
  CHECK_CUDA(cudaSetDevice(0));
  try {
    product.run(nullptr, workspace.data(), workspace.size());
    ADD_FAILURE() << "a product of another device ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_argument) << error.what();
  }
  CHECK_CUDA(cudaSetDevice(count - 1));
  expect_untouched(c, "product");
  CHECK_CUDA(cudaSetDevice(0));
}

}  // namespace
}  // namespace envoi::cuda::tests
