// Long recordings: how fast hours go, how much memory they take, and what one more atom costs.
#include <chrono>
#include <cmath>
#include <numbers>
#include <random>

#include "bench.hpp"
#include "envoi/pursuit.hpp"

namespace bench {
namespace {

constexpr double kRate = 256;

// Pink noise of a standard deviation of about 15 with a spindle-like chirplet every seven seconds: the density of
// events and the falling spectrum of a sleep EEG.
envoi::Channel recording(double seconds, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  envoi::Channel channel;
  channel.name = "made";
  channel.unit = "uV";
  channel.rate_hz = kRate;
  channel.kind = envoi::DataKind::biosignal;
  channel.samples.resize(static_cast<std::size_t>(seconds * kRate));
  double slow[5] = {};  // first-order low-passes an octave and more apart add up to 1/f
  for (double& v : channel.samples) {
    v = 0;
    for (int k = 0; k < 5; ++k) {
      const double decay = std::pow(0.25, k) * 0.8;
      slow[k] += decay * (std::sqrt(1 / decay) * normal(random) - slow[k]);
      v += 8 * slow[k];
    }
  }
  for (int i = 0; i < seconds / 7; ++i) {
    const double time = uniform(0, seconds), frequency = uniform(9, 16), duration = uniform(0.15, 0.4);
    const double chirp_rate = uniform(-4, 4), peak = uniform(10, 40), phase = uniform(-3, 3);
    const auto begin = static_cast<std::size_t>(std::max(0.0, (time - 3) * kRate));
    const auto end = std::min(channel.samples.size(), static_cast<std::size_t>((time + 3) * kRate));
    for (std::size_t n = begin; n < end; ++n) {
      const double t = static_cast<double>(n) / kRate - time;
      channel.samples[n] += peak * std::exp(-t * t / (2 * duration * duration)) *
                            std::cos(2 * std::numbers::pi * (frequency * t + chirp_rate * t * t / 2) + phase);
    }
  }
  return channel;
}

struct Timed {
  double seconds = 0;
  std::size_t atoms = 0;
  double snr_db = 0;
};
Timed timed(const envoi::Channel& channel, const envoi::PursuitOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const envoi::Decomposition result = envoi::decompose(channel, options);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), result.atoms.size(),
          result.segments[0].snr_db};
}

Row hour_row(const std::string& name, const envoi::PursuitOptions& options, double least) {
  constexpr double kHour = 3600;
  const envoi::Channel channel = recording(kHour, 1);
  const Timed run = timed(channel, options);
  const double speed = kHour / run.seconds;
  Row row(name, "1 h, 256 Hz, " + std::to_string(processors()) + " threads");
  row.with("atoms", static_cast<double>(run.atoms))
      .with("seconds", run.seconds)
      .with("times_real_time", speed)
      .with("envoi_mb", peak_memory_mb());
  const bool whole = options.whole_signal;
  return row.judged(std::to_string(static_cast<int>(least)) + (whole ? " times, under 300 MB" : " times"),
                    speed >= least && (!whole || peak_memory_mb() < 300));
}

Rows windows_of_an_hour() {
  envoi::PursuitOptions options;
  options.window_s = 2;
  options.stop.atoms = 10;
  return {hour_row("long/windows", options, 60)};
}

Rows whole_hour() {
  envoi::PursuitOptions options;
  options.whole_signal = true;
  options.stop.density_per_s = 5;
  return {hour_row("long/whole", options, 15)};
}

// Of the atoms that a density of 0.3 a second takes beyond those of 0.1.
Rows cost_of_an_atom() {
  Rows rows;
  double first = 0;
  for (const double seconds : {60.0, 600.0, 3600.0, 28800.0}) {
    note("long/atom " + std::to_string(static_cast<int>(seconds)) + " s");
    const envoi::Channel channel = recording(seconds, 2);
    envoi::PursuitOptions options;
    options.whole_signal = true;
    // Short recordings again and again: one run of a minute is over in a second.
    const int times = seconds < 100 ? 9 : seconds < 1000 ? 3 : 1;
    double less = 0, more = 0, atoms = 0;
    for (int i = 0; i < times; ++i) {
      options.stop.density_per_s = 0.1;
      const Timed a = timed(channel, options);
      options.stop.density_per_s = 0.3;
      const Timed b = timed(channel, options);
      less += a.seconds, more += b.seconds, atoms += static_cast<double>(b.atoms) - static_cast<double>(a.atoms);
    }
    const double ms = (more - less) / atoms * 1e3;
    if (first == 0) first = ms;
    rows.push_back(Row("long/atom", std::to_string(static_cast<int>(seconds)) + " s")
                       .with("atoms_more", atoms / times)
                       .with("ms_an_atom", ms)
                       .with("of_one_minute", ms / first)
                       .with("envoi_mb", peak_memory_mb())
                       .judged("at most 1.3 of one minute's", ms <= 1.3 * first));
  }
  return rows;
}

Rows ask_windows() { return ask_child("long/windows", {}); }
Rows ask_whole() { return ask_child("long/whole", {}); }
Rows ask_cost() { return ask_child("long/atom", {}); }

}  // namespace

std::vector<Question> long_questions() {
  return {{"long/windows", "an hour of one channel, windows of 2 s, 10 atoms each, default grid", ask_windows},
          {"long/whole", "the same hour without windows, 5 atoms a second", ask_whole},
          {"long/atom", "one more atom of a whole-signal pursuit, by length of the recording", ask_cost}};
}

std::vector<Question> long_child_questions() {
  return {{"long/windows", "", windows_of_an_hour}, {"long/whole", "", whole_hour}, {"long/atom", "", cost_of_an_atom}};
}

}  // namespace bench
