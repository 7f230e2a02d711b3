// Partial results of a product's tiles put together in a fixed order: blocks of 256 columns (or 16 rows) in eight
// sequences, and these in pairs. The order depends on the number of blocks alone.
#include <initializer_list>

#include "envoi/cuda.hpp"
#include "envoi/cuda/kernel.cuh"
#include "gemm/cuda/start.cuh"
#include "gemm/cuda/steps.hpp"

namespace envoi::cuda {
namespace {

constexpr int kSlots = 32, kSequences = 8;

struct Reduction {
  using Value = float;
  int kind;  // 0 sum, 1 largest (of magnitudes: those are partial results already)
  float start;
  __device__ Value nothing() const { return start; }
  __device__ Value join(Value a, Value b) const { return kind == 0 ? rounded_sum(a, b) : larger_of(a, b); }
  __device__ float result(Value x) const { return x; }
};
struct LogSumExp {
  using Value = float2;
  __device__ Value nothing() const { return make_float2(-INFINITY, 0); }
  __device__ Value join(Value a, Value b) const { return LseKeeper<LargeTile>::Join()(a, b); }
  __device__ float result(Value x) const { return fabsf(x.x) <= FLT_MAX ? rounded_sum(x.x, logf(x.y)) : x.x; }
};

// One row of a result; of what is one for each 64 rows of the product, the row that four blocks belong to.
template <class How>
__device__ void finish_row(const How& how, const Finish& job, std::int64_t row, std::int64_t first, std::int64_t last,
                           typename How::Value (&parts)[kSequences][kSlots]) {
  using Value = typename How::Value;
  const std::int64_t slot = static_cast<std::int64_t>(blockIdx.x) * kSlots + threadIdx.x;
  const Value* partials = static_cast<const Value*>(job.port.partials);
  Value sequence = how.nothing();
  bool any = false;
  if (slot < job.slots) {
    const std::int64_t groups = (last - first + job.joined - 1) / job.joined;
    for (std::int64_t g = threadIdx.y; g < groups; g += kSequences) {
      Value part[4];
      for (int i = 0; i < 4; ++i) {
        const std::int64_t b = first + g * job.joined + i;
        part[i] = i < job.joined && b < last ? partials[b * job.port.partial_stride + slot] : how.nothing();
      }
      Value x = part[0];
      if (job.joined > 1) x = how.join(x, part[1]);
      if (job.joined > 2) x = how.join(x, how.join(part[2], part[3]));
      sequence = any ? how.join(sequence, x) : x;
      any = true;
    }
  }
  parts[threadIdx.y][threadIdx.x] = sequence;
  __syncthreads();
  for (int half = kSequences / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) {
      parts[threadIdx.y][threadIdx.x] =
          how.join(parts[threadIdx.y][threadIdx.x], parts[threadIdx.y + half][threadIdx.x]);
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && slot < job.slots) {
    write_element(job.port, slot * job.slot_stride + row * job.port.row_stride, how.result(parts[0][threadIdx.x]));
  }
}
template <class How>
__global__ void finish_kernel(How how, Finish job, std::int64_t rows) {
  __shared__ typename How::Value parts[kSequences][kSlots];
  if (rows == 1) return finish_row(how, job, 0, 0, job.blocks, parts);
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    finish_row(how, job, row, 4 * row, 4 * row + 4, parts);
  }
}

// A winner among all blocks.
struct Found {
  float value;
  std::int64_t place;
};
template <bool magnitude>
__device__ bool better(const Found& a, const Found& b) {
  if (a.place < 0 || b.place < 0) return a.place >= 0;
  const float x = magnitude ? fabsf(a.value) : a.value, y = magnitude ? fabsf(b.value) : b.value;
  return x > y || (x == y && a.place < b.place);
}

// A warp a slot: the best k of the blocks' best, which are in order.
template <bool magnitude>
__global__ void winners_kernel(Finish job) {
  const int lane = threadIdx.x % 32;
  const std::int64_t slot = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (slot >= job.slots) return;
  const int kept = job.port.k;
  const Candidate* all = static_cast<const Candidate*>(job.port.partials);
  Winner* to = static_cast<Winner*>(job.port.data) + slot * job.k;
  bool nan = false;
  for (std::int64_t b = lane; b < job.blocks; b += 32) {
    nan |= all[(b * job.port.partial_stride + slot) * kept].offset == -2;
  }
  nan = __any_sync(0xFFFFFFFFu, nan);
  Found last{0, -1};
  for (std::int64_t r = 0; r < job.k; ++r) {
    Found best{0, -1};
    if (!nan && (r == 0 || last.place >= 0)) {
      for (std::int64_t b = lane; b < job.blocks; b += 32) {
        const Candidate* list = all + (b * job.port.partial_stride + slot) * kept;
        for (int i = 0; i < kept && list[i].offset >= 0; ++i) {
          const Found one{list[i].value, b * job.block_width + list[i].offset};
          if (r > 0 && !better<magnitude>(last, one)) continue;  // taken already
          if (better<magnitude>(one, best)) best = one;
          break;
        }
      }
      for (int other = 16; other > 0; other /= 2) {
        const Found theirs{__shfl_xor_sync(0xFFFFFFFFu, best.value, other),
                           __shfl_xor_sync(0xFFFFFFFFu, best.place, other)};
        if (better<magnitude>(theirs, best)) best = theirs;
      }
    }
    if (lane == 0) {
      Winner winner;
      winner.value = nan ? NAN : best.place < 0 ? 0 : best.value;
      winner.index = nan ? kNanWinner : best.place;
      to[r] = winner;
    }
    last = best;
  }
}

// Nothing to choose from.
__global__ void nan_kernel(Finish job) {
  const std::int64_t slot = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (slot < job.slots) write_element(job.port, slot * job.slot_stride, NAN);
}

template <class How>
cudaError_t launch(const How& how, const Finish& job, std::int64_t rows, cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  constexpr std::int64_t kMostDown = 65535;  // of a grid
  const dim3 grid(static_cast<unsigned>((job.slots + kSlots - 1) / kSlots),
                  static_cast<unsigned>(rows < kMostDown ? rows : kMostDown));
  return start(finish_kernel<How>, grid, dim3(kSlots, kSequences), stream, how, job, rows);
}

}  // namespace

cudaError_t finish(const Finish& job, cudaStream_t stream) {
  if (job.slots == 0) return cudaSuccess;
  switch (job.kind) {
    case PortKind::sum_n:
    case PortKind::sum_m:
      return launch(Reduction{0, 0}, job, 1, stream);
    case PortKind::max_n:
      return launch(Reduction{1, -INFINITY}, job, 1, stream);
    case PortKind::max_abs_n:
      return launch(Reduction{1, 0}, job, 1, stream);
    case PortKind::max_abs_m:  // k: rows of the result, one or one for each 64 rows
      return launch(Reduction{1, 0}, job, job.k, stream);
    case PortKind::select_n:
      return start(nan_kernel, dim3(static_cast<unsigned>((job.slots + 255) / 256)), dim3(256), stream, job);
    case PortKind::lse_n:
      return launch(LogSumExp{}, job, 1, stream);
    default: {
      const bool magnitude = job.kind == PortKind::argmax_abs_n || job.kind == PortKind::argmax_abs_m ||
                             job.kind == PortKind::topk_abs_n || job.kind == PortKind::topk_abs_m;
      const dim3 blocks(static_cast<unsigned>((job.slots + 7) / 8)), threads(256);
      return start(magnitude ? winners_kernel<true> : winners_kernel<false>, blocks, threads, stream, job);
    }
  }
}

cudaError_t load_finish() {
  for (const cudaError_t error : {load(finish_kernel<Reduction>), load(finish_kernel<LogSumExp>), load(nan_kernel),
                                  load(winners_kernel<false>), load(winners_kernel<true>)}) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace envoi::cuda
