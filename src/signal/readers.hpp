// The readers behind envoi::read: each turns the bytes of a file into a Recording, and touches no other file but those
// that its format keeps beside it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "envoi/recording.hpp"
#include "envoi/signal.hpp"

namespace envoi::signal {

// Takes channels as they are read, in place of the recording, which has all but the channels' samples.
using ChannelSink = std::function<void(const Recording& so_far, Channel channel)>;

struct Input {
  std::string_view bytes;
  std::string name;       // as shown in messages and in Recording::name
  std::string path = {};  // of the file; empty for standard input and bytes in memory
  const ChannelSink* sink = nullptr;
  std::vector<std::string>* all_names = nullptr;  // gets the names of all data channels, also of those not wanted
};

// Chooses the reader by `options.format`, else by content and the ending of the name. The SHA-256 is left empty.
// Like every reader below it throws Error: bad_file, bad_argument, out_of_memory.
Recording read_bytes(const Input& input, const ReadOptions& options);

// For readers that honour the sink: the channel goes there, and leaves a head with one missing sample (or none).
void add_channel(const Input& input, Recording& recording, Channel channel);

Recording read_text(const Input& input, const ReadOptions& options);
Recording read_edf(const Input& input, const ReadOptions& options);          // EDF, EDF+, BDF, BDF+
Recording read_audio(const Input& input, const ReadOptions& options);        // whatever libsndfile opens
Recording read_brainvision(const Input& input, const ReadOptions& options);  // any file of a set
Recording read_xdf(const Input& input, const ReadOptions& options);
Recording read_hdf5(const Input& input, const ReadOptions& options);
Recording read_matlab(const Input& input, const ReadOptions& options);  // .mat, and EEGLAB's .set
Recording read_npy(const Input& input, const ReadOptions& options);
Recording read_raw(const Input& input, const ReadOptions& options, bool wide);  // float32, or float64 if wide

}  // namespace envoi::signal
