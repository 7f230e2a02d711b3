// envoi synth: signals with a truth table.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "numbers.hpp"
#include "outputs.hpp"
#include "synthesis.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::string rate = "256", seconds = "10", seed = "1", unit;
  std::vector<std::string> chirplets;
  std::optional<std::string> count, band, durations, chirp_rates, amplitudes, snr, sigma, truth;
  std::string output;
};

// "tc=1.2,fc=12.4,Dt=0.3,c=-2,A=20,phase=0.4"; c, A and phase may be left out.
Chirplet parse_chirplet(const std::string& text) {
  Chirplet atom;
  atom.amplitude = 1;
  struct Field {
    const char* name;
    double* value;
    bool needed;
  };
  Field fields[] = {{"tc", &atom.time_s, true},     {"fc", &atom.frequency_hz, true},
                    {"Dt", &atom.duration_s, true}, {"c", &atom.chirp_rate_hz_per_s, false},
                    {"A", &atom.amplitude, false},  {"phase", &atom.phase_rad, false}};
  const std::string form = "; write tc=S,fc=HZ,Dt=S,c=HZ/S,A=SIZE,phase=RAD";
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t equals = std::min(part.find('='), part.size());
    Field* field = std::find_if(std::begin(fields), std::end(fields),
                                [&](const Field& f) { return part.substr(0, equals) == f.name; });
    if (field == std::end(fields) || equals == part.size())
      usage_error("--chirplet: '" + one_line(part) + "' is not understood" + form);
    *field->value = parse_number(std::string_view(part).substr(equals + 1), std::string("--chirplet: ") + field->name);
    field->needed = false;
  }
  for (const Field& field : fields)
    if (field.needed) usage_error(std::string("--chirplet: ") + field.name + " is missing" + form);
  if (!(atom.duration_s > 0)) usage_error("--chirplet: Dt must be above 0");
  return atom;
}

// Chirplets whose ridge stays in the band, away from the ends of the signal.
std::vector<Chirplet> random_chirplets(const Arguments& a, std::size_t count, double rate, double seconds,
                                       Random& random) {
  const Range band = a.band ? parse_range(*a.band, "--band") : Range{0.02 * rate, 0.4 * rate};
  const Range durations =
      a.durations ? parse_range(*a.durations, "--durations") : Range{std::min(20 / rate, seconds / 20), seconds / 20};
  const Range amplitudes = a.amplitudes ? parse_range(*a.amplitudes, "--amplitudes") : Range{1, 1};
  if (!(durations.low > 0)) usage_error("--durations: both must be above 0");
  if (band.low < 0 || band.high > rate / 2) usage_error("--band: must lie between 0 and half the rate");
  std::vector<Chirplet> atoms;
  for (std::size_t tries = 0; atoms.size() < count; ++tries) {
    if (tries == 1000 * count + 10000)
      usage_error("no chirplet of these durations and chirp rates has its ridge in --band");
    Chirplet atom;
    atom.duration_s = durations.low * std::pow(durations.high / durations.low, random.uniform());
    const double steepest = 2 / (atom.duration_s * atom.duration_s);
    const Range rates = a.chirp_rates ? parse_range(*a.chirp_rates, "--chirp-rates") : Range{-steepest, steepest};
    atom.chirp_rate_hz_per_s = random.uniform(rates);
    atom.frequency_hz = random.uniform(band);
    atom.time_s = random.uniform({0.05 * seconds, 0.95 * seconds});
    atom.amplitude = random.uniform(amplitudes);
    atom.phase_rad = random.uniform({-std::numbers::pi, std::numbers::pi});
    const double sweep = std::abs(atom.chirp_rate_hz_per_s) * atom.duration_s;
    if (atom.frequency_hz - sweep >= band.low && atom.frequency_hz + sweep <= band.high) atoms.push_back(atom);
  }
  return atoms;
}

int run_synth(const Arguments& a) {
  const double rate = parse_positive(a.rate, "--rate");
  const double seconds = parse_positive(a.seconds, "--seconds");
  const double length = std::round(rate * seconds);
  if (length < 1 || length > 1e9)
    usage_error("--seconds: " + a.seconds + " s at " + a.rate + " Hz is not between 1 and 1e9 samples");
  if (a.snr && a.sigma) usage_error("--snr and --sigma both say how much noise there is; give one");
  Random random(parse_count(a.seed, "--seed"));

  std::vector<Chirplet> atoms;
  for (const std::string& text : a.chirplets) atoms.push_back(parse_chirplet(text));
  if (a.count || atoms.empty()) {
    const auto more = random_chirplets(a, a.count ? parse_count(*a.count, "--count") : 5, rate, seconds, random);
    atoms.insert(atoms.end(), more.begin(), more.end());
  }

  std::string truth = a.truth.value_or("");
  if (!a.truth && a.output != "-") truth = a.output.substr(0, a.output.rfind('.')) + ".truth.json";
  if (a.output != "-") {
    core::AtomicFile::check(a.output);
    if (truth == a.output) usage_error(truth + ": is signal and truth at once");
  }
  if (!truth.empty()) core::AtomicFile::check(truth);
  if (truth == "-" && a.output == "-") usage_error("-: signal and truth cannot both go to standard output");

  std::vector<double> noise(static_cast<std::size_t>(length), 0.0);
  const std::string name = a.output == "-" ? "signal" : a.output.substr(a.output.rfind('/') + 1);
  if (a.snr || a.sigma) {
    double sigma = a.sigma ? parse_number(*a.sigma, "--sigma") : 1;
    if (sigma < 0) usage_error("--sigma: must not be negative");
    for (double& x : noise) x = sigma * random.normal();
    if (a.snr) {
      const std::vector<double> silent(noise.size(), 0.0);
      const double clean = make_signal(atoms, silent, rate, name, a.unit).truth.segments.front().energy;
      double energy = 0;
      for (const double x : noise) energy += x * x;
      const double scale = std::sqrt(clean / energy / std::pow(10, parse_number(*a.snr, "--snr") / 10));
      for (double& x : noise) x *= scale;
    }
  }
  const Made made = make_signal(std::move(atoms), noise, rate, name, a.unit);
  write_signal(a.output, made.recording.channels);
  if (!truth.empty()) write_result(truth, made.truth);
  return kDone;
}

}  // namespace

void add_synth(CLI::App& app, Run& run) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("synth", "Signals with a truth table");
  const auto option = [c](const char* name, auto& field, const char* value, const char* help) {
    return c->add_option(name, field, help)->option_text(value);
  };
  option("-o,--output", a->output, "FILE", "the signal: .npy .wav .txt .csv .tsv, - is text")->required();
  option("--truth", a->truth, "FILE",
         "the chirplets: .json .ndjson .tsv (default: the signal's name with .truth.json)");
  option("-r,--rate", a->rate, "HZ", "sampling rate (256)");
  option("-s,--seconds", a->seconds, "S", "length (10)");
  option("--chirplet", a->chirplets, "FIELDS", "repeatable; tc=S,fc=HZ,Dt=S,c=HZ/S,A=SIZE,phase=RAD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option("-n,--count", a->count, "N", "so many random chirplets (5 if none are given)");
  option("--seed", a->seed, "N", "of the random numbers (1)");
  option("-b,--band", a->band, "LO:HI", "Hz, of random chirplets");
  option("-d,--durations", a->durations, "LO:HI", "s, of random chirplets");
  option("--chirp-rates", a->chirp_rates, "LO:HI", "Hz/s, of random chirplets");
  option("--amplitudes", a->amplitudes, "LO:HI", "of random chirplets (1:1)");
  option("--snr", a->snr, "DB", "white noise, so many dB below the chirplets");
  option("--sigma", a->sigma, "SIZE", "white noise of this standard deviation");
  option("--unit", a->unit, "NAME", "unit of the samples");
  c->footer(
      "The truth is a result file: `envoi reconstruct` makes the signal without its noise of it.\n"
      "Example:\n"
      "  envoi synth -o two.npy -r 256 -s 4 --chirplet tc=1,fc=12,Dt=0.2,c=9 --chirplet tc=2.5,fc=20,Dt=0.3 --snr 10");
  c->callback([a, &run] { run = [a] { return run_synth(*a); }; });
}

}  // namespace envoi::command
