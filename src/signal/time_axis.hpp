// A column of times to a rate: even spacing, its jitter, and where rows are missing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace envoi::signal {

struct TimeAxis {
  double start_s = 0;
  double rate_hz = 0;
  double jitter_s = 0;                 // largest deviation from even spacing
  std::size_t samples = 0;             // with those that are missing
  std::vector<std::size_t> positions;  // of each row among the samples; empty: no row is missing

  bool fits = false;
  bool out_of_order = false;  // times that stand still or go back, or are no numbers, from `row` on
  std::size_t row = 0;        // 0-based: out of order, or furthest from even spacing
  double worst_s = 0;         // how far that is
};

// Needs at least two times. `fits` is false if rows are out of order, or further than 0.45 of a sample from even.
TimeAxis fit_time_axis(const std::vector<double>& times_s);

// What a column's name says of it: seconds of one unit of a time column ("t [ms]" is 1e-3), 0 if it is none.
double time_unit_of(std::string_view name);

}  // namespace envoi::signal
