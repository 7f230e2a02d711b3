// Reading a recording that need not fit into memory as a whole.
#pragma once

#include <functional>
#include <string>

#include "envoi/signal.hpp"

namespace envoi::signal {

// As envoi::read; but where the format keeps channels so that one can be read alone (EDF, BDF, BrainVision), `take`
// gets them one after the other, with what is known of the recording but channels and warnings; the result then has
// channels of a single NaN. Channels of other formats are all in the result. Same channels, samples and warnings either
// way.
Recording read_by_channel(const std::string& path, const ReadOptions& options,
                          const std::function<void(const Recording& about, Channel channel)>& take);

}  // namespace envoi::signal
