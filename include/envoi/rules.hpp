// Rules that turn atoms into annotations ("spindle: 11-16 Hz, 0.5-2 s, peak > 10 uV"), and files of annotations.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envoi/decomposition.hpp"
#include "envoi/export.hpp"
#include "envoi/recording.hpp"

namespace envoi {

// Both limits belong to it; an unset one is none.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;

  bool contain(double value) const { return !(low && !(value >= *low)) && !(high && !(value <= *high)); }
  bool empty() const { return !low && !high; }
};

// What an atom must be, all of it, to be annotated with the rule's name.
struct Rule {
  std::string name;
  Bounds frequency_hz;  // at the atom's centre
  Bounds width_s;       // full width at half maximum of its envelope, 2.355 times its duration_s
  Bounds chirp_rate_hz_per_s;
  Bounds peak;
  std::string peak_unit;  // "": channels without a unit
  Bounds amplitude;
  std::string amplitude_unit;
  Bounds energy_share;  // its energy / its segment's
  std::string channel;  // name, or a glob of * and ?; "": every channel
};

// "NAME: CONDITION, CONDITION, ..." with conditions
//   11-16 Hz   0.5-2 s   -20..-5 Hz/s   > 5 %   peak > 10 uV   amplitude 10-50 uV   channel C*
// Ranges are LOW-HIGH, LOW..HIGH or LOW:HIGH; limits > >= < <=. The unit says what is meant: Hz frequency, s width,
// Hz/s chirp rate, % share of energy; any of the words frequency, width, chirp rate, share may stand before it. Throws
// Error (bad_argument) that names the condition.
ENVOI_API Rule parse_rule(std::string_view text);

struct AtomAnnotation {
  Annotation annotation;  // onset half a width before the atom's centre, lasts a width, text: the rule's name
  std::string channel;
  std::size_t atom = 0;  // index into Decomposition::atoms
};

// One for each rule that an atom meets, by onset. Atoms that another window owns (Chirplet::kept) are left out.
// Throws Error (bad_argument): a channel that is not there; a peak or amplitude in a unit that cannot be turned into
// the channel's, or without one where the channel has one, or the other way round.
ENVOI_API std::vector<AtomAnnotation> annotate(const Decomposition& result, std::span<const Rule> rules);

// The ending chooses: .edf (EDF+ with annotations alone), .tsv (columns onset duration description channel), .txt
// (label track of Audacity, which Sonic Visualiser reads as well: start, end, label). In .edf a text is NAME, or
// NAME@@CHANNEL if the result has several channels; in .txt NAME, or NAME CHANNEL. Onsets in .edf count from the
// recording's start, with 1e-7 s. The file appears whole or not at all; "-" is standard output, as .tsv. Throws Error
// (bad_argument: ending; bad_file: cannot write).
ENVOI_API void write_annotations(const std::string& path, const Decomposition& result,
                                 std::span<const AtomAnnotation> annotations);

// Whether write_annotations knows a format by the path's ending.
ENVOI_API bool is_annotation_ending(std::string_view path);

}  // namespace envoi
