// What this machine could do at best: multiply-adds, memory reads, and what it calls itself.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "bench.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int kChains = 12;  // independent chains, enough to hide the latency of two units
constexpr int kRounds = 20000;

// Each returns the operations it did; `sink` keeps the work alive.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) double multiply_add_avx512(float* sink) {
  __m512 chain[kChains];
  for (auto& c : chain) c = _mm512_set1_ps(*sink);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  for (int i = 0; i < kRounds; ++i) {
    for (auto& c : chain) c = _mm512_fmadd_ps(c, a, b);
  }
  for (auto& c : chain) *sink += _mm512_cvtss_f32(c);
  return 2.0 * 16 * kChains * kRounds;
}

__attribute__((target("avx2,fma"))) double multiply_add_avx2(float* sink) {
  __m256 chain[kChains];
  for (auto& c : chain) c = _mm256_set1_ps(*sink);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
  for (int i = 0; i < kRounds; ++i) {
    for (auto& c : chain) c = _mm256_fmadd_ps(c, a, b);
  }
  for (auto& c : chain) *sink += _mm256_cvtss_f32(c);
  return 2.0 * 8 * kChains * kRounds;
}
#endif

double multiply_add(float* sink) {
#if defined(__x86_64__)
  if (has_avx512()) return multiply_add_avx512(sink);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_add_avx2(sink);
  return 0;
#elif defined(__aarch64__)
  float32x4_t chain[kChains];
  for (auto& c : chain) c = vdupq_n_f32(*sink);
  const float32x4_t a = vdupq_n_f32(0.999f), b = vdupq_n_f32(1e-3f);
  for (int i = 0; i < kRounds; ++i) {
    for (auto& c : chain) c = vfmaq_f32(b, c, a);
  }
  for (auto& c : chain) *sink += vgetq_lane_f32(c, 0);
  return 2.0 * 4 * kChains * kRounds;
#else
  static_cast<void>(sink);
  return 0;
#endif
}

// run(thread) on each of `threads` threads at once, from when all are there; seconds until the last is done.
double timed(unsigned threads, const std::function<void(unsigned)>& run) {
  std::atomic<unsigned> there{0};
  const auto wait = [&] {
    for (++there; there < threads;) std::this_thread::yield();
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) {
    others.emplace_back([&, t] {
      wait();
      run(t);
    });
  }
  wait();
  const auto start = Clock::now();
  run(0);
  for (std::thread& other : others) other.join();
  return seconds_since(start);
}

}  // namespace

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
#if defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

unsigned processors() { return std::max(1u, std::thread::hardware_concurrency()); }

bool has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

double peak_gflops(unsigned threads) {
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::vector<double> operations(threads);
    const double seconds = timed(threads, [&](unsigned t) {
      float sink = 1;
      // Long enough for the system to spread the threads.
      for (const auto start = Clock::now(); seconds_since(start) < 0.1;) operations[t] += multiply_add(&sink);
      volatile float kept = sink;
      static_cast<void>(kept);
    });
    best = std::max(best, std::accumulate(operations.begin(), operations.end(), 0.0) / seconds * 1e-9);
  }
  return best;
}

double read_bandwidth_gbs(unsigned threads) {
  const std::vector<std::uint64_t> data(std::size_t{1} << 25, 1);  // 256 MiB
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::vector<std::uint64_t> sums(threads * 8);
    const double seconds = timed(threads, [&](unsigned t) {
      const std::size_t share = data.size() / threads;
      sums[t * 8] = std::accumulate(data.begin() + static_cast<std::ptrdiff_t>(t * share),
                                    data.begin() + static_cast<std::ptrdiff_t>((t + 1) * share), std::uint64_t{0});
    });
    volatile std::uint64_t kept = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    static_cast<void>(kept);
    best = std::max(best, static_cast<double>(data.size() * sizeof(std::uint64_t)) / seconds * 1e-9);
  }
  return best;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<double>(usage.ru_maxrss) / 1e6;
#else
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
#endif
}

}  // namespace bench
