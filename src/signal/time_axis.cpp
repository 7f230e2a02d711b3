// A column of times to a rate: even spacing, its jitter, and where rows are missing.
#include "time_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "shared.hpp"

namespace envoi::signal {
namespace {

// Beyond this share of a sample a row could as well be its neighbour.
constexpr double kMostJitter = 0.45;

struct Deviation {
  double largest_s = 0;
  std::size_t row = 0;
};

Deviation deviation_from(const std::vector<double>& times_s, const std::vector<std::size_t>& positions,
                         double spacing_s) {
  Deviation worst;
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const double position = static_cast<double>(positions.empty() ? i : positions[i]);
    const double off_s = std::abs(times_s[i] - times_s[0] - position * spacing_s);
    if (off_s > worst.largest_s) worst = {off_s, i};
  }
  return worst;
}

// The shortest decimal number of Hz that the times cannot tell from 1 / spacing: they are often rounded.
double plain_rate(double spacing_s, double steps, double tolerance_s) {
  for (int digits = 1; digits < 17; ++digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, 1 / spacing_s);
    const double rate_hz = std::strtod(text, nullptr);
    if (std::abs(1 / rate_hz - spacing_s) * steps <= tolerance_s) return rate_hz;
  }
  return 1 / spacing_s;
}

}  // namespace

TimeAxis fit_time_axis(const std::vector<double>& times_s) {
  TimeAxis axis;
  const std::size_t rows = times_s.size();
  axis.samples = rows;
  axis.start_s = times_s[0];
  std::vector<double> steps_s(rows - 1);
  for (std::size_t i = 0; i + 1 < rows; ++i) {
    steps_s[i] = times_s[i + 1] - times_s[i];
    if (!(steps_s[i] > 0) || !std::isfinite(steps_s[i])) {
      axis.out_of_order = true;
      axis.row = i + 1;
      return axis;
    }
  }
  double spacing_s = (times_s.back() - times_s[0]) / static_cast<double>(rows - 1);
  Deviation worst = deviation_from(times_s, {}, spacing_s);
  if (worst.largest_s > kMostJitter * spacing_s) {
    // A missing row puts some time half a sample off, so there are gaps, or it is not even at all.
    std::vector<double> sorted = steps_s;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    double position = 0;
    axis.positions.resize(rows, 0);
    for (std::size_t i = 1; i < rows; ++i) {
      position += std::max(1.0, std::round(steps_s[i - 1] / *middle));
      if (position > 1e15) {
        axis.row = i;
        axis.worst_s = steps_s[i - 1];
        return axis;
      }
      axis.positions[i] = static_cast<std::size_t>(position);
    }
    axis.samples = axis.positions.back() + 1;
    spacing_s = (times_s.back() - times_s[0]) / position;
    worst = deviation_from(times_s, axis.positions, spacing_s);
  }
  axis.row = worst.row;
  axis.worst_s = worst.largest_s;
  axis.jitter_s = worst.largest_s;
  if (worst.largest_s > kMostJitter * spacing_s) return axis;
  const double ulp_s =
      std::numeric_limits<double>::epsilon() * std::max(std::abs(times_s[0]), std::abs(times_s.back()));
  axis.rate_hz = plain_rate(spacing_s, static_cast<double>(axis.samples - 1), worst.largest_s + 2 * ulp_s);
  axis.fits = std::isfinite(axis.rate_hz) && axis.rate_hz >= 1e-9 && axis.rate_hz <= 1e15;
  return axis;
}

double time_unit_of(std::string_view name) {
  // "Time (ms)", "time_ms", "t [s]": words of letters, the first says time, the last the unit.
  std::string spaced = lower_case(to_utf8(name));
  for (const char* micro : {"\u00B5", "\u03BC"}) {
    const std::size_t at = spaced.find(micro);
    if (at != std::string::npos) spaced.replace(at, 2, "u");
  }
  std::vector<std::string> words(1);
  for (const char c : spaced) {
    const bool letter = (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9');
    if (letter) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  if (words.empty() || words.size() > 2) return 0;

  struct Word {
    std::string_view word;
    double seconds;
  };
  constexpr std::array kUnits = {Word{"s", 1},
                                 Word{"sec", 1},
                                 Word{"secs", 1},
                                 Word{"second", 1},
                                 Word{"seconds", 1},
                                 Word{"ms", 1e-3},
                                 Word{"msec", 1e-3},
                                 Word{"millis", 1e-3},
                                 Word{"millisecond", 1e-3},
                                 Word{"us", 1e-6},
                                 Word{"usec", 1e-6},
                                 Word{"microseconds", 1e-6},
                                 Word{"milliseconds", 1e-3},
                                 Word{"ns", 1e-9},
                                 Word{"nanoseconds", 1e-9},
                                 Word{"min", 60},
                                 Word{"minutes", 60},
                                 Word{"h", 3600},
                                 Word{"hours", 3600}};
  constexpr std::array<std::string_view, 5> kTime = {"time", "t", "timestamp", "timestamps", "times"};
  const bool says_time = std::find(kTime.begin(), kTime.end(), words[0]) != kTime.end();
  if (words.size() == 1 && says_time) return 1;
  if (words.size() == 2 && !says_time) return 0;
  for (const Word& unit : kUnits) {
    const bool alone_is_enough = unit.seconds <= 1;  // "min" and "h" are more often something else
    if (unit.word == words.back() && (words.size() == 2 || alone_is_enough)) return unit.seconds;
  }
  return 0;
}

}  // namespace envoi::signal
