// Files to recordings, and samples to files.
#pragma once

#include <span>
#include <string>

#include "envoi/export.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi {

// Reads a file; "-" reads standard input. Throws Error (bad_file, bad_argument, out_of_memory).
ENVOI_API Recording read(const std::string& path, const ReadOptions& options = {});

// Writes one channel a column; the ending chooses: .npy (float64, samples x channels; one channel: samples),
// .wav (32-bit float, whole rates only; a missing sample becomes 0), .txt .csv .tsv (shortest digits that read back
// the same). A single channel in .txt is one value a line; other text has a header row and a column time_s first.
// All channels must have one length and rate. The file appears whole or not at all. "-" is standard output, as .txt.
// Throws Error (bad_argument: ending, rate, lengths; bad_file: cannot write).
ENVOI_API void write_signal(const std::string& path, std::span<const Channel> channels);

}  // namespace envoi
