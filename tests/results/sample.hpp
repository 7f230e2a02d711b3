// A decomposition made by hand, with awkward values in every place a file could spoil them.
#pragma once

#include <limits>

#include "envoi/decomposition.hpp"

namespace envoi {

inline Decomposition sample_decomposition() {
  Decomposition d;
  d.program = {"0.1.0", "cpu", "avx2"};
  d.source = {"nîght \"1\"\t.edf", "00ff", "edf+", "2026-01-31T22:10:05"};
  d.input.format = "text";
  d.input.rate_hz = 256.0;
  d.input.column = "µV";
  d.input.time_column = "2";
  d.input.channels = {"Cz", "1-4"};
  d.input.from_s = -0.0;
  d.input.to_s = 1e308;
  d.rate_hz = 256;
  PursuitOptions& o = d.options;
  o.band_hz = Range{0.1, 1.0 / 3};
  o.durations_s = Range{5e-324, 1e308};
  o.max_loss = 0.05;
  o.gabor = true;
  o.grid = ExplicitGrid{{0, 511, 5}, true, {0.3, 20, 1}, {-1.897, -0.105, 0.08}, {-40, 40, 2}};
  o.phase = Phase::fixed;
  o.stop = {std::size_t{7}, 12.5, 0.01, 0.05, {}, {}};
  o.method = Method::joint;
  o.refine = false;
  o.detrend = Detrend::linear;
  o.missing = Missing::weight;
  o.window_s = 2;
  o.hop_s = 1;
  o.precision = Precision::double_;
  d.grid = {603520, 0.1, {{0.05, 1000}, {0.1, 18446744073709551615U}}};
  d.channels = {{"Cz", "uV", 256, 603520}, {"Fp1\t\n", "", 99.9, 5}};
  d.warnings = {"one", "two\nlines"};
  d.segments.resize(3);
  Segment& a = d.segments[0];
  a.start_s = 0.1;
  a.samples = 512;
  a.mean = -0.0;
  a.slope_per_s = 5e-324;
  a.energy = 1.7976931348623157e308;
  a.in_band_share = 0.97;
  a.missing_samples = 3;
  a.stop_reason = StopReason::noise;
  a.snr_db = 13.400000000000001;
  a.energy_left_share = 0.046;
  a.certificate = {"f32", 1e-6, {3, 1, 4}};
  a.atom_count = 2;
  d.segments[1].samples = 512, d.segments[1].first_atom = 2, d.segments[1].stop_reason = StopReason::silence;
  Segment& c = d.segments[2];
  c.channel = 1, c.samples = 100, c.first_atom = 2, c.atom_count = 1;
  c.snr_db = std::numeric_limits<double>::infinity();
  d.atoms.resize(3);
  d.atoms[0] = {0.71, 12.4, 0.31, -1.2, 21, 0.42, 20.9, 310.2, 0.38, 0.62, {0.002, 0.05, 0.01, 0.2, 0.4, 0.03}, true};
  d.atoms[1] = {1e15 + 0.125,
                1e-310,
                4.9e-324,
                -1.7976931348623157e308,
                9007199254740993.0,
                -0.0,
                1e22,
                1e-5,
                kUndetermined,
                0.1 + 0.2,
                {kUndetermined, 5e-324, kUndetermined, 1e308, 0.1, kUndetermined},
                false};
  d.atoms[2] = {0.5, 10, 0.1, 0, 30, 0.42, 10, 310.2, 0.38, 0.62, {}, true};
  return d;
}

}  // namespace envoi
