// Conditioning of a recording that comes in groups of channels, where no step mixes channels.
#pragma once

#include <cstddef>
#include <string>

#include "envoi/signal.hpp"

namespace envoi::signal {

// As envoi::condition, but returns how many stretches are shorter than the filters take to settle, instead of a
// warning.
std::size_t condition_and_count(Recording& recording, const Conditioning& conditioning);

std::string short_stretches_warning(std::size_t count);

}  // namespace envoi::signal
