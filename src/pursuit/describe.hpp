// From fitted terms to the chirplets of a result.
#pragma once

#include <span>

#include "envoi/decomposition.hpp"
#include "pursuit/detrend.hpp"
#include "pursuit/model.hpp"

namespace envoi::pursuit {

double peak_of(const Term& term, std::int64_t samples);
double energy_of(const Term& term, const atoms::Samples& samples);

// The term of the stretch of the channel that begins at sample `begin`, in units of time and of the channel; its shares
// are left to the caller.
Chirplet describe(const Channel& channel, std::int64_t begin, const Detrended& data, const Term& term,
                  const TermErrors& errors);

// What the atoms leave, from the numbers that the result will hold: so that whoever rebuilds the signal finds the same.
double rebuilt_energy(const Detrended& data, double start_s, double rate, std::span<const Chirplet> found);

}  // namespace envoi::pursuit
