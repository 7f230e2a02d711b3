// The inside of the EDF reader: header and annotations, apart from the samples.
// Formats: Kemp et al. 1992 (EDF), Kemp and Olivan 2003 (EDF+); BDF is EDF with 24-bit samples (BioSemi).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envoi/recording.hpp"
#include "readers.hpp"

namespace envoi::signal {

struct EdfSignal {
  std::string label;
  std::string unit;
  std::size_t samples_per_record = 0;
  std::size_t offset = 0;  // bytes from the start of a data record
  double gain = 0;         // physical = gain * (digital - digital_low) + physical_low
  double digital_low = 0;
  double physical_low = 0;
  bool is_annotations = false;
  bool is_status = false;  // BioSemi's trigger word
  std::string remark;      // what a reader of it is told, or empty
  std::string fault;       // why its samples cannot be scaled, or empty
};

struct EdfHeader {
  bool wide = false;           // BDF: 24 bits
  bool plus = false;           // EDF+ or BDF+
  bool discontinuous = false;  // EDF+D
  std::string start;           // ISO 8601 or empty
  std::size_t header_bytes = 0;
  std::size_t record_bytes = 0;
  std::size_t records = 0;  // whole ones that are in the file
  double record_s = 0;
  std::vector<EdfSignal> signals;
  std::vector<std::string> warnings;

  std::size_t sample_bytes() const { return wide ? 3 : 2; }
};

EdfHeader read_edf_header(const Input& input);

struct EdfAnnotations {
  std::vector<Annotation> annotations;              // onset in the file's own count
  std::vector<std::optional<double>> record_onset;  // a record's own time, where it says it
  std::size_t damaged = 0;                          // lists that were no annotations
};

EdfAnnotations read_edf_annotations(const Input& input, const EdfHeader& header);

}  // namespace envoi::signal
