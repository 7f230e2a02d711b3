// A radix-2 transform, for the one place that needs a whole spectrum.
#include "core/spectrum.hpp"

#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

namespace envoi::core {
namespace {

void transform(std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<std::complex<double>> root(n / 2);
  for (std::size_t k = 0; k < n / 2; ++k)
    root[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (std::size_t size = 2; size <= n; size *= 2) {
    for (std::size_t base = 0; base < n; base += size) {
      for (std::size_t k = 0; k < size / 2; ++k) {
        const std::complex<double> a = x[base + k], b = x[base + k + size / 2] * root[k * (n / size)];
        x[base + k] = a + b;
        x[base + k + size / 2] = a - b;
      }
    }
  }
}

}  // namespace

double share_in_band(std::span<const double> signal, double low, double high) {
  std::vector<std::complex<double>> x(std::bit_ceil(signal.size() * 2));
  double scale = 0;
  for (const double v : signal) scale = std::max(scale, std::abs(v));
  if (scale == 0) return 0;
  for (std::size_t n = 0; n < signal.size(); ++n) x[n] = signal[n] / scale;
  transform(x);
  double inside = 0, all = 0;
  for (std::size_t k = 0; k <= x.size() / 2; ++k) {
    const double f = static_cast<double>(k) / static_cast<double>(x.size());
    const double energy = std::norm(x[k]) * (k == 0 || k == x.size() / 2 ? 1 : 2);
    all += energy;
    if (f >= low && f <= high) inside += energy;
  }
  return inside / all;
}

}  // namespace envoi::core
