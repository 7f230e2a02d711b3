// Random matrices in device memory, and whether a step's C is right: compared with step 01's, with nothing written
// beyond it.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "ladder.cuh"

namespace ladder {

// Device memory that goes away with its owner.
class Memory {
 public:
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&data_, bytes), "allocating device memory"); }
  Memory(Memory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Memory& operator=(Memory&&) = delete;
  ~Memory() { cudaFree(data_); }
  bf16* numbers() const { return static_cast<bf16*>(data_); }

 private:
  void* data_ = nullptr;
};

// Uniform in [-1, 1): splitmix64 of the place and the seed.
__global__ void fill_random(bf16* to, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = (seed << 40) + i * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    to[i] = __float2bfloat16_rn(static_cast<float>(static_cast<std::uint32_t>(x >> 40)) * 0x1p-23f - 1);
  }
}

// A, B and C of one problem. C has a margin before and after it that no kernel may touch, and one of `gap` numbers at
// the end of each row.
class Matrices {
 public:
  Matrices(int m, int n, int k, int gap, std::uint64_t seed)
      : m_(m),
        n_(n),
        k_(k),
        c_step_(n + gap),
        c_count_(std::size_t(m) * c_step_ + 2 * kMargin),
        a_(std::size_t(m) * k * sizeof(bf16)),
        b_(std::size_t(n) * k * sizeof(bf16)),
        c_(c_count_ * sizeof(bf16)) {
    fill_random<<<1024, 256>>>(a_.numbers(), std::size_t(m) * k, 2 * seed);
    fill_random<<<1024, 256>>>(b_.numbers(), std::size_t(n) * k, 2 * seed + 1);
    check(cudaGetLastError(), "filling matrices");
    poison();
  }

  Problem problem(int multiprocessors, cudaStream_t stream) const {
    return {m_, n_, k_, a_.numbers(), b_.numbers(), c_.numbers() + kMargin, c_step_, multiprocessors, stream};
  }

  // Fills C and its margins with a NaN that no sum gives.
  void poison() { check(cudaMemset(c_.numbers(), 0xFF, c_count_ * sizeof(bf16)), "poisoning C"); }

  // All of C with margins and the ends of rows, as bits.
  std::vector<std::uint16_t> download() const {
    std::vector<std::uint16_t> bits(c_count_);
    check(cudaMemcpy(bits.data(), c_.numbers(), c_count_ * sizeof(bf16), cudaMemcpyDeviceToHost), "reading C");
    return bits;
  }

  // What is wrong with `bits`; empty: nothing. The order of summation differs between steps, so a sum may be off by
  // the rounding of fp32 in k additions of numbers up to 1 and by one bf16 step.
  std::string compare(const std::vector<std::uint16_t>& bits, const std::vector<std::uint16_t>& right) const {
    const float tolerance = 0x1p-20f * static_cast<float>(k_);
    for (std::size_t i = 0; i < c_count_; ++i) {
      const std::size_t place = i - kMargin;  // wraps before C
      const bool inside = i >= kMargin && place < std::size_t(m_) * c_step_ && place % c_step_ < std::size_t(n_);
      if (inside) {
        const float x = widen(bits[i]), y = widen(right[i]);
        if (std::fabs(x - y) <= 0x1p-7f * std::fabs(y) + tolerance) continue;  // false for NaN
        return "C[" + std::to_string(place / c_step_) + "][" + std::to_string(place % c_step_) + "] is " +
               std::to_string(x) + ", not " + std::to_string(y);
      }
      if (bits[i] != 0xFFFF) return "wrote outside of C, at number " + std::to_string(std::ptrdiff_t(place));
    }
    return "";
  }

 private:
  static constexpr std::size_t kMargin = 4096;
  static float widen(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float x;
    std::memcpy(&x, &wide, sizeof(x));
    return x;
  }

  int m_, n_, k_, c_step_;
  std::size_t c_count_;
  Memory a_, b_, c_;
};

}  // namespace ladder
