// Files to recordings, and samples to files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "envoi/export.hpp"
#include "envoi/recording.hpp"

namespace envoi {

struct ReadOptions {
  std::string format;                 // "": by content and ending; else edf bdf wav flac text npy f32 f64
  std::optional<double> rate_hz;      // for files that do not carry it; contradicting one that does is an error
  std::string column;                 // text: name or 1-based number; "": every numeric column but time
  std::string time_column;            // text: name or 1-based number; "": found by its name or values
  std::vector<std::string> channels;  // names, globs (Fp*), 1-based numbers and ranges (1-4); empty: all
  std::optional<double> from_s;       // on the recording's own axis; samples in [from_s, to_s)
  std::optional<double> to_s;
};

// Reads a file; "-" reads standard input. Throws Error (bad_file, bad_argument, out_of_memory).
ENVOI_API Recording read(const std::string& path, const ReadOptions& options = {});

// Writes one channel a column; the ending chooses: .npy (float64, samples x channels; one channel: samples),
// .wav (32-bit float), .txt .csv .tsv (shortest digits that read back the same). All channels must have one length
// and rate. The file appears whole or not at all. "-" is standard output, as text.
// Throws Error (bad_argument: ending; bad_file: cannot write).
ENVOI_API void write_signal(const std::string& path, std::span<const Channel> channels);

}  // namespace envoi
