// Signals whose truth is known, and how well it could be known at all. Independent of the library's own formulas.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "envoi/decomposition.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace bench {

inline constexpr double kRate = 256;
inline constexpr int kSamples = 512;

// The mixture of three tones, a chirp and noise of 0.1 in which chirplet programs are compared.
struct Mixture {
  std::vector<double> clean, noisy;
};
Mixture mixture(int index);

// The grid of 603,520 atoms that goes with it; the ends of its axes are those of its refinement box, too.
envoi::ExplicitGrid mixture_grid();
envoi::PursuitOptions mixture_options(envoi::Method method);

envoi::Channel as_channel(std::vector<double> samples);  // kRate, a biosignal

// The signal that a segment's atoms stand for, from the result's definition alone.
std::vector<double> rebuild(std::span<const envoi::Chirplet> atoms, std::size_t samples, double rate_hz,
                            double start_s);

double snr_db(std::span<const double> signal, std::span<const double> model);

// Time, frequency, ln duration, chirp rate, amplitude, phase.
inline constexpr int kTruths = 6;
inline constexpr const char* kTruthNames[kTruths] = {"tc", "fc", "lnDt", "c", "A", "phi"};
using Truth = std::array<double, kTruths>;

Truth truth_of(const envoi::Chirplet& atom);
envoi::Chirplet chirplet_of(const Truth& truth);
Truth standard_errors_of(const envoi::Chirplet& atom);          // of ln duration, too
Truth difference(const Truth& found, const Truth& true_value);  // the phase wrapped

// Cramer-Rao bounds (standard deviations) of all parameters of all chirplets together, in white noise of `sigma`.
std::vector<Truth> cramer_rao(std::span<const Truth> chirplets, double sigma);

}  // namespace bench
