// A recording in memory: channels of samples with their rates and units. Plain values, no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envoi/export.hpp"

namespace envoi {

// What a file's format says about its data; it chooses the defaults of an analysis.
enum class DataKind { biosignal, audio, other };

struct Annotation {
  double onset_s = 0;  // on the recording's own time axis
  std::optional<double> duration_s;
  std::string text;  // UTF-8
};

struct Channel {
  std::string name;    // UTF-8; unique within a recording (readers append " (2)" and so on)
  std::string type;    // lower case: "eeg", "eog", "emg", "ecg", "resp", "audio", "misc", ...; "" when unknown
  std::string unit;    // "uV", "V", "" when unknown
  double rate_hz = 0;  // samples a second
  double start_s = 0;  // time of the first sample on the recording's own axis
  DataKind kind = DataKind::other;
  std::vector<double> samples;  // NaN: a missing sample
};

struct Recording {
  std::string name;  // file name without folder
  std::string
      format;  // "edf", "edf+", "bdf", "bdf+", "brainvision", "xdf", "hdf5", "mat", "wav", "text", ..., "memory"
  std::string sha256;             // of the file's bytes, lower-case hex; empty when not from a file
  std::string start;              // ISO 8601 date and time without zone; empty when unknown
  std::vector<Channel> channels;  // data channels only
  std::vector<Annotation> annotations;
  std::vector<std::string> warnings;  // what the reader noticed, a sentence each

  // The channel of that name. Throws Error (bad_argument) with the list of names if there is none.
  ENVOI_API const Channel& channel(std::string_view name) const;
};

}  // namespace envoi
