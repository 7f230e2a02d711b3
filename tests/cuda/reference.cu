// The product in fp64, which every result is held against, and the comparison.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <mutex>
#include <sstream>

#include "support.cuh"

namespace envoi::cuda::tests {
namespace {

constexpr int kTile = 64, kDepth = 16, kThreads = 16;  // a block: 16 x 16 threads of 4 x 4 elements each

__device__ double element(const gemm::Matrix& m, std::int64_t row, std::int64_t column) {
  if (row >= m.rows || column >= m.columns) return 0;
  const std::int64_t at = row * m.row_stride + column * m.column_stride;
  if (m.dtype == DType::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(m.data)[at]);
  if (m.dtype == DType::f16) return __half2float(static_cast<const __half*>(m.data)[at]);
  return static_cast<const float*>(m.data)[at];
}

__global__ void __launch_bounds__(kThreads* kThreads)
    reference_kernel(gemm::Matrix a, gemm::Matrix b, double* value, float* size) {
  __shared__ double rows[kDepth][kTile], columns[kDepth][kTile];
  const int x = threadIdx.x % kThreads, y = threadIdx.x / kThreads;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kTile, first_column = std::int64_t{blockIdx.x} * kTile;
  double sum[4][4] = {}, magnitude[4][4] = {};
  for (std::int64_t k = 0; k < a.columns; k += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads * kThreads) {
      rows[i % kDepth][i / kDepth] = element(a, first_row + i / kDepth, k + i % kDepth);
      columns[i / kTile][i % kTile] = element(b, k + i / kTile, first_column + i % kTile);
    }
    __syncthreads();
    for (int d = 0; d < kDepth; ++d) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          const double left = rows[d][y + kThreads * i], right = columns[d][x + kThreads * j];
          sum[i][j] = fma(left, right, sum[i][j]);
          magnitude[i][j] = fma(fabs(left), fabs(right), magnitude[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const std::int64_t row = first_row + y + kThreads * i, column = first_column + x + kThreads * j;
      if (row >= a.rows || column >= b.columns) continue;
      value[row * b.columns + column] = sum[i][j];
      size[row * b.columns + column] = static_cast<float>(magnitude[i][j]);
    }
  }
}

}  // namespace

const char* to_string(Kind kind) {
  static constexpr const char* kNames[] = {"bf16", "f16", "f32", "tf32"};
  return kNames[static_cast<int>(kind)];
}
DType type_of(Kind kind) { return kind == Kind::bf16 ? DType::bf16 : kind == Kind::f16 ? DType::f16 : DType::f32; }

Reference reference(const gemm::Matrix& a, const gemm::Matrix& b, Kind kind) {
  Reference r;
  r.rows = a.rows, r.columns = b.columns, r.depth = a.columns;
  const auto depth = static_cast<double>(r.depth);
  r.factor = kind == Kind::f32    ? (depth + 32) * 0x1p-24
             : kind == Kind::tf32 ? (depth / 4 + 16) * 0x1p-24 + 2 * 0x1p-11 * (1 + 0x1p-11)
                                  : (depth / 4 + 16) * 0x1p-24;
  const auto count = static_cast<std::size_t>(r.rows * r.columns);
  r.value = std::shared_ptr<double[]>(new double[count]);
  r.size = std::shared_ptr<float[]>(new float[count]);
  if (count == 0) return r;
  const Buffer value(count * sizeof(double)), size(count * sizeof(float));
  const dim3 blocks(static_cast<unsigned>((r.columns + kTile - 1) / kTile),
                    static_cast<unsigned>((r.rows + kTile - 1) / kTile));
  reference_kernel<<<blocks, kThreads * kThreads>>>(a, b, reinterpret_cast<double*>(value.data()),
                                                    reinterpret_cast<float*>(size.data()));
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpy(r.value.get(), value.data(), value.size(), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(r.size.get(), size.data(), size.size(), cudaMemcpyDeviceToHost));
  return r;
}

double rounding(DType type, double value) {
  switch (type) {
    case DType::bf16:
      return std::abs(value) * 0x1p-8 + 0x1p-134;
    case DType::f16:
      return std::abs(value) * 0x1p-11 + 0x1p-25;
    default:
      return std::abs(value) * 0x1p-24 + 0x1p-150;
  }
}

void Verdict::see(std::int64_t row, std::int64_t column, double got, double want, double bound) {
  const bool right = std::isnan(want)   ? std::isnan(got)
                     : std::isinf(want) ? got == want
                                        : std::abs(got - want) <= bound;
  if (right) {
    if (std::isfinite(want) && bound > 0) share = std::max(share, std::abs(got - want) / bound);
    return;
  }
  std::ostringstream text;
  text << "(" << row << ", " << column << ") is " << got << " instead of " << want << ", off by " << got - want
       << " where " << bound << " is allowed";
  fail(text.str());
}

void Verdict::fail(const std::string& what) {
  if (wrong++ == 0) first = what;
}

void Verdict::add(const Verdict& other) {
  if (wrong == 0) first = other.first;
  wrong += other.wrong, share = std::max(share, other.share);
}

void Verdict::report(const std::string& about) const {
  EXPECT_EQ(wrong, 0) << about << ": " << wrong << " wrong, the first: " << first;
}

Verdict compare(const std::vector<float>& got, std::int64_t rows, std::int64_t columns, const Tolerance& tolerance,
                const std::function<Want(std::int64_t, std::int64_t)>& want) {
  Verdict verdict;
  std::mutex together;
  parallel(rows, [&](std::int64_t first, std::int64_t last) {
    Verdict own;
    for (std::int64_t m = first; m < last; ++m) {
      for (std::int64_t n = 0; n < columns; ++n) {
        const double x = got[static_cast<std::size_t>(m * columns + n)];
        const Want w = want(m, n);
        if (std::isinf(w.value) && tolerance.infinity_or_nan && !std::isfinite(x)) continue;
        // fp16 ends at 65504; what may round to infinity there may be infinite.
        if (tolerance.type == DType::f16 && std::abs(w.value) + w.bound >= 65504) {
          if (std::abs(w.value) - w.bound >= 65520 ? std::isinf(x) : std::abs(x) >= 65504 - w.bound * 1.001 - 32) {
            continue;
          }
        }
        own.see(m, n, x, w.value, w.bound + rounding(tolerance.type, std::abs(w.value) + w.bound));
      }
    }
    const std::lock_guard lock(together);
    verdict.add(own);
  });
  return verdict;
}

}  // namespace envoi::cuda::tests
