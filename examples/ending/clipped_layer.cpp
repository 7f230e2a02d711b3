// Runs the ending of clipped_layer.inl over a product and compares it with plain loops.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <envoi/ending.hpp>
#include <vector>

namespace mine {
using namespace envoi::gemm;
#include "clipped_layer.inl"
}  // namespace mine

int main() {
  using namespace mine;
  const int rows = 100, depth = 64, columns = 37;
  std::vector<float> a(rows * depth), b(depth * columns), bias(columns), layer(rows * columns), excess(rows);
  for (int i = 0; i < rows * depth; ++i) a[i] = std::sin(0.7f * static_cast<float>(i));
  for (int i = 0; i < depth * columns; ++i) b[i] = std::cos(1.3f * static_cast<float>(i));
  for (int n = 0; n < columns; ++n) bias[n] = 0.1f * static_cast<float>(n % 5);
  const float limit = 1.5f;
  std::vector<Winner> largest(rows);

  run_ending(Matrix(a.data(), rows, depth), Matrix(b.data(), depth, columns), ClippedLayer{},
             {.bias = Matrix(bias.data(), 1, columns), .limit = Matrix(&limit, 1, 1)},
             {.layer = MutableMatrix(layer.data(), rows, columns),
              .excess = MutableMatrix(excess.data(), rows, 1),
              .largest = largest});

  double worst = 0;
  for (int m = 0; m < rows; ++m) {
    double above = 0, best = -1e30;
    for (int n = 0; n < columns; ++n) {
      double x = bias[n];
      for (int k = 0; k < depth; ++k) x += static_cast<double>(a[m * depth + k]) * b[k * columns + n];
      worst = std::max(worst, std::abs(layer[m * columns + n] - std::clamp(x, 0.0, 1.5)));
      above += std::max(x - 1.5, 0.0), best = std::max(best, x);
    }
    worst = std::max({worst, std::abs(excess[m] - above), std::abs(largest[m].value - best)});
  }
  std::printf("clipped_layer: largest difference from plain loops in double %.2g\n", worst);
  return worst < 1e-4 ? 0 : 1;
}
