#include "openblas.hpp"

#include "bench.hpp"

#ifdef ENVOI_BENCH_OPENBLAS

#include <cblas.h>

#include <cmath>
#include <cstring>
#include <numbers>

namespace bench {
namespace {

std::vector<double> points(const envoi::Axis& axis) {
  std::vector<double> values;
  const auto count = static_cast<int>(std::floor((axis.last - axis.first) / axis.step + 1e-9)) + 1;
  for (int i = 0; i < count; ++i) values.push_back(axis.first + i * axis.step);
  return values;
}

}  // namespace

bool has_openblas() { return true; }

std::string openblas_name(unsigned threads, const std::string& calls) {
  std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  const std::size_t begin = config.find(' ') + 1;
  return "openblas " + config.substr(begin, config.find(' ', begin) - begin) + " (" + openblas_get_corename() + ") " +
         calls + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

void openblas_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a, const float* b,
                      float* c, unsigned threads) {
  openblas_set_num_threads(static_cast<int>(threads));
  const auto m = static_cast<blasint>(rows), n = static_cast<blasint>(columns), k = static_cast<blasint>(depth);
  if (n == 1) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, 1, a, k, b, 1, 0, c, 1);
  } else {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
  }
}

StoredDictionary::StoredDictionary(const envoi::ExplicitGrid& grid, double rate_hz, int samples) : samples_(samples) {
  const std::vector<double> times = points(grid.time), frequencies = points(grid.frequency_hz),
                            durations = points(grid.ln_duration), rates = points(grid.chirp_rate_hz_per_s);
  const std::size_t prototypes = frequencies.size() * durations.size() * rates.size();
  atoms_ = prototypes * times.size();
  rows_.resize(atoms_ * static_cast<std::size_t>(samples));
  scores_.resize(atoms_);
  // Atoms that differ in time alone are shifts of one prototype.
  parallel(prototypes, [&](std::size_t p) {
    const double duration = std::exp(durations[p % durations.size()]);
    const double frequency = frequencies[p / durations.size() % frequencies.size()];
    const double rate = rates[p / durations.size() / frequencies.size()];
    std::vector<double> prototype(static_cast<std::size_t>(2 * samples + 1));  // u from -samples to samples
    for (int n = -samples; n <= samples; ++n) {
      const double u = n / rate_hz;
      if (std::abs(u) > 6 * duration) continue;
      prototype[static_cast<std::size_t>(n + samples)] =
          std::exp(-u * u / (2 * duration * duration)) *
          std::cos(2 * std::numbers::pi * (frequency * u + rate * u * u / 2));
    }
    for (std::size_t t = 0; t < times.size(); ++t) {
      const double* shifted = prototype.data() + samples - static_cast<int>(std::lround(times[t]));
      double energy = 0;
      for (int n = 0; n < samples; ++n) energy += shifted[n] * shifted[n];
      float* row = rows_.data() + (p * times.size() + t) * static_cast<std::size_t>(samples);
      for (int n = 0; n < samples; ++n) row[n] = static_cast<float>(shifted[n] / std::sqrt(energy));
    }
  });
}

std::size_t StoredDictionary::best(const std::vector<float>& signal, unsigned threads) {
  openblas_set_num_threads(static_cast<int>(threads));
  const auto atoms = static_cast<blasint>(atoms_);
  cblas_sgemv(CblasRowMajor, CblasNoTrans, atoms, samples_, 1, rows_.data(), samples_, signal.data(), 1, 0,
              scores_.data(), 1);
  return cblas_isamax(atoms, scores_.data(), 1);
}

std::size_t StoredDictionary::best_of_batch(const std::vector<float>& signals, unsigned threads) {
  openblas_set_num_threads(static_cast<int>(threads));
  const auto atoms = static_cast<blasint>(atoms_);
  const auto count = static_cast<blasint>(signals.size() / static_cast<std::size_t>(samples_));
  scores_.resize(atoms_ * static_cast<std::size_t>(count));
  // Columns of scores lie one after the other, as isamax likes them.
  cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, atoms, count, samples_, 1, rows_.data(), samples_,
              signals.data(), samples_, 0, scores_.data(), atoms);
  std::size_t sum = 0;
  for (blasint i = 0; i < count; ++i)
    sum += cblas_isamax(atoms, scores_.data() + static_cast<std::size_t>(i) * atoms_, 1);
  return sum;
}

}  // namespace bench

#else

namespace bench {
bool has_openblas() { return false; }
std::string openblas_name(unsigned, const std::string&) { return ""; }
void openblas_product(std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*, unsigned) {}
StoredDictionary::StoredDictionary(const envoi::ExplicitGrid&, double, int) {}
std::size_t StoredDictionary::best(const std::vector<float>&, unsigned) { return 0; }
std::size_t StoredDictionary::best_of_batch(const std::vector<float>&, unsigned) { return 0; }
}  // namespace bench

#endif
