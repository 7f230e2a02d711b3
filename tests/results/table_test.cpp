// The table for people: what it must say, and that it fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "envoi/results.hpp"
#include "results/quantity.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Decomposition plain() {
  Decomposition d = sample_decomposition();
  d.atoms[1] = d.atoms[0];
  d.atoms[1].kept = false;
  return d;
}

TEST(Table, says_what_was_found_with_units) {
  const std::string wide = to_table(plain(), 200), narrow = to_table(plain(), 80);
  for (const std::string& text : {wide, narrow}) {
    for (const char* part : {"time", "frequency", "duration", "chirp rate", "peak", "share", "12.4", "310", "20.9",
                             "µV", "Hz/s", "38.0 %", "Cz", "stopped by noise", "silence"})
      EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  }
  EXPECT_TRUE(has(wide, "12.400 ±0.050 Hz")) << wide;
  EXPECT_FALSE(has(narrow, "±")) << narrow;
  std::istringstream lines(narrow);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("  ")) {
      EXPECT_LE(results::display_width(line), 80u) << line;
    }
  }
}

TEST(Table, warns_where_amplitude_and_phase_trade_off) {
  Decomposition d = plain();
  EXPECT_TRUE(has(to_table(d, 120), "trade off"));  // the third atom: 30 against 10
  d.atoms[2].amplitude = 10;
  EXPECT_FALSE(has(to_table(d, 120), "trade off"));
}

TEST(Table, atoms_of_other_windows_are_counted_not_shown) {
  EXPECT_TRUE(has(to_table(plain(), 120), "1 atoms that belong to an overlapping window are not shown"));
}

TEST(Table, stops_after_200_rows_and_says_so) {
  Decomposition d = plain();
  d.segments.resize(1);
  d.segments[0].atom_count = 1234;
  d.atoms.assign(1234, d.atoms[0]);
  const std::string text = to_table(d, 120);
  EXPECT_TRUE(has(text, "1034 more atoms are not shown"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 220);
  d.segments.assign(5000, d.segments[0]);
  for (Segment& segment : d.segments) segment.atom_count = 0;
  const std::string quiet = to_table(d, 120);
  EXPECT_TRUE(has(quiet, "5000 without an atom"));
  EXPECT_LT(std::count(quiet.begin(), quiet.end(), '\n'), 20);
}

TEST(Table, nothing_at_all_is_a_table_too) { EXPECT_TRUE(has(to_table({}, 0), "no segments")); }

TEST(Quantity, prefixes_and_digits) {
  using results::plain_quantity;
  using results::quantity;
  using results::quantity_with_error;
  EXPECT_EQ(quantity(12.8, "Hz", 3), "12.8 Hz");
  EXPECT_EQ(quantity(0.31, "s", 3), "310 ms");
  EXPECT_EQ(quantity(-15.2e6, "Hz/s", 3), "-15.2 MHz/s");
  EXPECT_EQ(quantity(0.625, "Hz", 3), "0.625 Hz");
  EXPECT_EQ(quantity(20.94, "uV", 3), "20.9 µV");
  EXPECT_EQ(quantity(2.1e-5, "V", 3), "21.0 µV");
  EXPECT_EQ(quantity(0, "Hz", 3), "0.00 Hz");
  EXPECT_EQ(quantity(999.96, "Hz", 3), "1.00 kHz");
  EXPECT_EQ(quantity(1e-300, "s", 2), "1.0e-300 s");
  EXPECT_EQ(plain_quantity(0.5, "Hz"), "0.5 Hz");
  EXPECT_EQ(quantity_with_error(12.4, 0.05, "Hz", 4), "12.400 ±0.050 Hz");
  EXPECT_EQ(quantity_with_error(0.31, 0.012, "s", 3), "310 ±12 ms");
  EXPECT_EQ(quantity_with_error(1, kUndetermined, "s", 3), "1.00 s");
}

}  // namespace
}  // namespace envoi
