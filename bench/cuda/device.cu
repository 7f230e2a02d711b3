// Memory, random numbers, times and differences on a GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "device.cuh"

namespace bench {
namespace {

__device__ std::uint64_t mixed(std::uint64_t x) {  // the finisher of SplitMix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__device__ float get(const void* data, DType type, std::int64_t i) {
  if (type == DType::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  if (type == DType::f16) return __half2float(static_cast<const __half*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

// Box and Muller.
__global__ void noise_kernel(void* data, DType type, std::int64_t count, std::uint64_t seed, float scale) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t bits = mixed(seed ^ mixed(static_cast<std::uint64_t>(i)));
    const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
    const float value = scale * sqrtf(-2 * logf(u)) * cospif(static_cast<float>(bits & 0xFFFFFF) * 0x1p-23f);
    if (type == DType::bf16) {
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(value);
    } else if (type == DType::f16) {
      static_cast<__half*>(data)[i] = __float2half_rn(value);
    } else {
      static_cast<float*>(data)[i] = value;
    }
  }
}

constexpr int kBlocks = 512, kThreads = 256;

// Of each block: the largest difference (NaN stays) and the sum of squares of theirs.
__global__ void difference_kernel(const void* ours, const void* theirs, DType type, std::int64_t count, double* parts) {
  __shared__ double largest[kThreads], squares[kThreads];
  double worst = 0, sum = 0;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < count;
       i += std::int64_t{kBlocks} * kThreads) {
    const double x = get(ours, type, i), y = get(theirs, type, i), off = fabs(x - y);
    if (!(off <= worst)) worst = off;
    sum += y * y;
  }
  largest[threadIdx.x] = worst, squares[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 1; t < kThreads; ++t) {
      if (!(largest[t] <= worst)) worst = largest[t];
      sum += squares[t];
    }
    parts[2 * blockIdx.x] = worst, parts[2 * blockIdx.x + 1] = sum;
  }
}

constexpr int kSampledRows = 64;

// One column of each sampled row in fp64.
__global__ void sample_kernel(Matrix a, Matrix b, const std::int64_t* rows, double* value) {
  const std::int64_t n = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (n >= b.columns) return;
  const std::int64_t row = rows[blockIdx.y];
  double sum = 0;
  for (std::int64_t k = 0; k < a.columns; ++k) {
    sum = fma(static_cast<double>(get(a.data, a.dtype, row * a.row_stride + k * a.column_stride)),
              static_cast<double>(get(b.data, b.dtype, k * b.row_stride + n * b.column_stride)), sum);
  }
  value[blockIdx.y * b.columns + n] = sum;
}

std::uint64_t fresh_seed() {
  static std::mt19937_64 random{std::random_device{}()};
  return random();
}

std::size_t size_of(DType type) { return type == DType::f32 ? 4 : 2; }

// A graph of calls on one set after another.
class Graph {
 public:
  Graph(const Work& work, cudaStream_t stream, int first_set, int sets, int calls) {
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      for (int i = 0; i < calls; ++i) work(stream, (first_set + i) % sets);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      throw;
    }
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&replay_, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaGraphUpload(replay_, stream));
  }
  ~Graph() { cudaGraphExecDestroy(replay_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const { CHECK_CUDA(cudaGraphLaunch(replay_, stream)); }

 private:
  cudaGraphExec_t replay_ = nullptr;
};

class Clock {
 public:
  Clock() {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&start_));
    CHECK_CUDA(cudaEventCreate(&stop_));
  }
  ~Clock() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(start_), cudaEventDestroy(stop_), cudaStreamDestroy(stream);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  template <class Call>
  double milliseconds(Call call) {
    CHECK_CUDA(cudaEventRecord(start_, stream));
    call();
    CHECK_CUDA(cudaEventRecord(stop_, stream));
    CHECK_CUDA(cudaEventSynchronize(stop_));
    float time = 0;
    CHECK_CUDA(cudaEventElapsedTime(&time, start_, stop_));
    return time;
  }
  cudaStream_t stream = nullptr;

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

std::size_t used_bytes() {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  return total - free;
}

Numbers room(DType type, std::int64_t rows, std::int64_t columns, Order order) {
  Numbers numbers;
  numbers.memory = std::make_shared<Memory>(static_cast<std::size_t>(rows * columns) * size_of(type));
  Matrix& m = numbers.matrix;
  m.data = numbers.memory->data(), m.dtype = type, m.rows = rows, m.columns = columns;
  m.row_stride = order == Order::rows ? columns : 1, m.column_stride = order == Order::rows ? 1 : rows;
  return numbers;
}

Numbers noise(DType type, std::int64_t rows, std::int64_t columns, Order order, double scale) {
  const Numbers numbers = room(type, rows, columns, order);
  noise_kernel<<<4096, 256>>>(numbers.memory->data(), type, rows * columns, fresh_seed(), static_cast<float>(scale));
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  return numbers;
}

std::vector<std::vector<double>> in_turn(const std::vector<Work>& works, int sets, int rounds) {
  Clock clock;
  double quickest = 1e9;
  for (const Work& work : works) {
    for (int set = 0; set < sets; ++set) work(clock.stream, set);  // what is loaded and chosen at a first call
    CHECK_CUDA(cudaStreamSynchronize(clock.stream));
    for (int i = 0; i < 3; ++i) {
      quickest = std::min(quickest, clock.milliseconds([&] { work(clock.stream, i % sets); }));
    }
  }
  const int calls = std::clamp(static_cast<int>(std::ceil(2 / std::max(quickest, 1e-3))), 1, 200);
  const int starts = calls >= sets ? 1 : sets;
  std::vector<std::vector<std::unique_ptr<Graph>>> graphs(works.size());
  for (std::size_t w = 0; w < works.size(); ++w) {
    for (int set = 0; set < starts; ++set) {
      graphs[w].push_back(std::make_unique<Graph>(works[w], clock.stream, set, sets, calls));
    }
  }
  const auto round = [&](std::size_t w, int r) {
    return clock.milliseconds([&] { graphs[w][static_cast<std::size_t>(r % starts)]->launch(clock.stream); });
  };
  double warm = 0;
  for (int r = 0; r < 3 || (warm < 150 && r < 100); ++r) {
    for (std::size_t w = 0; w < works.size(); ++w) warm += round(w, r);
  }
  std::vector<std::vector<double>> times(works.size());
  for (int r = 0; r < rounds; ++r) {
    for (std::size_t w = 0; w < works.size(); ++w) times[w].push_back(round(w, r) / calls);
  }
  return times;
}

Paired paired(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
  return {quantile(ours, 0.5), quantile(theirs, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25)};
}

Difference difference(const Matrix& ours, const Matrix& theirs) {
  const std::int64_t count = ours.rows * ours.columns;
  const Memory parts(2 * kBlocks * sizeof(double));
  difference_kernel<<<kBlocks, kThreads>>>(ours.data, theirs.data, ours.dtype, count,
                                           static_cast<double*>(parts.data()));
  CHECK_CUDA(cudaGetLastError());
  std::vector<double> host(2 * kBlocks);
  CHECK_CUDA(cudaMemcpy(host.data(), parts.data(), host.size() * sizeof(double), cudaMemcpyDeviceToHost));
  Difference d;
  for (int b = 0; b < kBlocks; ++b) {
    if (!(host[2 * b] <= d.largest)) d.largest = host[2 * b];
    d.size += host[2 * b + 1];
  }
  d.size = std::sqrt(d.size / static_cast<double>(count));
  return d;
}

Error error_of(const Matrix& a, const Matrix& b, const Matrix& c) {
  std::vector<std::int64_t> rows(kSampledRows);
  std::mt19937_64 random(fresh_seed());
  for (std::int64_t& row : rows) row = std::uniform_int_distribution<std::int64_t>(0, a.rows - 1)(random);
  const auto columns = static_cast<std::size_t>(b.columns);
  const Memory held_rows(rows.size() * sizeof(std::int64_t)), held(rows.size() * columns * sizeof(double));
  CHECK_CUDA(cudaMemcpy(held_rows.data(), rows.data(), rows.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice));
  const dim3 blocks(static_cast<unsigned>((b.columns + 127) / 128), kSampledRows);
  sample_kernel<<<blocks, 128>>>(a, b, static_cast<const std::int64_t*>(held_rows.data()),
                                 static_cast<double*>(held.data()));
  CHECK_CUDA(cudaGetLastError());
  std::vector<double> want(rows.size() * columns);
  CHECK_CUDA(cudaMemcpy(want.data(), held.data(), want.size() * sizeof(double), cudaMemcpyDeviceToHost));
  double off = 0, size = 0, largest = 0;
  std::vector<float> got(columns);  // of fp32 results
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto* from = static_cast<const float*>(c.data) + rows[r] * c.row_stride;
    CHECK_CUDA(cudaMemcpy(got.data(), from, columns * sizeof(float), cudaMemcpyDeviceToHost));
    for (std::size_t n = 0; n < columns; ++n) {
      const double error = got[n] - want[r * columns + n];
      off += error * error, size += want[r * columns + n] * want[r * columns + n];
      largest = std::max(largest, std::abs(error));
    }
  }
  return {std::sqrt(off / size), largest / std::sqrt(size / static_cast<double>(want.size()))};
}

std::string device_name() {
  int device = 0;
  cudaDeviceProp properties;
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) return "";
  return properties.name;
}

}  // namespace bench
