// The inside of the BrainVision reader: the texts of a set (.vhdr, .vmrk), apart from files and samples.
// Format: BrainVision Core Data Format 1.0 and 2.0 (Brain Products).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers.hpp"

namespace envoi::signal {

enum class BrainVisionNumber { int_16, uint_16, int_32, float_32 };

struct BrainVisionChannel {
  std::string name;
  std::string unit;
  double resolution = 1;
  std::string fault;  // why its samples cannot be scaled, or empty
};

struct BrainVisionHeader {
  std::string data_file;    // names without folder, as the header has them
  std::string marker_file;  // empty: none
  std::size_t data_file_line = 0;
  bool vectorized = false;
  bool big_endian = false;
  BrainVisionNumber number = BrainVisionNumber::int_16;
  double rate_hz = 0;
  std::vector<BrainVisionChannel> channels;
  std::vector<std::string> warnings;

  std::size_t sample_bytes() const {
    return number == BrainVisionNumber::int_16 || number == BrainVisionNumber::uint_16 ? 2 : 4;
  }
};

// Throws Error (bad_file) with the line of the fault.
BrainVisionHeader read_brainvision_header(const Input& header);

struct BrainVisionMarkers {
  std::vector<Annotation> annotations;
  std::string start;               // ISO 8601, of the segment that begins with the first sample; or empty
  std::size_t later_segments = 0;  // places where the recording was paused
  std::size_t damaged = 0;         // lines that were no markers
};

BrainVisionMarkers read_brainvision_markers(std::string_view text, double rate_hz);

// The three files of a set in memory; `markers` may be empty.
struct BrainVisionSet {
  Input header;
  std::string_view markers;
  Input data;
};
Recording read_brainvision_set(const BrainVisionSet& set, const ReadOptions& options);

}  // namespace envoi::signal
