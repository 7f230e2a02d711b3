// What is done and said about every recording once its reader is through.
#pragma once

#include "envoi/recording.hpp"

namespace envoi::signal {

// Samples under annotations that begin with BAD_ or BAD and a blank, in any case, become NaN; a warning says how many.
void mark_bad_spans(Recording& recording);

// Says which channels of a biosignal have no unit, one that cannot be made out, or amplitudes that make it absurd.
void say_odd_units(Recording& recording);

}  // namespace envoi::signal
