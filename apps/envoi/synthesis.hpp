// Signals of known chirplets: what `synth` writes and `demo` analyses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envoi/decomposition.hpp"

namespace envoi::command {

// Numbers that are the same for a seed on every machine (splitmix64; normal by Box and Muller).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform();  // in (0, 1)
  double uniform(const Range& range) { return range.low + (range.high - range.low) * uniform(); }
  double normal();

 private:
  std::uint64_t state_;
};

// A made signal and, as a decomposition without trend, the truth about it. Peaks and energies of `atoms` are filled
// in; `noise` holds a value for each sample. The truth's snr_db is that of the atoms over the noise.
struct Made {
  Recording recording;
  Decomposition truth;
};
Made make_signal(std::vector<Chirplet> atoms, const std::vector<double>& noise, double rate_hz, const std::string& name,
                 const std::string& unit);

// Samples of one atom over the given stretch.
std::vector<double> samples_of(const Chirplet& atom, std::size_t samples, double rate_hz);

}  // namespace envoi::command
