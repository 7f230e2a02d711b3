// Matrix products with an ending on NVIDIA GPUs of the Hopper generation, from plain C++: no CUDA header is needed, and
// a build without CUDA has the same functions, which say so when they are called.
//
// Matrices are envoi::gemm::Matrix whose data is in the memory of the current device. A function of the menu checks its
// arguments, chooses tiles and gives a Product, which can then be run as often as wanted, on any stream, also into a
// CUDA graph: running allocates nothing and waits for nothing.
//
//   auto product = envoi::cuda::store(a, b, c);
//   product.run(stream, workspace, product.workspace_bytes());
//
// A row of a result depends on that row of A and on B, not on the other rows, their number or their order, to the bit.
// Sums are fp32. An ending of one's own, compiled by one's own nvcc: envoi/cuda/ending.cuh and docs/endings.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "envoi/gemm.hpp"

namespace envoi::cuda {

using gemm::Activation;
using gemm::By;
using gemm::Matrix;
using gemm::MutableMatrix;
using gemm::Over;
using gemm::Winner;

// Whether this build has code for GPUs at all.
ENVOI_API bool built();

struct Device {
  int index = 0;  // what cudaSetDevice takes
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::string refusal;  // why this device cannot be used here; empty: it can
};
// Every device that the driver shows; none where there is no driver. Throws nothing.
ENVOI_API std::vector<Device> devices();
// Why there is no usable device ("this build has no CUDA", "no NVIDIA driver", ...); empty where there is one.
ENVOI_API std::string why_no_device();

// A cudaStream_t; null is the default stream.
using Stream = void*;

// How products of fp32 operands are made: from three products of TF32 parts, with an error like fp32's, or from one of
// operands rounded to TF32 (11 bits). Infinite operands give `exact` infinity or NaN.
enum class Fp32 { exact, tf32 };

// A product that is ready to run. Copies share it. It refers to its matrices and holds none.
class ENVOI_API Product {
 public:
  // Device memory that a run needs for itself, aligned to 256 bytes; 0 where it needs none.
  std::size_t workspace_bytes() const;
  // Puts the work into the stream and returns. Runs at the same time need workspaces of their own.
  // Throws Error: bad_argument where the workspace is too small or the current device is not the one that the product
  // was made for; no_device for what CUDA reports, out_of_memory where that is what it reports.
  void run(Stream stream = nullptr, void* workspace = nullptr, std::size_t bytes = 0) const;
  // Tile, clusters, kind of loads and stores, in words.
  std::string describe() const;

  struct Data;
  explicit Product(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

// --- The menu. Formulas as in envoi/gemm.hpp. A and B are both bf16, both fp16 or both fp32; operands and results of
// endings are fp32, bf16 or fp16 in any mixture. Any strides are taken; those that the GPU's copy engine cannot read (a
// step of rows that is not a multiple of 16 bytes, say) cost a copy into the workspace. Each function throws Error:
// bad_argument for shapes and types that do not fit, no_device where there is none that can run it.

ENVOI_API Product store(const Matrix& a, const Matrix& b, const MutableMatrix& product, Fp32 fp32 = Fp32::exact);

// layer = activation(A B + bias), the bias 1 x columns.
ENVOI_API Product bias_activation(const Matrix& a, const Matrix& b, const Matrix& bias, Activation activation,
                                  const MutableMatrix& layer, Fp32 fp32 = Fp32::exact);

// scaled = A B with row m times scale[m], the scale rows x 1.
ENVOI_API Product row_scale(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& scaled,
                            Fp32 fp32 = Fp32::exact);

// sum = A B + residual; squares[m] = the sum over row m of sum^2, rows x 1. `sum` may be the residual itself.
ENVOI_API Product residual_squares(const Matrix& a, const Matrix& b, const Matrix& residual, const MutableMatrix& sum,
                                   const MutableMatrix& squares, Fp32 fp32 = Fp32::exact);

// With p = A B, row m times scale[m], g and u its even and odd columns: gated = silu(g) u or gelu(g) u, rows x
// columns / 2. `scale` (rows x 1) may be Matrix(): 1. `projected` keeps p, rows x columns; MutableMatrix(): it is not
// kept.
ENVOI_API Product swiglu(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& gated,
                         const MutableMatrix& projected = {}, Fp32 fp32 = Fp32::exact);
ENVOI_API Product geglu(const Matrix& a, const Matrix& b, const Matrix& scale, const MutableMatrix& gated,
                        const MutableMatrix& projected = {}, Fp32 fp32 = Fp32::exact);

// Each pair of columns (x, y) of A B becomes (x cos - y sin, x sin + y cos); cosine and sine are rows x columns / 2.
ENVOI_API Product rope(const Matrix& a, const Matrix& b, const Matrix& cosine, const Matrix& sine,
                       const MutableMatrix& turned, Fp32 fp32 = Fp32::exact);

// lse[m] = log(sum over n of exp((A B)[m][n])), target[m] = (A B)[m][targets[m]]; both rows x 1. The targets are in the
// device's memory, one a row; one that is not a column gives NaN. The logits A B are never stored.
ENVOI_API Product cross_entropy(const Matrix& a, const Matrix& b, const std::int64_t* targets, const MutableMatrix& lse,
                                const MutableMatrix& target, Fp32 fp32 = Fp32::exact);

// Winners, in the device's memory: [row or column][k], best first, those without a candidate of index -1. Ties go to
// the lower index. Where a row or column has a NaN, its winners are NaN with index kNanWinner: a GPU cannot throw.
inline constexpr std::int64_t kNanWinner = -2;
ENVOI_API Product top_k(const Matrix& a, const Matrix& b, Over over, By by, std::int64_t k, Winner* winners,
                        Fp32 fp32 = Fp32::exact);
ENVOI_API Product argmax(const Matrix& a, const Matrix& b, Over over, By by, Winner* winners, Fp32 fp32 = Fp32::exact);
// Of each row the k pairs of columns (x, y) with the largest x^2 + y^2; a winner's index is its pair's.
ENVOI_API Product pair_energy(const Matrix& a, const Matrix& b, std::int64_t k, Winner* winners,
                              Fp32 fp32 = Fp32::exact);

// --- How fast a product of one's own shape is.

enum class MeasuredEnding {
  store,
  bias_activation,
  row_scale,
  residual_squares,
  swiglu,
  geglu,
  rope,
  cross_entropy,
  argmax,
  pair_energy
};
enum class MeasuredType { bf16, fp16, fp32, tf32 };  // fp32 is Fp32::exact

struct Measured {
  std::string device;
  double ms = 0;             // a run, the median of 20 samples after a warm-up, of matrices that no cache holds
  double tflops = 0;         // 2 M N K operations in that time
  double share_of_peak = 0;  // of the tensor cores' peak, dense, for the type; for fp32 a third of TF32's
  std::string kernel;        // Product::describe
};
// Makes matrices of random numbers, A with the rows and B with the columns one after the other and results of the
// operands' type, and runs the product on the current device. Throws Error: bad_argument for sizes that cannot be (1 to
// 2^24; N even where columns go in pairs), no_device, out_of_memory.
ENVOI_API Measured measure(std::int64_t m, std::int64_t n, std::int64_t k, MeasuredEnding ending, MeasuredType type);

}  // namespace envoi::cuda
