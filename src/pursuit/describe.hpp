// From fitted terms to the chirplets of a result.
#pragma once

#include <span>

#include "envoi/decomposition.hpp"
#include "pursuit/detrend.hpp"
#include "pursuit/model.hpp"

namespace envoi::pursuit {

inline constexpr double kLeastResidual = 1e-32;  // of the energy: where rounding ends a pursuit

double peak_of(const Term& term, std::int64_t samples);
double energy_of(const Term& term, const atoms::Samples& samples);

// The term of the stretch of the channel that begins at sample `begin`, in units of time and of the channel; its shares
// are left to the caller.
Chirplet describe(const Channel& channel, std::int64_t begin, const Detrended& data, const Term& term,
                  const TermErrors& errors);

// The segment's energy left and SNR (and the last atom's energy left) from the numbers that the result will hold: so
// that whoever rebuilds the signal finds the same. Nothing without atoms.
void judge_rebuilt(const Detrended& data, double rate_hz, std::span<Chirplet> found, Segment& segment);

}  // namespace envoi::pursuit
