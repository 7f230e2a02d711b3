// Reading a recording that need not fit into memory as a whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "envoi/signal.hpp"

namespace envoi::signal {

// As envoi::read; but where the format keeps channels so that one can be read alone (EDF, BDF, BrainVision), `take`
// gets them one after the other, with what is known of the recording but channels and warnings; the result then has
// channels of a single NaN. Channels of other formats are all in the result. Same channels, samples and warnings either
// way.
// `all_names`, where given, gets the names of all data channels of the file.
using TakeChannel = std::function<void(const Recording& about, Channel channel)>;
Recording read_by_channel(const std::string& path, const ReadOptions& options, const TakeChannel& take,
                          std::vector<std::string>* all_names = nullptr);

// As envoi::read with a conditioning. `take` gets every channel of every format, conditioned and cut; where no step
// mixes channels it gets each as soon as it is read. The result then has channels of a single NaN.
Recording read_by_channel(const std::string& path, const ReadOptions& options, const Conditioning& conditioning,
                          const TakeChannel& take);

}  // namespace envoi::signal
