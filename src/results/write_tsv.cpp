// A decomposition as a table for other programs: one atom a line, tabs between, an empty field where undetermined.
#include <cmath>

#include "envoi/results.hpp"
#include "results/json_text.hpp"

namespace envoi {
namespace {

// A name is one field of one line, whatever is in it.
std::string field(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

struct Column {
  const char* name;
  double (*value)(const Chirplet&);
};

constexpr Column kColumns[] = {
    {"time_s", [](const Chirplet& a) { return a.time_s; }},
    {"frequency_hz", [](const Chirplet& a) { return a.frequency_hz; }},
    {"duration_s", [](const Chirplet& a) { return a.duration_s; }},
    {"chirp_rate_hz_per_s", [](const Chirplet& a) { return a.chirp_rate_hz_per_s; }},
    {"amplitude", [](const Chirplet& a) { return a.amplitude; }},
    {"phase_rad", [](const Chirplet& a) { return a.phase_rad; }},
    {"peak", [](const Chirplet& a) { return a.peak; }},
    {"energy", [](const Chirplet& a) { return a.energy; }},
    {"energy_share", [](const Chirplet& a) { return a.energy_share; }},
    {"energy_left_share", [](const Chirplet& a) { return a.energy_left_share; }},
    {"se_time_s", [](const Chirplet& a) { return a.se.time_s; }},
    {"se_frequency_hz", [](const Chirplet& a) { return a.se.frequency_hz; }},
    {"se_duration_s", [](const Chirplet& a) { return a.se.duration_s; }},
    {"se_chirp_rate_hz_per_s", [](const Chirplet& a) { return a.se.chirp_rate_hz_per_s; }},
    {"se_amplitude", [](const Chirplet& a) { return a.se.amplitude; }},
    {"se_phase_rad", [](const Chirplet& a) { return a.se.phase_rad; }},
};

}  // namespace

std::string to_tsv(const Decomposition& result) {
  std::string text = "file\tchannel\tsegment\torder";
  for (const Column& column : kColumns) text += std::string("\t") + column.name;
  text += "\tkept\n";
  const std::string file = field(result.source.name);
  for (std::size_t s = 0; s < result.segments.size(); ++s) {
    const Segment& segment = result.segments[s];
    const std::string start = file + "\t" + field(result.channels.at(segment.channel).name) + "\t" + std::to_string(s);
    std::size_t order = 0;
    for (const Chirplet& atom : result.atoms_of(segment)) {
      text += start + "\t" + std::to_string(++order);
      for (const Column& column : kColumns) {
        const double value = column.value(atom);
        text += '\t';
        if (std::isfinite(value)) text += results::number_text(value);
      }
      text += atom.kept ? "\ttrue\n" : "\tfalse\n";
    }
  }
  return text;
}

}  // namespace envoi
