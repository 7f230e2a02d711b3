// Decompositions to files and back, and to the signal they stand for.
#pragma once

#include <optional>
#include <span>
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

// The ending chooses the format: .json .ndjson .tsv, and of other programs:
//   .db .book   the SQLite book of matching pursuit that Svarog reads; atoms have a chirp rate in a column of its own.
//               Read back it gives the same atoms, segments and parameters; standard errors, shares of energy and
//               certificates of single atoms are not in it. All channels must have one rate.
//   .act.json   ACT-lib's JSON of many windows, for one channel, windows of one length, and atoms of phase 0 or pi
//               (Phase::fixed); anything else is refused. Trend and standard errors are not in it.
// The file appears whole or not at all; "-" is standard output (JSON).
// Throws Error (bad_argument: ending, or what that format cannot hold; bad_file: cannot write).
ENVOI_API void write_result(const std::string& path, const Decomposition& result);

// The same; a book also gets the samples that were analysed, of the channels in `signal` with the result's names.
ENVOI_API void write_result(const std::string& path, const Decomposition& result, std::span<const Channel> signal);

// Whether write_result knows a format by the path's ending.
ENVOI_API bool is_result_ending(const std::string& path);

// Reads JSON, NDJSON, books and ACT-lib's JSON (single, multi_sample, multi_sample_combined), told apart by content.
// What another program's file does not say is kUndetermined. Throws Error (bad_file) with the place of the fault.
ENVOI_API Decomposition read_result(const std::string& path);

// The signal a result stands for, a channel each: trend + kept atoms on every segment, NaN where no segment lies.
// start_s and samples span the channel's segments.
ENVOI_API std::vector<Channel> reconstruct(const Decomposition& result);

// A page for a browser (.html): one self-contained file that loads nothing. Samples come from the channels of the
// recording that the result names; without them the page shows the atoms alone. Samples that would make the page large
// are drawn from the least and largest of every so many. Throws Error (bad_argument: this build has no report page;
// bad_file: cannot write).
ENVOI_API void write_report(const std::string& path, const Recording& recording, const Decomposition& result);

// Throws as write_report would in a build that has no report page; for finding out before a long computation.
ENVOI_API void require_report_page(const std::string& path);

// A picture of the time-frequency map of one channel: the sum of its kept atoms' Wigner maps in decibels.
struct MapOptions {
  std::string channel;  // "": the first
  std::optional<double> from_s, to_s;
  std::optional<Range> band_hz;
  unsigned width = 1200, height = 600;  // of the picture, pixels
  // Outline the 40 strongest atoms in view where their maps have fallen to 1/e, and draw their slopes.
  bool ellipses = false;
  std::string colors = "cividis";  // or viridis, magma, gray
  double range_db = 40;            // from the largest density down
};
// The ending chooses: .png or .svg. Returns how many atoms reach into the picture. Throws Error (bad_argument: ending,
// channel, an empty view or one where the channel has no result, colours, size; bad_file: cannot write).
ENVOI_API std::size_t write_map(const std::string& path, const Decomposition& result, const MapOptions& options = {});

// The same for searches of a dictionary: JSON, NDJSON (a header line, then one signal a line), TSV (one atom a line), a
// table, a file.
ENVOI_API std::string to_json(const SearchResult& result);
ENVOI_API std::string to_ndjson(const SearchResult& result);
ENVOI_API std::string to_tsv(const SearchResult& result);
ENVOI_API std::string to_table(const SearchResult& result);
ENVOI_API void write_result(const std::string& path, const SearchResult& result);

}  // namespace envoi
