// What the questions of this bench share: memory, random numbers and times on a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "cublas.hpp"
#include "envoi/cuda.hpp"

namespace bench {

using envoi::gemm::DType;
using envoi::gemm::Matrix;
using envoi::gemm::MutableMatrix;

// Throws std::runtime_error.
void check(cudaError_t status, const char* what);
#define CHECK_CUDA(call) ::bench::check((call), #call)

class Memory {
 public:
  explicit Memory(std::size_t bytes) { CHECK_CUDA(cudaMalloc(&data_, bytes)); }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};
std::size_t used_bytes();  // of the device's memory, by all

struct Numbers {
  std::shared_ptr<Memory> memory;
  Matrix matrix;
  MutableMatrix writable() const {
    MutableMatrix m;
    static_cast<Matrix&>(m) = matrix;
    return m;
  }
};
enum class Order { rows, columns };
Numbers room(DType type, std::int64_t rows, std::int64_t columns, Order order = Order::rows);
// Normal numbers, times the scale: zeros would need less power, and so run faster, than what people multiply.
Numbers noise(DType type, std::int64_t rows, std::int64_t columns, Order order = Order::rows, double scale = 1);

// A product with its workspace.
struct Ready {
  envoi::cuda::Product product;
  std::shared_ptr<Memory> workspace;
  std::size_t bytes = 0;
  explicit Ready(const envoi::cuda::Product& made)
      : product(made), workspace(std::make_shared<Memory>(made.workspace_bytes())), bytes(made.workspace_bytes()) {}
  void run(cudaStream_t stream) const { product.run(stream, workspace->data(), bytes); }
};

// Puts its work on the set of inputs of that number into the stream.
using Work = std::function<void(cudaStream_t stream, int set)>;
// Milliseconds a call of each in turn, round after round, as graphs of enough calls to take 2 ms, over all sets.
std::vector<std::vector<double>> in_turn(const std::vector<Work>& works, int sets, int rounds = 15);

// Medians, and the median and lower quartile of theirs / ours.
Paired paired(const std::vector<double>& ours, const std::vector<double>& theirs);

// Elements against each other: the largest difference, and the root mean square of theirs.
struct Difference {
  double largest = 0, size = 0;
};
Difference difference(const Matrix& ours, const Matrix& theirs);
// A sample of rows of a result against fp64: the root mean square and the largest error, as shares of the root mean
// square of the result.
struct Error {
  double rms = 0, largest = 0;
};
Error error_of(const Matrix& a, const Matrix& b, const Matrix& c);

std::string device_name();

// gemm.cu and endings.cu; null: no cuBLAS.
const Cublas* cublas();
std::vector<Question> gemm_cuda_questions();
std::vector<Question> ending_cuda_questions();

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  std::string text() const { return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k); }
  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};
inline constexpr double kPeakTflops = 989, kPeakTf32Tflops = 495;  // of an H200, dense, as its maker states them
// For a shape and an ending of one's own choice; "store" is the bare product.
Rows shape_rows(const Shape& shape, const std::string& ending);
// Times of ours beside a peer's; without times of a peer the row has none.
Row& with_times(Row& row, const Shape& shape, double peak, const std::vector<double>& ours,
                const std::vector<double>& theirs, const std::string& peer);

}  // namespace bench
