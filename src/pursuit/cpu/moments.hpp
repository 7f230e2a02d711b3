// The moments that refinement needs, lanes over samples. Not for scores: those are summed in the order of
// atoms::moments().
#pragma once

#include "atoms/chirplet.hpp"

namespace envoi::pursuit {

// As atoms::moments<double, 5>, to some 1e-13; the same bits on one instruction set.
atoms::Moments<double> fast_moments(const atoms::Samples& samples, const atoms::Atom& atom);

}  // namespace envoi::pursuit
