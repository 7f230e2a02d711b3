// Decompositions to files and back, and to the signal they stand for.
#pragma once

#include <string>
#include <vector>

#include "envoi/decomposition.hpp"
#include "envoi/export.hpp"
#include "envoi/search.hpp"

namespace envoi {

// Text of a result: JSON (version 1), NDJSON (a header line, then one segment a line), TSV (one atom a line).
// The same decomposition gives the same bytes; numbers read back to the same bits.
ENVOI_API std::string to_json(const Decomposition& result);
ENVOI_API std::string to_ndjson(const Decomposition& result);
ENVOI_API std::string to_tsv(const Decomposition& result);

// A table for people: time, frequency, duration, chirp rate, peak with its unit, share of energy, and standard
// errors where `columns` leaves room.
ENVOI_API std::string to_table(const Decomposition& result, int columns);

// The ending chooses the format: .json .ndjson .tsv. The file appears whole or not at all; "-" is standard output
// (JSON). Throws Error (bad_argument: ending; bad_file: cannot write).
ENVOI_API void write_result(const std::string& path, const Decomposition& result);

// Reads JSON or NDJSON back (told apart by content). Throws Error (bad_file) with the place of the fault.
ENVOI_API Decomposition read_result(const std::string& path);

// The signal a result stands for, a channel each: trend + kept atoms on every segment, NaN where no segment lies.
// start_s and samples span the channel's segments.
ENVOI_API std::vector<Channel> reconstruct(const Decomposition& result);

// The same for searches of a dictionary: JSON, NDJSON (a header line, then one signal a line), TSV (one atom a line), a
// table, a file.
ENVOI_API std::string to_json(const SearchResult& result);
ENVOI_API std::string to_ndjson(const SearchResult& result);
ENVOI_API std::string to_tsv(const SearchResult& result);
ENVOI_API std::string to_table(const SearchResult& result);
ENVOI_API void write_result(const std::string& path, const SearchResult& result);

}  // namespace envoi
