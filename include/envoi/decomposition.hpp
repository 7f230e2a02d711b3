// What a pursuit finds: chirplets by segment, and all that is needed to rebuild and to judge them. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "envoi/events.hpp"
#include "envoi/export.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi {

inline constexpr double kUndetermined = std::numeric_limits<double>::quiet_NaN();

// One standard deviation of each parameter's error; kUndetermined where the data do not fix it.
struct StandardErrors {
  double time_s = kUndetermined;
  double frequency_hz = kUndetermined;
  double duration_s = kUndetermined;
  double chirp_rate_hz_per_s = kUndetermined;
  double amplitude = kUndetermined;
  double phase_rad = kUndetermined;
};

// The real atom
//   amplitude exp(-(t-time_s)^2 / (2 duration_s^2))
//     cos(2 pi (frequency_hz (t-time_s) + chirp_rate_hz_per_s (t-time_s)^2 / 2) + phase_rad)
// within +-6 duration_s of time_s and within its segment.
struct Chirplet {
  double time_s = 0;  // centre, on the recording's own axis
  double frequency_hz = 0;
  double duration_s = 0;           // standard deviation of the amplitude envelope
  double chirp_rate_hz_per_s = 0;  // df/dt
  double amplitude = 0;            // in the channel's unit; rebuilds the atom
  double phase_rad = 0;            // in (-pi, pi]
  double peak = 0;                 // largest magnitude of the atom over the segment's samples
  double energy = 0;               // sum of squares of the atom's samples, unit^2
  double energy_share = 0;         // energy / the segment's; where it adds up (mp), else kUndetermined
  double energy_left_share = 0;    // left after atoms 1..i of the segment, share of the segment's energy
  StandardErrors se;
  bool kept = true;  // false: an overlapping window owns this stretch; reconstruction leaves the atom out
};

enum class StopReason { atoms, snr, energy, noise, silence, missing, exhausted, threshold, density };

// How the winners of a segment's searches were made sure of.
struct Certificate {
  std::string precision;                 // "f32" or "f64": arithmetic of the screen
  double bound = 0;                      // largest proven relative error of the screen's sqrt(energy)
  std::vector<std::uint64_t> survivors;  // candidates re-scored in fp64, one entry a search
};

struct Segment {
  std::size_t channel = 0;  // index into Decomposition::channels
  double start_s = 0;       // time of its first sample, on the recording's own axis
  std::size_t samples = 0;
  double mean = 0;  // trend taken out: mean + slope_per_s (t - start_s)
  double slope_per_s = 0;
  double energy = 0;         // sum of squares after detrending, missing samples left out
  double in_band_share = 0;  // share of that energy inside the band
  std::size_t missing_samples = 0;
  StopReason stop_reason = StopReason::atoms;
  double snr_db = 0;  // 10 log10(energy / residual energy); 0 where nothing was taken out
  double energy_left_share = 1;
  Certificate certificate;
  std::string event;           // text of the annotation that the window lies about; empty: none
  double event_s = 0;          // its time, on the recording's own axis
  std::size_t first_atom = 0;  // this segment's atoms are atoms[first_atom .. first_atom + atom_count)
  std::size_t atom_count = 0;
};

struct Source {
  std::string name;
  std::string sha256;
  std::string format;
  std::string start;  // ISO 8601 or empty
};

// A channel as the result knows it, with the grid that its rate gave.
struct AnalysedChannel {
  std::string name;
  std::string unit;
  double rate_hz = 0;
  std::uint64_t atoms_per_segment = 0;
};

struct GridScale {
  double duration_s = 0;
  std::uint64_t atoms = 0;
};

struct GridSummary {
  std::uint64_t atoms_per_segment = 0;
  double max_loss = 0;  // 0: explicit grid, no promise
  std::vector<GridScale> scales;
};

struct Program {
  std::string version;
  std::string device;
  std::string isa;
};

struct Decomposition {
  Program program;
  Source source;
  ReadOptions input;          // how the source was read; filled in by whoever read it
  Conditioning conditioning;  // what was done to it then; likewise
  Events events;              // about which the windows lie; likewise
  double rate_hz = 0;         // of the first channel
  PursuitOptions options;     // as resolved for the first channel: defaults filled in
  GridSummary grid;           // of the first channel
  std::vector<AnalysedChannel> channels;
  std::vector<Segment> segments;  // by channel, then time
  std::vector<Chirplet> atoms;    // by segment, then order found
  std::vector<std::string> warnings;

  std::span<const Chirplet> atoms_of(const Segment& segment) const {
    return std::span<const Chirplet>(atoms).subspan(segment.first_atom, segment.atom_count);
  }
};

// "atoms", "snr", "energy", "noise", "silence", "missing", "exhausted", "threshold", "density".
ENVOI_API const char* to_string(StopReason reason);

}  // namespace envoi
