// Random numbers of the tests, by name.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace envoi::tests {

struct Random {
  std::mt19937_64 engine;
  explicit Random(std::uint64_t seed) : engine(seed) {}
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
  double normal() { return std::normal_distribution<double>()(engine); }
  // Weights 0/1 a sample, which are missing from x as well.
  std::vector<double> leave_out(std::vector<double>& x) {
    std::vector<double> weight;
    for (double& v : x) {
      weight.push_back(uniform(0, 1) < 0.7);
      v *= weight.back();
    }
    return weight;
  }
};

}  // namespace envoi::tests
