// What the tests of GPU products share: poisoned device memory with guard zones, matrices in every order of elements,
// random numbers, the product in fp64 and bounds on the error of one in fp32.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "envoi/cuda.hpp"

namespace envoi::cuda::tests {

using gemm::DType;

// Throws std::runtime_error, which fails the test that runs.
void check(cudaError_t status, const char* what);
#define CHECK_CUDA(call) ::envoi::cuda::tests::check((call), #call)

// Tests that need a GPU are skipped, with the reason, where there is none.
template <class Base>
class OnGpu : public Base {
 protected:
  void SetUp() override {
    const std::string why = why_no_device();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};
using GpuTest = OnGpu<testing::Test>;

// Fresh numbers each run; ENVOI_SEED repeats one.
std::uint64_t draw_bits();
std::int64_t draw(std::int64_t low, std::int64_t high);
// From 1 to `high`, each size of number as likely.
std::int64_t draw_size(std::int64_t high);

// fn(first, last) for pieces of [0, count), on all processors.
void parallel(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& fn);

// Device memory, every byte 0xFF: NaN in every type of number. Before and after it are guard zones.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() const { return memory_ + kGuard; }
  std::size_t size() const { return size_; }
  void poison() const;
  std::vector<std::byte> copy() const;  // without the guard zones
  void expect_guards(const std::string& name) const;

 private:
  static constexpr std::size_t kGuard = 4096;  // a multiple of every alignment
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

// The order of a matrix's elements. The first of each row is what a GPU's copy engine takes, if at all.
enum class Layout {
  packed,  // row after row
  aligned_gap,
  columns,  // column after column, each at a multiple of 16 bytes
  odd_gap,
  columns_odd_gap,
  every_third,
  backwards,
  unaligned,  // the first element at an odd place
  shifts,     // rows overlap: each begins one element later
  shifts_aligned,
  equal_rows,     // a row stride of 0
  equal_columns,  // a column stride of 0
};
inline constexpr int kReadLayouts = 12, kWriteLayouts = 8;  // a result cannot overlap itself
const char* to_string(Layout layout);
Layout draw_layout(int count);

std::size_t size_of(DType type);
const char* to_string(DType type);
float number(const std::byte* at, DType type);

// A matrix on the device, of poison until it is filled.
struct Held {
  std::shared_ptr<Buffer> memory;
  gemm::Matrix matrix;
  std::size_t first = 0;  // byte of element (0, 0) in the memory

  gemm::MutableMatrix writable() const {
    gemm::MutableMatrix m;
    static_cast<gemm::Matrix&>(m) = matrix;
    return m;
  }
};
Held hold(DType type, std::int64_t rows, std::int64_t columns, Layout layout = Layout::packed);

enum class Fill { normal, integers };  // integers: -4 to 4, times a scale; their sums are exact
void fill(const Held& held, Fill kind = Fill::normal, double scale = 1);
void poke(const Held& held, std::int64_t row, std::int64_t column, float value);
Held device_matrix(DType type, std::int64_t rows, std::int64_t columns, const std::vector<float>& values);

// Elements row after row. Every byte between and around them has to be poison still.
std::vector<float> take(const Held& held, const std::string& name);
// Nothing was written at all.
void expect_untouched(const Held& held, const std::string& name);

// Columns chosen by a cross-entropy, on the device.
class Targets {
 public:
  explicit Targets(const std::vector<std::int64_t>& columns);
  const std::int64_t* data() const { return reinterpret_cast<const std::int64_t*>(memory_->data()); }
  const Buffer& memory() const { return *memory_; }

 private:
  std::unique_ptr<Buffer> memory_;
};

// Runs with a poisoned workspace of just the size that is asked for, and waits.
void run(const Product& product, cudaStream_t stream = nullptr);

// Operands of a product and how it is made of them.
enum class Kind { bf16, f16, f32, tf32 };
inline constexpr Kind kKinds[] = {Kind::bf16, Kind::f16, Kind::f32, Kind::tf32};
const char* to_string(Kind kind);
DType type_of(Kind kind);
inline Fp32 fp32_of(Kind kind) { return kind == Kind::tf32 ? Fp32::tf32 : Fp32::exact; }

// A B in fp64 of the very operands, made on the GPU by plain loops, and sum |a| |b|.
// `bound` is what a product in fp32 may be off by: the tensor cores add K products and the sum so far aligned to the
// largest and cut off at least 24 bits below it, so each product costs at most 2^-25 or so of sum |a| |b|. fp32 by
// three TF32 products has three such sums and drops parts of 2^-22; TF32 rounds each operand by 2^-11.
struct Reference {
  std::int64_t rows = 0, columns = 0, depth = 0;
  double factor = 0;
  std::shared_ptr<double[]> value;
  std::shared_ptr<float[]> size;
  double operator()(std::int64_t m, std::int64_t n) const { return value[m * columns + n]; }
  double bound(std::int64_t m, std::int64_t n) const {
    return factor * static_cast<double>(size[m * columns + n]) * (1 + 0x1p-20) + 1e-37;
  }
};
Reference reference(const gemm::Matrix& a, const gemm::Matrix& b, Kind kind);

// Half a unit in the last place of a number stored in this type.
double rounding(DType type, double value);

// What a comparison found.
struct Verdict {
  std::int64_t wrong = 0;
  std::string first;
  double share = 0;  // the largest error, as a share of its bound
  void see(std::int64_t row, std::int64_t column, double got, double want, double bound);
  void fail(const std::string& what);
  void add(const Verdict& other);
  void report(const std::string& about) const;  // a failure of the test, where something is wrong
};
struct Want {
  double value = 0, bound = 0;
};
// Of infinity fp32 by three products makes infinity or NaN.
struct Tolerance {
  DType type = DType::f32;
  bool infinity_or_nan = false;
};
// Every element beside what is wanted of it, to which the rounding of the type is added.
Verdict compare(const std::vector<float>& got, std::int64_t rows, std::int64_t columns, const Tolerance& tolerance,
                const std::function<Want(std::int64_t, std::int64_t)>& want);

// A stream, an event, a graph: destroyed at the end.
class Stream {
 public:
  Stream() { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const { CHECK_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace envoi::cuda::tests
