// envoi demo: half a minute of made EEG, analysed, what was found beside what is true.
#include <cmath>
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "results/quantity.hpp"
#include "synthesis.hpp"

namespace envoi::command {
namespace {

constexpr double kRate = 256, kSeconds = 30;
constexpr double kLeastOverlap = 0.8;  // share of a true atom's energy that one found atom must hold

struct Known {
  const char* what;
  double time_s, frequency_hz, duration_s, chirp_rate_hz_per_s, amplitude, phase_rad;
};

constexpr Known kKnown[] = {
    {"spindle", 3.70, 13.1, 0.33, -1.5, 24, 0.4},   {"chirp up", 6.40, 22.0, 0.35, 14.0, 14, -1.0},
    {"spindle", 9.20, 12.4, 0.40, -2.0, 28, 2.1},   {"chirp down", 13.10, 28.0, 0.30, -18.0, 14, 0.7},
    {"spindle", 16.80, 13.8, 0.28, -0.8, 22, -2.4}, {"alpha", 20.60, 9.5, 0.50, 1.0, 22, 1.6},
    {"spindle", 24.50, 12.8, 0.36, -1.2, 26, -0.3}, {"chirp up", 27.60, 18.0, 0.25, 25.0, 16, 2.8},
};

// Background of about 5 uV: white, and a sum of slow first-order processes an octave apart, which is near 1/f.
std::vector<double> background() {
  Random random(2026);
  std::vector<double> noise(static_cast<std::size_t>(kRate * kSeconds));
  constexpr int kOctaves = 7;
  double state[kOctaves] = {};
  for (double& x : noise) {
    x = 2.0 * random.normal();
    for (int k = 0; k < kOctaves; ++k) {
      const double keep = std::exp(-2 * 3.141592653589793 * 0.5 * std::pow(2.0, k) / kRate);
      state[k] = keep * state[k] + std::sqrt(1 - keep * keep) * random.normal();
      x += 1.6 * state[k];
    }
  }
  return noise;
}

double overlap(const Chirplet& a, const Chirplet& b, std::size_t samples) {
  const auto x = samples_of(a, samples, kRate), y = samples_of(b, samples, kRate);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t n = 0; n < samples; ++n) xx += x[n] * x[n], yy += y[n] * y[n], xy += x[n] * y[n];
  return xx > 0 && yy > 0 ? xy * std::abs(xy) / (xx * yy) : 0;
}

std::string line(const char* what, const char* which, const Chirplet& a, const std::string& remark) {
  using results::quantity;
  char text[300];
  std::snprintf(text, sizeof text, "%-11s %-6s %8.3f s %10s %9s %12s %8.1f µV%s\n", what, which, a.time_s,
                quantity(a.frequency_hz, "Hz", 4).c_str(), quantity(a.duration_s, "s", 3).c_str(),
                quantity(a.chirp_rate_hz_per_s, "Hz/s", 3).c_str(), a.peak, remark.c_str());
  return text;
}

// Found less true.
std::string errors(const Chirplet& found, const Chirplet& truth) {
  char text[300];
  std::snprintf(text, sizeof text, "%-11s %-6s %+8.3f s %+7.3f Hz %+6.0f ms %+7.2f Hz/s %+8.1f µV\n", "", "error",
                found.time_s - truth.time_s, found.frequency_hz - truth.frequency_hz,
                1e3 * (found.duration_s - truth.duration_s), found.chirp_rate_hz_per_s - truth.chirp_rate_hz_per_s,
                found.peak - truth.peak);
  return text;
}

int run_demo(const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs) core::AtomicFile::check(output);
  std::vector<Chirplet> atoms;
  for (const Known& k : kKnown) {
    Chirplet atom;
    atom.time_s = k.time_s, atom.frequency_hz = k.frequency_hz, atom.duration_s = k.duration_s;
    atom.chirp_rate_hz_per_s = k.chirp_rate_hz_per_s, atom.amplitude = k.amplitude, atom.phase_rad = k.phase_rad;
    atoms.push_back(atom);
  }
  const Made made = make_signal(atoms, background(), kRate, "demo", "uV");

  PursuitOptions options;
  options.whole = true;
  options.band_hz = Range{5, 40};
  options.durations_s = Range{0.1, 0.8};
  options.stop.atoms = std::size(kKnown) + 4;
  const Decomposition result = decompose(made.recording, options);

  std::string text = "30 s of made EEG at 256 Hz: " + std::to_string(std::size(kKnown)) +
                     " events in noise that is part white, part 1/f.\n\n";
  char heading[200];
  std::snprintf(heading, sizeof heading, "%-18s %10s %10s %9s %12s %10s\n", "", "time", "frequency", "duration",
                "chirp rate", "peak");
  text += heading;
  std::size_t found = 0;
  for (std::size_t i = 0; i < std::size(kKnown); ++i) {
    const Chirplet& truth = made.truth.atoms[i];
    const Chirplet* best = nullptr;
    double most = 0;
    for (const Chirplet& atom : result.atoms)
      if (std::abs(atom.time_s - truth.time_s) < 3)
        if (const double o = overlap(atom, truth, made.recording.channels.front().samples.size()); o > most)
          most = o, best = &atom;
    text += line(kKnown[i].what, "true", truth, "");
    if (best == nullptr || most < kLeastOverlap) {
      text += "            MISSED\n";
      continue;
    }
    ++found;
    text += line("", "found", *best, "  " + results::rounded(100 * most, 3) + " % in common") + errors(*best, truth);
  }
  text += "\n" + std::to_string(found) + " of " + std::to_string(std::size(kKnown)) + " events found among " +
          std::to_string(result.atoms.size()) + " atoms.\n";
  for (const std::string& output : outputs) {
    if (output.ends_with("json") || output.ends_with(".tsv"))
      write_result(output, result);
    else
      write_signal(output, made.recording.channels);
  }
  print(text);
  return found == std::size(kKnown) ? kDone : kFault;
}

}  // namespace

void add_demo(CLI::App& app, Run& run) {
  auto outputs = std::make_shared<std::vector<std::string>>();
  CLI::App* c = app.add_subcommand("demo", "Make a signal, analyse it, found beside true");
  c->add_option("-o,--output", *outputs,
                "repeatable; the result (.json .ndjson .tsv) or the signal (.npy .wav .txt .csv)")
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->footer("Exit status: 0 if every event is found, 1 if one is missed. Nothing is written without -o.");
  c->callback([outputs, &run] { run = [outputs] { return run_demo(*outputs); }; });
}

}  // namespace envoi::command
