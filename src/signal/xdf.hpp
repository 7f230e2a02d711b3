// The inside of the XDF reader: streams as the chunks of a file tell them, and their clocks, apart from recordings.
// Format: XDF 1.0 (Extensible Data Format), as recorders of the Lab Streaming Layer write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "readers.hpp"

namespace envoi::signal {

struct XdfChannel {
  std::string label;
  std::string unit;
  std::string type;
};

struct XdfStream {
  std::uint32_t id = 0;
  std::string name;
  std::string type;            // as the header has it
  std::string format;          // "float32", "double64", "int8" ... "int64", "string"
  double nominal_hz = 0;       // 0: irregular
  bool drops_samples = false;  // says that intervals are gaps and not jitter
  std::vector<XdfChannel> channels;
  std::vector<double> values;        // sample after sample; of streams of numbers
  std::vector<std::string> strings;  // likewise; of streams of strings
  std::vector<double> times_s;       // of each sample, on the clock of the stream's computer
  std::vector<double> clock_times_s, clock_offsets_s;
  std::int64_t announced_samples = -1;  // by the footer

  bool is_text() const { return format == "string"; }
};

struct XdfFile {
  std::vector<XdfStream> streams;  // in the order of their headers
  std::string start;               // ISO 8601 or empty
  std::vector<std::string> warnings;
};

// Throws Error (bad_file) where nothing can be made of it; what is cut off or damaged after whole chunks is a warning.
XdfFile read_xdf_chunks(const Input& input);

// A run of samples at even intervals: sample first + i is at start_s + i * interval_s.
struct XdfRun {
  std::size_t first = 0;
  std::size_t count = 0;
  double start_s = 0;
  double interval_s = 0;
};

// Moves the time stamps to the recorder's clock: the offsets measured on the way, fitted robustly by a line between
// resets of a clock. Returns where samples begin that follow a reset.
std::vector<std::size_t> synchronize(XdfStream& stream);

// Runs of samples without a break (a jump of the time stamps by more than a second and 500 samples, or a reset), each
// with the line that fits its time stamps best. Needs a nominal rate and a sample.
std::vector<XdfRun> even_runs(const XdfStream& stream, const std::vector<std::size_t>& resets);

}  // namespace envoi::signal
