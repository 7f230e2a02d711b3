// Runs the ending of ../ending/clipped_layer.inl over a product on a GPU and compares it with the CPU engine. Exits
// with 4 where there is no GPU that can run it.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <envoi/cuda/ending.cuh>
#include <envoi/ending.hpp>
#include <stdexcept>
#include <string>
#include <vector>

// The same text, for the ports of each engine.
namespace on_gpu {
using namespace envoi::cuda;
#include "../ending/clipped_layer.inl"
}  // namespace on_gpu
namespace on_cpu {
using namespace envoi::gemm;
#include "../ending/clipped_layer.inl"
}  // namespace on_cpu

using envoi::gemm::bfloat16;
using envoi::gemm::Matrix;
using envoi::gemm::MutableMatrix;
using envoi::gemm::Winner;

namespace {

void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(status));
}

// An array in the GPU's memory.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc");
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying to the GPU");
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() const { return data_; }
  std::vector<T> copy() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "copying from the GPU");
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// Uniform in [-1, 1).
__global__ void fill_kernel(bfloat16* values, int count, std::uint32_t seed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  std::uint32_t bits = static_cast<std::uint32_t>(i) * 2654435761u ^ seed;
  for (int round = 0; round < 3; ++round) bits = (bits ^ bits >> 15) * 0x2C1B3C6Du;
  const float value = static_cast<float>(bits >> 8) * 0x1p-23f - 1;
  values[i].bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
void fill(const Array<bfloat16>& values, int count, std::uint32_t seed) {
  fill_kernel<<<(count + 255) / 256, 256>>>(values.data(), count, seed);
  check(cudaGetLastError(), "filling a matrix");
}

struct Results {
  std::vector<float> layer, excess;
  std::vector<Winner> largest;
};

constexpr int kRows = 1000, kDepth = 512, kColumns = 3000;

Results run_on_gpu(const Array<bfloat16>& a, const Array<bfloat16>& b, const std::vector<float>& bias, float limit) {
  const Array<float> device_bias(bias), device_limit(std::vector<float>{limit});
  const Array<float> layer(std::size_t{kRows} * kColumns), excess(kRows);
  const Array<Winner> largest(kRows);

  const envoi::cuda::Product product = envoi::cuda::product(
      Matrix(a.data(), kRows, kDepth), Matrix(b.data(), kDepth, kColumns), on_gpu::ClippedLayer{},
      {.bias = Matrix(device_bias.data(), 1, kColumns), .limit = Matrix(device_limit.data(), 1, 1)},
      {.layer = MutableMatrix(layer.data(), kRows, kColumns),
       .excess = MutableMatrix(excess.data(), kRows, 1),
       .largest = {largest.data(), kRows}});
  const Array<unsigned char> workspace(product.workspace_bytes());
  product.run(nullptr, workspace.data(), product.workspace_bytes());  // in the default stream
  check(cudaDeviceSynchronize(), "running the product");
  std::printf("clipped_layer_gpu: %s\n", product.describe().c_str());
  return {layer.copy(), excess.copy(), largest.copy()};
}

Results run_on_cpu(const std::vector<bfloat16>& a, const std::vector<bfloat16>& b, const std::vector<float>& bias,
                   float limit) {
  Results results{std::vector<float>(std::size_t{kRows} * kColumns), std::vector<float>(kRows),
                  std::vector<Winner>(kRows)};
  run_ending(Matrix(a.data(), kRows, kDepth), Matrix(b.data(), kDepth, kColumns), on_cpu::ClippedLayer{},
             {.bias = Matrix(bias.data(), 1, kColumns), .limit = Matrix(&limit, 1, 1)},
             {.layer = MutableMatrix(results.layer.data(), kRows, kColumns),
              .excess = MutableMatrix(results.excess.data(), kRows, 1),
              .largest = results.largest});
  return results;
}

// Relative to numbers above 1. NaN counts as infinitely far.
double difference(double x, double y) {
  const double d = std::abs(x - y) / std::max(1.0, std::abs(y));
  return d >= 0 ? d : INFINITY;
}

int compare() {
  const Array<bfloat16> a(std::size_t{kRows} * kDepth), b(std::size_t{kDepth} * kColumns);
  fill(a, kRows * kDepth, 1), fill(b, kDepth * kColumns, 2);
  std::vector<float> bias(kColumns);
  for (int n = 0; n < kColumns; ++n) bias[n] = 0.1f * static_cast<float>(n % 5);
  const float limit = 1.5f;

  const Results gpu = run_on_gpu(a, b, bias, limit), cpu = run_on_cpu(a.copy(), b.copy(), bias, limit);
  double worst = 0;
  for (std::size_t i = 0; i < cpu.layer.size(); ++i) worst = std::max(worst, difference(gpu.layer[i], cpu.layer[i]));
  int same = 0;
  for (int m = 0; m < kRows; ++m) {
    worst = std::max(
        {worst, difference(gpu.excess[m], cpu.excess[m]), difference(gpu.largest[m].value, cpu.largest[m].value)});
    same += gpu.largest[m].index == cpu.largest[m].index;
  }
  std::printf("clipped_layer_gpu: largest difference from the CPU engine %.2g; the same winner in %d of %d rows\n",
              worst, same, kRows);
  // Two values that differ in their last places alone may win on one engine each.
  return worst < 1e-4 && same >= kRows - 5 ? 0 : 1;
}

}  // namespace

int main() {
  if (const std::string why = envoi::cuda::why_no_device(); !why.empty()) {
    std::fprintf(stderr, "clipped_layer_gpu: nothing to run on: %s\n", why.c_str());
    return 4;
  }
  try {
    return compare();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "clipped_layer_gpu: %s\n", error.what());
    return 1;
  }
}
