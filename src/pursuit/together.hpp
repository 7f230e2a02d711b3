// One atom on several channels at once: the same centre, frequency, duration and chirp rate, an amplitude for each, and
// a phase for each or one for all. The channels have the same missing samples.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "atoms/chirplet.hpp"
#include "pursuit/model.hpp"
#include "pursuit/refine.hpp"

namespace envoi::pursuit {

// Sum of the channels' energies; with one phase the largest that any phase gives.
double together_energy(std::span<const atoms::Samples> channels, const atoms::Atom& atom, bool phase_fixed,
                       bool one_phase);

struct Together {
  atoms::Atom atom;
  std::vector<std::complex<double>> alpha;  // a channel each
  double energy = 0;
};

// The atom with its amplitudes fitted.
Together fit_together(std::span<const atoms::Samples> channels, const atoms::Atom& atom, bool phase_fixed,
                      bool one_phase);

// As refine, of the summed energy.
Together refine_together(std::span<const atoms::Samples> channels, const atoms::Atom& start,
                         const atoms::Limits& limits, bool phase_fixed, bool one_phase);

// Standard errors of the atom of each channel, `residual` being what all atoms leave: the four shared parameters from
// all channels, each weighted by its own noise; amplitude and phase from the channel's own samples beside them. Phases
// count as a phase each.
std::vector<TermErrors> standard_errors_together(std::span<const atoms::Samples> residual, const Together& term);

}  // namespace envoi::pursuit
