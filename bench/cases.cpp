// Recordings of which something is known. They are not part of the project: a folder of them is named by ENVOI_CASES
// or lies beside the checkout, and what is absent is left out by name.
#include "bench.hpp"

#ifdef ENVOI_BENCH_IO

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "envoi/envoi.hpp"

namespace bench {
namespace {

std::filesystem::path folder() {
  if (const char* named = std::getenv("ENVOI_CASES")) return named;
  return "../shared/cases";
}

std::string format(const char* form, ...) {
  std::array<char, 200> text{};
  va_list values;
  va_start(values, form);
  std::vsnprintf(text.data(), text.size(), form, values);
  va_end(values);
  return text.data();
}

struct Recorded {
  const char* file;
  double rate_hz;  // 0: in the file
  envoi::Range band_hz;
  std::size_t atoms;
};

struct Analysed {
  envoi::Channel channel;
  envoi::Decomposition found;
};

Analysed analyse(const Recorded& recorded) {
  envoi::ReadOptions reading;
  if (recorded.rate_hz > 0) reading.rate_hz = recorded.rate_hz;
  const envoi::Recording recording = envoi::read((folder() / recorded.file).string(), reading);
  envoi::PursuitOptions options;
  options.band_hz = recorded.band_hz;
  options.stop.atoms = recorded.atoms;
  options.whole = true;
  return {recording.channels.at(0), envoi::decompose(recording.channels.at(0), options)};
}

Row spindle(const Analysed& n2, double time_s, double low_hz, double high_hz) {
  std::string seen = "none";
  double nearest = INFINITY;
  for (const envoi::Chirplet& atom : n2.found.atoms) {
    const double apart = std::abs(atom.time_s - time_s);
    if (atom.frequency_hz < low_hz || atom.frequency_hz > high_hz || apart >= nearest) continue;
    nearest = apart;
    seen = format("%.3f s, %.2f Hz", atom.time_s, atom.frequency_hz);
  }
  return Row("quality/cases", format("N2 sleep, spindle at %.2f s", time_s))
      .with("found", seen)
      .judged(format("%.0f to %.0f Hz within 0.15 s", low_hz, high_hz), nearest <= 0.15);
}

Rows spindles(const Analysed& n2) {
  const std::vector<double>& x = n2.channel.samples;
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double largest_sample = 0, largest_peak = 0;
  for (const double value : x) largest_sample = std::max(largest_sample, std::abs(value - mean));
  for (const envoi::Chirplet& atom : n2.found.atoms) largest_peak = std::max(largest_peak, atom.peak);
  return {spindle(n2, 3.68, 12, 14), spindle(n2, 13.44, 11, 13),
          Row("quality/cases", "N2 sleep, largest peak")
              .with("found", format("%.1f", largest_peak))
              .judged(format("at most the samples' %.1f", largest_sample), largest_peak <= largest_sample)};
}

Rows merger(const Analysed& gw) {
  const envoi::Chirplet first = gw.found.atoms.empty() ? envoi::Chirplet{} : gw.found.atoms[0];
  const double share = 1 - gw.found.segments.at(0).energy_left_share;
  return {Row("quality/cases", "GW150914, first atom")
              .with("found",
                    format("%.1f Hz, %+.0f Hz/s, %.4f s", first.frequency_hz, first.chirp_rate_hz_per_s, first.time_s))
              .judged("60 +- 3 Hz, 750 +- 80 Hz/s, 0.393 +- 0.004 s",
                      std::abs(first.frequency_hz - 60) <= 3 && std::abs(first.chirp_rate_hz_per_s - 750) <= 80 &&
                          std::abs(first.time_s - 0.393) <= 0.004),
          Row("quality/cases", "GW150914, energy in four")
              .with("found", format("%.1f%%", 100 * share))
              .judged(">= 80%", share >= 0.80)};
}

Rows bat(const Analysed& call) {
  const double share = 1 - call.found.segments.at(0).energy_left_share;
  double low = INFINITY, high = -INFINITY;
  for (const envoi::Chirplet& atom : call.found.atoms) {
    low = std::min(low, atom.chirp_rate_hz_per_s);
    high = std::max(high, atom.chirp_rate_hz_per_s);
  }
  return {Row("quality/cases", "bat call, energy in four")
              .with("found", format("%.1f%%", 100 * share))
              .judged(">= 86%", share >= 0.86),
          Row("quality/cases", "bat call, chirp rates")
              .with("found", format("%.1f to %.1f MHz/s", low * 1e-6, high * 1e-6))
              .judged("-25 to -8 MHz/s", low >= -25e6 && high <= -8e6)};
}

Rows cases() {
  struct Case {
    Recorded recorded;
    Rows (*judge)(const Analysed&);
  };
  const Case all[] = {{{"eeg/n2_spindles_200Hz.txt", 200, {0.5, 40}, 15}, spindles},
                      {{"chirps/gw150914_h1_whitened_16384Hz.txt", 0, {20, 500}, 4}, merger},
                      {{"chirps/bat_143kHz.txt", 1 / 7e-6, {8e3, 70e3}, 4}, bat}};
  Rows rows;
  for (const Case& one : all) {
    note(std::string("quality/cases ") + one.recorded.file);
    if (!std::filesystem::exists(folder() / one.recorded.file)) {
      rows.push_back(Row("quality/cases", one.recorded.file).with("found", "skipped: the file is not here"));
      continue;
    }
    const Rows judged = one.judge(analyse(one.recorded));
    rows.insert(rows.end(), judged.begin(), judged.end());
  }
  return rows;
}

}  // namespace

std::vector<Question> cases_questions() {
  return {{"quality/cases", "recordings of which something is known, whole file as one window", cases}};
}

}  // namespace bench

#else

namespace bench {
std::vector<Question> cases_questions() { return {}; }
}  // namespace bench

#endif
