// What a channel records, from what its file calls it.
#pragma once

#include <string>
#include <string_view>

#include "envoi/recording.hpp"

namespace envoi::signal {

// The type that a label says ("EEG Fp1" and "Cz" are "eeg", "EKG" is "ecg"), "" where it says none.
std::string type_of_label(std::string_view label);

// The same for the words that formats have for types ("EEG", "Markers", "ECoG"): lower case, one spelling each.
std::string type_of_word(std::string_view word);

// "A1" to "H32": the electrodes of BioSemi's caps.
bool is_biosemi_electrode(std::string_view label);

// True for V, mV, uV, nV and the like.
bool is_voltage(std::string_view unit);

// How many volts one of that unit is; 0 where it is no voltage.
double volts_of(std::string_view unit);

}  // namespace envoi::signal
