// Recursive filters as second-order sections, designed here and run forward and backward, so that they have no phase.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace envoi::signal {

// y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]
struct Section {
  double b0 = 1, b1 = 0, b2 = 0;
  double a1 = 0, a2 = 0;
};

// Butterworth filters of order 4, by the bilinear transform with the cut-off (-3 dB, run once) where it was asked for.
// 0 < cutoff_hz < rate_hz / 2.
std::vector<Section> butterworth_low_pass(double cutoff_hz, double rate_hz);
std::vector<Section> butterworth_high_pass(double cutoff_hz, double rate_hz);

// A notch of width frequency_hz / quality between its -3 dB points. 0 < frequency_hz < rate_hz / 2.
std::vector<Section> notch(double frequency_hz, double rate_hz, double quality);

// Samples after which the slowest part of an impulse response has fallen to a thousandth.
std::size_t settling_samples(std::span<const Section> sections);

// Filters in place, forward and then backward: the gain is squared, the phase is zero. Each end is extended by
// settling_samples, or by one sample less than there are: the samples turned about the last one, so that neither its
// value nor its slope jumps. Each pass begins as if the first value of the extension had always been there.
void filter_both_ways(std::span<const Section> sections, std::span<double> samples);

// The same for a notch. Turned about its last sample a hum would jump in phase, and about a new mean, which would ring
// more loudly than the hum itself. So the sine of that frequency that fits best as many samples at the end (and a
// constant beside it) is continued as a sine, and what is left turned as above.
void notch_both_ways(std::span<const Section> sections, std::span<double> samples, double frequency_hz, double rate_hz);

}  // namespace envoi::signal
