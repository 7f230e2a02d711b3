// Made signals. The library's own reconstruction turns atoms into samples, so that there is one such function.
#include "synthesis.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "envoi/pursuit.hpp"
#include "envoi/results.hpp"

namespace envoi::command {
namespace {

double energy_of(const std::vector<double>& samples) {
  double sum = 0;
  for (const double x : samples) sum += x * x;
  return sum;
}

// A decomposition of one segment without trend.
Decomposition stretch(std::vector<Chirplet> atoms, std::size_t samples, double rate_hz, const std::string& name,
                      const std::string& unit) {
  Decomposition result;
  result.rate_hz = rate_hz;
  result.channels.push_back({name, unit, rate_hz, 0});
  Segment segment;
  segment.samples = samples;
  segment.atom_count = atoms.size();
  result.segments.push_back(segment);
  result.atoms = std::move(atoms);
  return result;
}

}  // namespace

double Random::uniform() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<double> samples_of(const Chirplet& atom, std::size_t samples, double rate_hz) {
  return reconstruct(stretch({atom}, samples, rate_hz, "", "")).front().samples;
}

Made make_signal(std::vector<Chirplet> atoms, const std::vector<double>& noise, double rate_hz, const std::string& name,
                 const std::string& unit) {
  std::sort(atoms.begin(), atoms.end(), [](const Chirplet& a, const Chirplet& b) { return a.time_s < b.time_s; });
  for (Chirplet& atom : atoms) {
    const std::vector<double> alone = samples_of(atom, noise.size(), rate_hz);
    for (const double x : alone) atom.peak = std::max(atom.peak, std::abs(x));
    atom.energy = energy_of(alone);
    atom.energy_share = kUndetermined;
  }
  Made made;
  made.truth = stretch(std::move(atoms), noise.size(), rate_hz, "signal", unit);
  std::vector<Channel> channels = reconstruct(made.truth);
  Channel& channel = channels.front();
  for (std::size_t n = 0; n < noise.size(); ++n) channel.samples[n] += noise[n];

  Segment& segment = made.truth.segments.front();
  segment.energy = energy_of(channel.samples);
  segment.energy_left_share = segment.energy > 0 ? energy_of(noise) / segment.energy : 0;
  segment.snr_db = segment.energy > 0 ? -10 * std::log10(segment.energy_left_share) : 0;
  segment.in_band_share = 1;
  for (Chirplet& atom : made.truth.atoms) atom.energy_left_share = segment.energy_left_share;
  made.truth.program.version = version();
  made.truth.source.name = name;
  made.truth.source.format = "synth";
  made.recording.name = name;
  made.recording.format = "memory";
  made.recording.channels.push_back(std::move(channel));
  return made;
}

}  // namespace envoi::command
