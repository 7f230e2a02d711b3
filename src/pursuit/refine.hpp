// From a grid's winner to the nearest maximum of the energy, within limits: a safeguarded Newton method.
#pragma once

#include <array>
#include <functional>

#include "atoms/chirplet.hpp"
#include "atoms/grid.hpp"

namespace envoi::pursuit {

struct Refined {
  atoms::Atom atom;
  atoms::Fit<double> fit;
};

// Never ends below the energy of `start` moved into the limits; fp64 throughout.
Refined refine(const atoms::Samples& samples, const atoms::Atom& start, const atoms::Limits& limits, bool phase_fixed);

// What the energy at an atom looks like, with amplitudes and phases solved.
struct Slope {
  double energy = 0;
  std::array<double, atoms::kParameters> gradient{};
  atoms::SmallMatrix<double, atoms::kParameters> curvature{};  // -1/2 the Hessian
};

// The same of any energy that has such a slope.
atoms::Atom climb(const std::function<Slope(const atoms::Atom&)>& slope, const atoms::Atom& start,
                  const atoms::Limits& limits);

// The nearest atom within the limits, parameter by parameter; the chirp rate last, by the ridge.
atoms::Atom clamp(const atoms::Atom& atom, const atoms::Limits& limits);

// Largest |c| that keeps the ridge of an atom, f - |c| D to f + |c| D, in the band.
double chirp_rate_limit(double frequency, double ln_duration, const atoms::Limits& limits);

}  // namespace envoi::pursuit
