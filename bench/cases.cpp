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

const Recorded kN2 = {"eeg/n2_spindles_200Hz.txt", 200, {0.5, 40}, 15};

struct Analysed {
  envoi::Channel channel;
  envoi::Decomposition found;
};

Analysed analyse(const Recorded& recorded, std::optional<double> resample_hz = {}) {
  envoi::ReadOptions reading;
  if (recorded.rate_hz > 0) reading.rate_hz = recorded.rate_hz;
  envoi::Recording recording = envoi::read((folder() / recorded.file).string(), reading);
  envoi::Conditioning conditioning;
  conditioning.resample_hz = resample_hz;
  envoi::condition(recording, conditioning);
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

// The atom of the frequencies that is nearest to the time.
const envoi::Chirplet* nearest(const Analysed& n2, double time_s, double low_hz, double high_hz) {
  const envoi::Chirplet* best = nullptr;
  for (const envoi::Chirplet& atom : n2.found.atoms) {
    if (atom.frequency_hz < low_hz || atom.frequency_hz > high_hz) continue;
    if (!best || std::abs(atom.time_s - time_s) < std::abs(best->time_s - time_s)) best = &atom;
  }
  return best;
}

// The same two spindles at other sampling rates.
Rows spindles_at_other_rates() {
  const Analysed as_it_is = analyse(kN2);
  const envoi::Chirplet* first = nearest(as_it_is, 3.68, 12, 14);
  const envoi::Chirplet* second = nearest(as_it_is, 13.44, 11, 13);
  Rows rows;
  for (const double rate_hz : {100.0, 400.0}) {
    const Analysed other = analyse(kN2, rate_hz);
    const envoi::Chirplet* a = nearest(other, 3.68, 12, 14);
    const envoi::Chirplet* b = nearest(other, 13.44, 11, 13);
    const bool all = first && second && a && b;
    const double apart =
        all ? std::max(std::abs(a->time_s - first->time_s), std::abs(b->time_s - second->time_s)) : INFINITY;
    rows.push_back(Row("quality/cases", format("N2 sleep at %.0f Hz, both spindles' times", rate_hz))
                       .with("found", format("within %.1f ms of those at 200 Hz", apart * 1e3))
                       .judged("20 ms", apart <= 0.02));
  }
  return rows;
}

// Another program's book of the same job.
Rows book() {
  const envoi::Decomposition theirs = envoi::read_result((folder() / "books/gabors_smp.db").string());
  envoi::ReadOptions reading;
  reading.format = "f32";
  reading.rate_hz = 512;
  reading.raw_channels = 5;
  const envoi::Recording recording = envoi::read((folder() / "books/gabors_5ch_512Hz_f32.bin").string(), reading);
  envoi::PursuitOptions options;
  options.whole = options.gabor = true;
  options.band_hz = envoi::Range{0.5, 10};
  options.durations_s = envoi::Range{0.5, 2};
  options.detrend = envoi::Detrend::none;
  options.stop.atoms = 1;
  const envoi::Decomposition ours = envoi::decompose(recording, options);
  double hertz = 0, seconds = 0, scale = 0, energy = INFINITY;
  for (std::size_t c = 0; c < std::min(ours.atoms.size(), theirs.atoms.size()); ++c) {
    const envoi::Chirplet &a = ours.atoms[c], &b = theirs.atoms[c];
    hertz = std::max(hertz, std::abs(a.frequency_hz - b.frequency_hz));
    seconds = std::max(seconds, std::abs(a.time_s - b.time_s));
    scale = std::max(scale, std::abs(a.duration_s / b.duration_s - 1));
    energy = std::min(energy, a.energy / b.energy);
  }
  const bool all = ours.atoms.size() == 5 && theirs.atoms.size() == 5;
  return {Row("quality/cases", "five Gabor atoms and another program's book")
              .with("found", format("%.5f Hz, %.2f ms, %.2f%% of scale, energy at least %.6f times the book's", hertz,
                                    seconds * 1e3, scale * 100, energy))
              .judged("0.001 Hz, 5 ms, 1%, 1 - 1e-6",
                      all && hertz <= 1e-3 && seconds <= 5e-3 && scale <= 0.01 && energy >= 1 - 1e-6)};
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
  const Case all[] = {{kN2, spindles},
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
  if (std::filesystem::exists(folder() / kN2.file)) {
    for (const Row& row : spindles_at_other_rates()) rows.push_back(row);
  }
  if (std::filesystem::exists(folder() / "books/gabors_smp.db")) {
    for (const Row& row : book()) rows.push_back(row);
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
