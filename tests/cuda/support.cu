// Device memory that tests hold matrices in, and how it is filled and looked at.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <stdexcept>
#include <thread>

#include "support.cuh"

namespace envoi::cuda::tests {
namespace {

using gemm::Matrix;

__device__ std::uint64_t mixed(std::uint64_t x) {  // the finisher of SplitMix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A number is a function of its address, so that elements that share one agree.
__global__ void fill_kernel(Matrix m, std::uint64_t seed, bool integers, float scale) {
  const std::int64_t count = m.rows * m.columns;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const std::int64_t at = (i / m.columns) * m.row_stride + (i % m.columns) * m.column_stride;
    const std::uint64_t bits = mixed(seed ^ mixed(static_cast<std::uint64_t>(at)));
    float value = 0;
    if (integers) {
      value = scale * static_cast<float>(static_cast<int>(bits % 9) - 4);
    } else {  // Box and Muller
      const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
      const float angle = static_cast<float>(bits & 0xFFFFFF) * 0x1p-23f;
      value = scale * sqrtf(-2 * logf(u)) * cospif(angle);
    }
    void* data = const_cast<void*>(m.data);
    if (m.dtype == DType::bf16) {
      static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16_rn(value);
    } else if (m.dtype == DType::f16) {
      static_cast<__half*>(data)[at] = __float2half_rn(value);
    } else {
      static_cast<float*>(data)[at] = value;
    }
  }
}

std::mt19937_64& generator() {
  static std::mt19937_64 random = [] {
    const char* text = std::getenv("ENVOI_SEED");
    const std::uint64_t seed = text ? std::strtoull(text, nullptr, 10) : std::random_device{}();
    std::cout << "ENVOI_SEED=" << seed << "\n";
    return std::mt19937_64(seed);
  }();
  return random;
}

void put(std::byte* at, DType type, float value) {
  if (type == DType::bf16) {
    const gemm::bfloat16 narrow(value);
    std::memcpy(at, &narrow, sizeof narrow);
  } else if (type == DType::f16) {
    const gemm::float16 narrow(value);
    std::memcpy(at, &narrow, sizeof narrow);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
}

bool all_poison(const std::byte* bytes, std::size_t count) {
  return count == 0 || (bytes[0] == std::byte{0xFF} && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

std::uint64_t draw_bits() { return generator()(); }
std::int64_t draw(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator());
}
std::int64_t draw_size(std::int64_t high) {
  const double u = std::uniform_real_distribution<double>()(generator());
  return std::clamp<std::int64_t>(std::llround(std::exp(u * std::log(static_cast<double>(high)))), 1, high);
}

void parallel(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& fn) {
  const std::int64_t workers = std::max<std::int64_t>(
      1, std::min<std::int64_t>(count, std::min<std::int64_t>(std::thread::hardware_concurrency(), 32)));
  std::vector<std::thread> others;
  for (std::int64_t w = 1; w < workers; ++w) {
    others.emplace_back([&, w] { fn(count * w / workers, count * (w + 1) / workers); });
  }
  fn(0, count / workers);
  for (std::thread& other : others) other.join();
}

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  CHECK_CUDA(cudaMalloc(&memory_, bytes + 2 * kGuard));
  poison();
}
Buffer::~Buffer() { cudaFree(memory_); }

void Buffer::poison() const {
  CHECK_CUDA(cudaMemset(memory_, 0xFF, size_ + 2 * kGuard));
  CHECK_CUDA(cudaDeviceSynchronize());  // streams of the tests do not wait for the default one
}

std::vector<std::byte> Buffer::copy() const {
  std::vector<std::byte> bytes(size_);
  if (size_ > 0) CHECK_CUDA(cudaMemcpy(bytes.data(), data(), size_, cudaMemcpyDeviceToHost));
  return bytes;
}

void Buffer::expect_guards(const std::string& name) const {
  std::vector<std::byte> zone(kGuard);
  CHECK_CUDA(cudaMemcpy(zone.data(), memory_, kGuard, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(all_poison(zone.data(), kGuard)) << "something was written before " << name;
  CHECK_CUDA(cudaMemcpy(zone.data(), data() + size_, kGuard, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(all_poison(zone.data(), kGuard)) << "something was written past " << name;
}

const char* to_string(Layout layout) {
  static constexpr const char* kNames[] = {"packed",          "aligned_gap",    "columns",    "odd_gap",
                                           "columns_odd_gap", "every_third",    "backwards",  "unaligned",
                                           "shifts",          "shifts_aligned", "equal_rows", "equal_columns"};
  return kNames[static_cast<int>(layout)];
}
Layout draw_layout(int count) { return static_cast<Layout>(draw(0, count - 1)); }

std::size_t size_of(DType type) { return type == DType::f64 ? 8 : type == DType::f32 ? 4 : 2; }
const char* to_string(DType type) {
  return type == DType::f64 ? "f64" : type == DType::f32 ? "f32" : type == DType::f16 ? "f16" : "bf16";
}
float number(const std::byte* at, DType type) {
  if (type == DType::bf16) {
    gemm::bfloat16 value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<float>(value);
  }
  if (type == DType::f16) {
    gemm::float16 value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<float>(value);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Held hold(DType type, std::int64_t rows, std::int64_t columns, Layout layout) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t align = 16 / size;
  const auto rounded = [&](std::int64_t count) {
    return (std::max<std::int64_t>(count, 1) + align - 1) / align * align;
  };
  const auto odd = [](std::int64_t count) { return count + 1 + count % 2; };
  std::int64_t down = std::max<std::int64_t>(columns, 1), along = 1, lead = 0;
  switch (layout) {
    case Layout::packed:
      break;
    case Layout::aligned_gap:
      down = rounded(columns) + align;
      break;
    case Layout::columns:
      down = 1, along = rounded(rows);
      break;
    case Layout::odd_gap:
      down = odd(columns);
      break;
    case Layout::columns_odd_gap:
      down = 1, along = odd(rows);
      break;
    case Layout::every_third:
      down = 3 * columns + 2, along = 3;
      break;
    case Layout::backwards:
      down = -odd(columns), along = -1;
      break;
    case Layout::unaligned:
      down = rounded(columns), lead = 1;
      break;
    case Layout::shifts:
      down = 1, along = 1;
      break;
    case Layout::shifts_aligned:
      down = align, along = 1;
      break;
    case Layout::equal_rows:
      down = 0, along = 1;
      break;
    case Layout::equal_columns:
      down = 1, along = 0;
      break;
  }
  const bool empty = rows == 0 || columns == 0;
  const std::int64_t reach_down = empty ? 0 : (rows - 1) * down, reach_along = empty ? 0 : (columns - 1) * along;
  const std::int64_t low = std::min<std::int64_t>(reach_down, 0) + std::min<std::int64_t>(reach_along, 0);
  const std::int64_t high = std::max<std::int64_t>(reach_down, 0) + std::max<std::int64_t>(reach_along, 0);
  Held held;
  held.memory = std::make_shared<Buffer>(static_cast<std::size_t>((high - low + 1 + lead) * size));
  held.first = static_cast<std::size_t>((lead - low) * size);
  held.matrix.data = held.memory->data() + held.first;
  held.matrix.dtype = type;
  held.matrix.rows = rows, held.matrix.columns = columns;
  held.matrix.row_stride = down, held.matrix.column_stride = along;
  return held;
}

void fill(const Held& held, Fill kind, double scale) {
  const std::int64_t count = held.matrix.rows * held.matrix.columns;
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((count + 255) / 256, 4096));
  fill_kernel<<<blocks, 256>>>(held.matrix, draw_bits(), kind == Fill::integers, static_cast<float>(scale));
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

void poke(const Held& held, std::int64_t row, std::int64_t column, float value) {
  const gemm::Matrix& m = held.matrix;
  std::byte bytes[4];
  put(bytes, m.dtype, value);
  const std::int64_t at = row * m.row_stride + column * m.column_stride;
  auto* to = static_cast<std::byte*>(const_cast<void*>(m.data)) + at * static_cast<std::int64_t>(size_of(m.dtype));
  CHECK_CUDA(cudaMemcpy(to, bytes, size_of(m.dtype), cudaMemcpyHostToDevice));
}

Held device_matrix(DType type, std::int64_t rows, std::int64_t columns, const std::vector<float>& values) {
  Held held = hold(type, rows, columns);
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) put(bytes.data() + i * size_of(type), type, values[i]);
  if (!bytes.empty()) CHECK_CUDA(cudaMemcpy(held.memory->data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
  return held;
}

std::vector<float> take(const Held& held, const std::string& name) {
  held.memory->expect_guards(name);
  const gemm::Matrix& m = held.matrix;
  std::vector<std::byte> bytes = held.memory->copy();
  std::vector<float> values(static_cast<std::size_t>(m.rows * m.columns));
  const auto size = static_cast<std::int64_t>(size_of(m.dtype));
  parallel(m.rows, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        std::byte* at =
            bytes.data() + static_cast<std::int64_t>(held.first) + (i * m.row_stride + j * m.column_stride) * size;
        values[static_cast<std::size_t>(i * m.columns + j)] = number(at, m.dtype);
        std::memset(at, 0xFF, static_cast<std::size_t>(size));
      }
    }
  });
  EXPECT_TRUE(all_poison(bytes.data(), bytes.size())) << "something was written between the elements of " << name;
  return values;
}

void expect_untouched(const Held& held, const std::string& name) {
  held.memory->expect_guards(name);
  const std::vector<std::byte> bytes = held.memory->copy();
  EXPECT_TRUE(all_poison(bytes.data(), bytes.size())) << name << " was written";
}

Targets::Targets(const std::vector<std::int64_t>& columns)
    : memory_(std::make_unique<Buffer>(columns.size() * sizeof(std::int64_t))) {
  if (columns.empty()) return;
  CHECK_CUDA(cudaMemcpy(memory_->data(), columns.data(), memory_->size(), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
}

void run(const Product& product, cudaStream_t stream) {
  const Buffer workspace(product.workspace_bytes());
  product.run(stream, workspace.size() > 0 ? workspace.data() : nullptr, workspace.size());
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaGetLastError());
  workspace.expect_guards("the workspace");
}

}  // namespace envoi::cuda::tests
