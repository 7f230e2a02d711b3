// Files to recordings, and samples to files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "envoi/export.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"
#include "envoi/search.hpp"

namespace envoi {

// Reads a file; "-" reads standard input. Throws Error (bad_file, bad_argument, out_of_memory).
ENVOI_API Recording read(const std::string& path, const ReadOptions& options = {});

// The same, conditioned: what the options leave out with `exclude` and `types` takes no part; the conditioning sees all
// other channels from end to end; `channels` (of `bipolar`: among the differences) and the stretch are cut out of what
// comes of it. So no filter has an end where the stretch begins.
ENVOI_API Recording read(const std::string& path, const ReadOptions& options, const Conditioning& conditioning);

// Re-references, filters and resamples in place, as Conditioning says. Throws Error (bad_argument: a channel that is
// not there, a frequency that the rate does not allow, channels of several rates where one is needed).
ENVOI_API void condition(Recording& recording, const Conditioning& conditioning);

// What EDF+ holds beside the samples.
struct SignalNotes {
  std::string start;  // as Recording::start: of the axis that start_s counts on
  std::vector<Annotation> annotations;
};

// Writes one channel a column; the ending chooses: .npy (float64, samples x channels; one channel: samples),
// .wav (32-bit float, whole rates only; a missing sample becomes 0), .txt .csv .tsv (shortest digits that read back
// the same). A single channel in .txt is one value a line; other text has a header row and a column time_s first.
// All channels must have one length and rate. The file appears whole or not at all. "-" is standard output, as .txt.
//
// .edf .bdf: EDF+ of 16 bits, BDF+ of 24, each channel over the range of its samples, so that what is read back is
// within half a step of (largest - smallest) / 65535. Rates may differ where a data record holds whole numbers of
// samples of all. Missing samples, and what the last data record lacks, are zeros under annotations BAD_missing. Volts
// change their prefix where the header has no place for the numbers; labels and units become ASCII.
// Throws Error (bad_argument: ending, rate, lengths, range; bad_file: cannot write).
ENVOI_API void write_signal(const std::string& path, std::span<const Channel> channels, const SignalNotes& notes = {});

// A dictionary for search(): a .npy array of atoms x samples (one axis: a single atom) of f4, f8 or whole numbers, in
// any byte order, by rows or by columns (Fortran's order, slower). Nothing but its head is read here: each search reads
// the file in pieces, so it may be larger than memory, must stay in place meanwhile, and a file cut off under a search
// is an Error. "-" is standard input, kept in memory. Throws Error (bad_file).
ENVOI_API Dictionary open_dictionary(const std::string& path);

// Signals for search(), from a .npy array of the same kinds: signals x samples (one axis: a single signal).
struct SignalRows {
  std::string name;  // of the file, as messages say it
  std::size_t count = 0;
  std::size_t samples = 0;
  std::vector<double> values;  // one signal after another, all finite
};
// "-" is standard input. Throws Error (bad_file, out_of_memory, numerical: a number that is not finite).
ENVOI_API SignalRows read_signal_rows(const std::string& path);

}  // namespace envoi
