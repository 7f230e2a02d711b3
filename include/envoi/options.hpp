// What to read, what to look for and when to stop. Plain values; an unset optional means: the default for the kind of
// data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace envoi {

struct Range {
  double low = 0;
  double high = 0;
};

// Which part of a file to read, and what the file does not say itself.
struct ReadOptions {
  std::string format;             // "": by content and ending; else edf bdf brainvision xdf hdf5 mat wav text ...
  std::optional<double> rate_hz;  // for files that do not carry it; contradicting one that does is an error
  bool rate_is_fallback = false;  // rate_hz gives way to a rate that the file carries, instead of contradicting it
  std::string column;             // text: name or 1-based number; "": every numeric column but time
  std::string time_column;        // text: name or 1-based number; "none"; "": found by its name or values
  std::string unit;               // of channels whose file names none; contradicting one that does is an error
  std::optional<std::size_t> raw_channels;  // f32, f64: so many, interleaved; default one
  std::vector<std::string> channels;        // names, globs (Fp*), 1-based numbers and ranges (1-4); empty: all
  std::vector<std::string> exclude;         // left out of these, in the same forms: bad channels
  std::vector<std::string> types;           // of these types alone ("eeg"); empty: all
  std::string dataset;                      // HDF5 and MATLAB: path of the data set, or variable; "": the only one
  std::string stream;                       // XDF: name, type or 1-based number; "": every stream of numbers at a rate
  bool bad_spans_missing = true;            // samples under annotations that begin with BAD_ (or BAD ) count as missing
  std::optional<double> from_s;             // on the recording's own axis; samples in [from_s, to_s)
  std::optional<double> to_s;
};

// What is done to a recording before it is analysed, in this order. Zero-phase throughout; missing samples stay missing
// and do not spread.
struct Conditioning {
  std::string reference;             // "", "average", or names of channels whose mean is taken off (A1,A2)
  std::vector<std::string> bipolar;  // "F3-C3": these differences instead of the channels
  std::optional<double> high_pass_hz;
  std::optional<double> low_pass_hz;  // with high_pass_hz below it a band-pass
  std::vector<double> notch_hz;
  std::optional<double> resample_hz;

  bool empty() const {
    return reference.empty() && bipolar.empty() && !high_pass_hz && !low_pass_hz && notch_hz.empty() && !resample_hz;
  }
};

enum class Method { mp, omp, joint };
enum class Detrend { mean, linear, none };
enum class Missing { reject, weight };
// How several channels of one rate are taken apart.
enum class Channels {
  independent,
  joint,       // one time, frequency, duration and chirp rate for all, an amplitude and a phase for each
  joint_phase  // one phase as well
};
enum class Precision {
  exact,   // fp32 screen, winner certified in fp64
  double_  // fp64 throughout
};
enum class Phase {
  solved,  // amplitude and phase fitted
  fixed    // ACT-lib's real atoms: phase 0, for comparison
};

// first, first + step, ... up to last (within 1e-9 of a step).
struct Axis {
  double first = 0;
  double last = 0;
  double step = 1;
};

// A dictionary given point by point: the product of four axes.
struct ExplicitGrid {
  Axis time;  // from the segment's first sample; seconds, or samples
  bool time_in_samples = false;
  Axis frequency_hz;
  Axis ln_duration;          // natural logarithm of the duration in seconds
  Axis chirp_rate_hz_per_s;  // df/dt
};

// Whichever is reached first. All are free of the signal's unit.
struct StopRules {
  std::optional<std::size_t> atoms;         // at most so many, a segment
  std::optional<double> snr_db;             // after the first atom that reaches it
  std::optional<double> energy_left_share;  // in (0, 1): after the first atom that leaves at most so much
  std::optional<double> noise_p;            // in (0, 1): when the best atom could be white noise, at this alarm rate
  std::optional<double> threshold;          // unit^2: before the first atom that takes less energy
  std::optional<double> density_per_s;      // whole_signal: at most so many atoms a second
};

struct Progress {
  std::size_t segments_done = 0;
  std::size_t segments = 0;
  double seconds_of_signal_done = 0;
  double seconds_of_signal = 0;
};

// Finished parts of a run (windows, stretches of a whole-signal pursuit), kept by whoever calls, so that a later run of
// the same samples and options on the same instruction set continues. What is recalled must be what was kept.
struct Parts {
  std::function<std::optional<std::string>(const std::string& name)> recall;    // called from one thread at a time
  std::function<void(const std::string& name, const std::string& bytes)> keep;  // likewise
  // Which parts to compute: windows of a channel after the other (of joint channels: windows), or whole channels with
  // whole_signal, counted from 0. Null: all. The result lacks the others.
  std::function<bool(std::size_t part)> wanted;
};

struct PursuitOptions {
  std::optional<Range> band_hz;  // the ridge fc +- |c| Dt of every atom stays inside
  std::optional<Range> durations_s;
  std::optional<Range> chirp_rates_hz_per_s;
  double max_loss = 0.1;  // the grid's promise: the best atom of the grid keeps 1 - max_loss of any atom's energy
  bool gabor = false;     // chirp rate 0 alone
  std::optional<ExplicitGrid> grid;
  Phase phase = Phase::solved;

  StopRules stop;  // nothing set: the defaults

  Method method = Method::mp;
  bool refine = true;
  Detrend detrend = Detrend::mean;
  Missing missing = Missing::reject;

  std::optional<double> window_s;
  bool whole = false;            // one window over everything; excludes window_s
  bool whole_signal = false;     // no windows at all: atoms of the whole recording, found by local rounds
  std::vector<double> starts_s;  // windows of window_s that begin here, on the recording's axis, and nowhere else
  Channels channels = Channels::independent;
  std::optional<double> hop_s;  // default: the window

  // How to run; none of these changes a bit of the result, but precision.
  unsigned threads = 0;  // 0: all processors (or ENVOI_THREADS)
  std::string device = "auto";
  Precision precision = Precision::exact;
  bool force = false;  // go past 1e10 atoms
  Parts parts;
  std::function<bool(const Progress&)> progress;  // called from one thread at a time; false cancels
};

}  // namespace envoi
