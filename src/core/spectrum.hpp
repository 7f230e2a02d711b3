// The share of a signal's energy inside a band.
#pragma once

#include <span>

namespace envoi::core {

// Energy of the discrete spectrum (padded with zeros to a power of two) between low and high, in cycles a sample, over
// all of it; 0 for a signal of zeros.
double share_in_band(std::span<const double> signal, double low, double high);

}  // namespace envoi::core
