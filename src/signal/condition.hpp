// Conditioning of a recording that comes in groups of channels, where no step mixes channels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "envoi/signal.hpp"

namespace envoi::signal {

// Which channels come out of it; the others are used where a reference or a difference needs them.
struct Wanted {
  std::optional<std::vector<std::size_t>> channels;  // of the recording or, with `bipolar`, of the differences; all
  std::vector<std::string> file_names;               // for messages: of all channels in the file; those there are
};

// As envoi::condition, but returns how many stretches are shorter than the filters take to settle, instead of a
// warning.
std::size_t condition_and_count(Recording& recording, const Conditioning& conditioning, const Wanted& wanted = {});

std::string short_stretches_warning(std::size_t count);

}  // namespace envoi::signal
