// The peer: a dictionary of real atoms of phase 0, stored, and searched by OpenBLAS's sgemv and isamax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envoi/options.hpp"

namespace bench {

bool has_openblas();
// "openblas 0.3.21 (core) sgemv+isamax, 2 threads"
std::string openblas_name(unsigned threads, const std::string& calls = "sgemv+isamax");

// c = a b, all row after row.
void openblas_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a, const float* b,
                      float* c, unsigned threads);

class StoredDictionary {
 public:
  // Time axis in whole samples; unit energy over the samples that exist, support cut at 6 durations.
  StoredDictionary(const envoi::ExplicitGrid& grid, double rate_hz, int samples);
  // Index of the atom of the largest |product|.
  std::size_t best(const std::vector<float>& signal, unsigned threads);
  // The same for signals one after the other in memory, by one sgemm and an isamax each; returns the sum of the
  // indices.
  std::size_t best_of_batch(const std::vector<float>& signals, unsigned threads);

  std::size_t atoms() const { return atoms_; }
  const float* rows() const { return rows_.data(); }  // atoms x samples

 private:
  std::size_t atoms_ = 0;
  int samples_ = 0;
  std::vector<float> rows_, scores_;
};

}  // namespace bench
