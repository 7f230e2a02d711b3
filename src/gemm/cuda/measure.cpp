// How long a product of a user's shape takes on the current GPU.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "envoi/cuda.hpp"
#include "gemm/cuda/check.hpp"
#include "gemm/measured.hpp"

namespace envoi::cuda {
namespace {

using gemm::DType;

class Memory {
 public:
  explicit Memory(std::size_t bytes) {
    check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "allocating memory");
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

std::size_t size_of(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

// Normal numbers: zeros need less power and so run faster than what people multiply. As many as a prime says, repeated,
// so that no two rows are the same.
class Noise {
 public:
  explicit Noise(DType dtype) : dtype_(dtype), numbers_(kCount * size_of(dtype)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<unsigned char> host(kCount * size_of(dtype));
    for (std::size_t i = 0; i < kCount; ++i) {
      const float x = normal(random);
      std::uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      if (dtype == DType::bf16) {
        const auto high = static_cast<std::uint16_t>(bits >> 16);
        std::memcpy(&host[2 * i], &high, 2);
      } else if (dtype == DType::f16) {  // the exponent moved, the mantissa cut; too small for it: 0
        const int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 15;
        const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
        const auto rest = static_cast<std::uint16_t>(exponent < 1 ? 0U : static_cast<unsigned>(exponent) << 10);
        const auto half = static_cast<std::uint16_t>(sign | rest | (exponent < 1 ? 0U : bits >> 13 & 0x3FF));
        std::memcpy(&host[2 * i], &half, 2);
      } else {
        std::memcpy(&host[4 * i], &x, 4);
      }
    }
    check(cudaMemcpy(numbers_.data(), host.data(), host.size(), cudaMemcpyHostToDevice), "copying random numbers");
  }
  void fill(const Memory& memory, std::int64_t count) const {
    const std::size_t all = static_cast<std::size_t>(count) * size_of(dtype_), piece = kCount * size_of(dtype_);
    for (std::size_t at = 0; at < all; at += piece) {
      check(cudaMemcpyAsync(static_cast<unsigned char*>(memory.data()) + at, numbers_.data(), std::min(piece, all - at),
                            cudaMemcpyDeviceToDevice, nullptr),
            "copying random numbers");
    }
  }

 private:
  static constexpr std::size_t kCount = 4194301;
  DType dtype_;
  Memory numbers_;
};

// One set of matrices and their product. Sets are taken in turn, so that none is found in the cache.
class Set {
 public:
  Set(std::int64_t m, std::int64_t n, std::int64_t k, MeasuredEnding ending, DType dtype, Fp32 fp32, const Noise& noise,
      const Noise& singles) {
    const Matrix a = filled(m, k, dtype, noise);
    Matrix b = filled(n, k, dtype, noise);  // column after column
    std::swap(b.rows, b.columns), std::swap(b.row_stride, b.column_stride);
    const auto column = [&] { return filled(m, 1, DType::f32, singles); };
    const auto result = [&](std::int64_t columns, DType type) { return room(m, columns, type); };
    switch (ending) {
      case MeasuredEnding::store:
        product_.emplace(store(a, b, result(n, dtype), fp32));
        break;
      case MeasuredEnding::bias_activation:
        product_.emplace(
            bias_activation(a, b, filled(1, n, DType::f32, singles), Activation::gelu, result(n, dtype), fp32));
        break;
      case MeasuredEnding::row_scale:
        product_.emplace(row_scale(a, b, column(), result(n, dtype), fp32));
        break;
      case MeasuredEnding::residual_squares:
        product_.emplace(
            residual_squares(a, b, filled(m, n, dtype, noise), result(n, dtype), result(1, DType::f32), fp32));
        break;
      case MeasuredEnding::swiglu:
        product_.emplace(swiglu(a, b, column(), result(n / 2, dtype), {}, fp32));
        break;
      case MeasuredEnding::geglu:
        product_.emplace(geglu(a, b, column(), result(n / 2, dtype), {}, fp32));
        break;
      case MeasuredEnding::rope: {
        const Matrix cosine = filled(m, n / 2, dtype, noise), sine = filled(m, n / 2, dtype, noise);
        product_.emplace(rope(a, b, cosine, sine, result(n, dtype), fp32));
        break;
      }
      case MeasuredEnding::cross_entropy: {
        const Memory& targets = hold(static_cast<std::size_t>(m) * sizeof(std::int64_t));
        check(cudaMemset(targets.data(), 0, static_cast<std::size_t>(m) * sizeof(std::int64_t)), "clearing targets");
        product_.emplace(cross_entropy(a, b, static_cast<const std::int64_t*>(targets.data()), result(1, DType::f32),
                                       result(1, DType::f32), fp32));
        break;
      }
      case MeasuredEnding::argmax:
        product_.emplace(argmax(a, b, Over::columns, By::value, winners(m), fp32));
        break;
      case MeasuredEnding::pair_energy:
        product_.emplace(pair_energy(a, b, 1, winners(m), fp32));
        break;
    }
    workspace_ = &hold(product_->workspace_bytes());
  }
  void run(cudaStream_t stream) const { product_->run(stream, workspace_->data(), product_->workspace_bytes()); }
  std::string describe() const { return product_->describe(); }

 private:
  const Memory& hold(std::size_t bytes) { return *memory_.emplace_back(std::make_unique<Memory>(bytes)); }
  MutableMatrix room(std::int64_t rows, std::int64_t columns, DType dtype) {
    MutableMatrix m;
    m.data = hold(static_cast<std::size_t>(rows * columns) * size_of(dtype)).data();
    m.dtype = dtype, m.rows = rows, m.columns = columns, m.row_stride = columns, m.column_stride = 1;
    return m;
  }
  Matrix filled(std::int64_t rows, std::int64_t columns, DType dtype, const Noise& noise) {
    const MutableMatrix m = room(rows, columns, dtype);
    noise.fill(*memory_.back(), rows * columns);
    return m;
  }
  Winner* winners(std::int64_t rows) {
    return static_cast<Winner*>(hold(static_cast<std::size_t>(rows) * sizeof(Winner)).data());
  }

  std::vector<std::unique_ptr<Memory>> memory_;
  std::optional<Product> product_;
  const Memory* workspace_ = nullptr;
};

class Clock {
 public:
  Clock() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreate(&start_), "making an event");
    check(cudaEventCreate(&stop_), "making an event");
  }
  ~Clock() {
    if (graph_) cudaGraphExecDestroy(graph_);
    if (start_) cudaEventDestroy(start_);
    if (stop_) cudaEventDestroy(stop_);
    cudaStreamDestroy(stream_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  template <class Call>
  double milliseconds(Call call) const {
    check(cudaEventRecord(start_, stream_), "recording an event");
    call(stream_);
    check(cudaEventRecord(stop_, stream_), "recording an event");
    check(cudaEventSynchronize(stop_), "running a product");
    float time = 0;
    check(cudaEventElapsedTime(&time, start_, stop_), "reading a time");
    return time;
  }
  // What the call puts into the stream, as one graph: the host's time for it is not measured then.
  template <class Call>
  void record(Call call) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording a graph");
    try {
      call(stream_);
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream_, &graph), "recording a graph");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "making a graph");
  }
  double replay() const {
    return milliseconds([&](cudaStream_t stream) { check(cudaGraphLaunch(graph_, stream), "starting a graph"); });
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

// TFLOP/s of the tensor cores, dense, as the maker states them for 132 multiprocessors.
double peak_of(const Device& device, MeasuredType type) {
  const double peak = type == MeasuredType::tf32 ? 495 : type == MeasuredType::fp32 ? 495 / 3.0 : 989;
  return peak * device.multiprocessors / 132;
}

}  // namespace

Measured measure(std::int64_t m, std::int64_t n, std::int64_t k, MeasuredEnding ending, MeasuredType type) {
  check_measured(m, n, k, ending);
  const std::string why = why_no_device();
  if (!why.empty()) throw Error(ErrorKind::no_device, why);
  int index = 0;
  check(cudaGetDevice(&index), "asking for the current GPU");
  const std::vector<Device> all = devices();
  const auto device = std::find_if(all.begin(), all.end(), [&](const Device& d) { return d.index == index; });
  if (device == all.end()) throw Error(ErrorKind::no_device, "the current GPU tells nothing about itself");

  const DType dtype = type == MeasuredType::bf16 ? DType::bf16 : type == MeasuredType::fp16 ? DType::f16 : DType::f32;
  const Fp32 fp32 = type == MeasuredType::tf32 ? Fp32::tf32 : Fp32::exact;
  const double bytes = static_cast<double>(m * k + n * k) * static_cast<double>(size_of(dtype));
  const int sets = std::clamp(static_cast<int>(std::min(512e6 / bytes, 100.0)), 2, 16);
  const Noise noise(dtype), singles(DType::f32);
  std::vector<std::unique_ptr<Set>> work;
  for (int i = 0; i < sets; ++i) {
    work.push_back(std::make_unique<Set>(m, n, k, ending, dtype, fp32, noise, singles));
  }
  check(cudaDeviceSynchronize(), "filling matrices");

  Clock clock;
  double quickest = 1e9;
  for (int i = 0; i < sets + 3; ++i) {
    const Set& set = *work[static_cast<std::size_t>(i % sets)];
    quickest = std::min(quickest, clock.milliseconds([&](cudaStream_t stream) { set.run(stream); }));
  }
  const int calls = (std::clamp(static_cast<int>(2 / std::max(quickest, 1e-3)), 1, 200) + sets - 1) / sets * sets;
  clock.record([&](cudaStream_t stream) {
    for (int i = 0; i < calls; ++i) work[static_cast<std::size_t>(i % sets)]->run(stream);
  });
  for (double warm = 0; warm < 100;) warm += std::max(clock.replay(), 0.01);
  std::vector<double> times(20);
  for (double& time : times) time = clock.replay() / calls;
  std::sort(times.begin(), times.end());

  Measured measured;
  measured.device = device->name;
  measured.ms = (times[9] + times[10]) / 2;
  measured.tflops = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / measured.ms;
  measured.share_of_peak = measured.tflops / peak_of(*device, type);
  measured.kernel = work.front()->describe();
  return measured;
}

}  // namespace envoi::cuda
