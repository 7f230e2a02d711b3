// Several atoms fitted together to one segment: amplitudes by least squares (omp), all parameters (joint).
#pragma once

#include <functional>
#include <vector>

#include "atoms/chirplet.hpp"
#include "atoms/grid.hpp"
#include "envoi/decomposition.hpp"

namespace envoi::pursuit {

// The real atom Re(alpha g) on the segment's samples.
struct Term {
  atoms::Atom atom;
  std::complex<double> alpha;
};

// residual = (value - the terms' sum) where the weight is not 0, else 0. Returns its energy.
double residual_of(const atoms::Samples& samples, const std::vector<Term>& terms, std::vector<double>& residual);

// Re-solves all amplitudes and phases by orthogonalisation. An atom's weaker quadrature counts only as it does for a
// single atom (1 - |kappa| >= 1e-3); a quadrature that is a sum of earlier ones to within 1e-6 gets no amplitude.
// left[i]: energy left by the first i + 1 terms.
void solve_amplitudes(const atoms::Samples& samples, bool phase_fixed, std::vector<Term>& terms,
                      std::vector<double>& left);

// Levenberg-Marquardt on all parameters of all terms, inside the limits. Never ends with more energy left than it
// began with; returns what is left.
double fit_jointly(const atoms::Samples& samples, const atoms::Limits& limits, bool phase_fixed,
                   std::vector<Term>& terms, int most_steps = 60);

// The joint fit with ways out of local optima: each atom in turn is taken out, the others refitted, what is left
// searched again and the whole refitted; neighbours are merged and split anew. Kept where that gains more than noise
// would (noise_gain variances of what is left), until nothing does. `search` finds and refines the best single atom of
// a residual.
using FindAtom = std::function<bool(const std::vector<double>& residual, Term& found)>;
void fit_thoroughly(const atoms::Samples& samples, const atoms::Limits& limits, bool phase_fixed,
                    const FindAtom& search, double noise_gain, std::vector<Term>& terms);

// Standard errors of every term, in units of samples: the variance of the noise (residual energy over the degrees of
// freedom) times the inverse of half the Hessian of the squared residual. `joint`: covariances between terms counted.
// Order: centre, frequency, ln duration, chirp rate, amplitude, phase; NaN where the data do not fix it.
using TermErrors = std::array<double, 6>;
std::vector<TermErrors> standard_errors(const atoms::Samples& samples, bool phase_fixed, bool joint,
                                        const std::vector<Term>& terms);

}  // namespace envoi::pursuit
