// Books of matching pursuit: ours come back as they were, those of other programs are read, and damaged ones refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <random>
#include <sstream>

#include "cases.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/foreign.hpp"
#include "results/sqlite.hpp"
#include "sample.hpp"

namespace envoi {
namespace {

using results::Database;
using results::Statement;

// Two channels in overlapping windows.
Decomposition two_channels() {
  Decomposition d = sample_decomposition();
  d.channels[1].rate_hz = 256;
  d.atoms.clear();
  d.segments.resize(4);
  for (std::size_t i = 0; i < 4; ++i) {
    Segment& s = d.segments[i];
    s.channel = i / 2;
    s.start_s = 10 + static_cast<double>(i % 2);
    s.samples = 512;
    s.mean = 0.25 * static_cast<double>(i);
    s.slope_per_s = 1;
    s.snr_db = 3 + static_cast<double>(i);
    s.first_atom = d.atoms.size();
    s.atom_count = i;
    for (std::size_t a = 0; a < i; ++a) {
      Chirplet atom;
      atom.time_s = s.start_s + 0.9 + 0.1 * static_cast<double>(a);
      atom.frequency_hz = 12.4;
      atom.duration_s = 0.31;
      atom.chirp_rate_hz_per_s = -1.2 * static_cast<double>(a);
      atom.amplitude = 21;
      atom.phase_rad = 0.42 - static_cast<double>(a);
      atom.energy = 310.2;
      atom.kept = a != 1;
      d.atoms.push_back(atom);
    }
  }
  return d;
}

std::string message(const std::string& bytes) {
  try {
    results::read_book(bytes, "x.db");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    const std::string what = error.what();
    EXPECT_EQ(what.substr(0, 6), "x.db: ") << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_LT(what.size(), 400u);
    return what;
  }
  return "";
}

void expect_same_atoms(const Decomposition& a, const Decomposition& b) {
  ASSERT_EQ(a.atoms.size(), b.atoms.size());
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    EXPECT_EQ(a.atoms[i].time_s, b.atoms[i].time_s);
    EXPECT_EQ(a.atoms[i].frequency_hz, b.atoms[i].frequency_hz);
    EXPECT_EQ(a.atoms[i].chirp_rate_hz_per_s, b.atoms[i].chirp_rate_hz_per_s);
    EXPECT_EQ(a.atoms[i].amplitude, b.atoms[i].amplitude);
    EXPECT_EQ(a.atoms[i].phase_rad, b.atoms[i].phase_rad);
    EXPECT_EQ(a.atoms[i].kept, b.atoms[i].kept);
    EXPECT_NEAR(a.atoms[i].duration_s, b.atoms[i].duration_s, 1e-15 * a.atoms[i].duration_s);
    EXPECT_NEAR(a.atoms[i].energy, b.atoms[i].energy, 1e-14 * a.atoms[i].energy);
  }
}

TEST(Book, ours_comes_back_with_its_parameters_and_rebuilds_the_same_signal) {
  const Decomposition d = two_channels();
  const std::string bytes = results::book_bytes(d, {}, "x.db");
  EXPECT_EQ(bytes, results::book_bytes(d, {}, "x.db")) << "the same result gives the same bytes";
  EXPECT_TRUE(results::is_book(bytes));
  const Decomposition back = results::read_book(bytes, "x.db");
  expect_same_atoms(d, back);
  Decomposition bare = d, bare_back = back;
  for (Decomposition* each : {&bare, &bare_back}) each->atoms.assign(d.atoms.size(), Chirplet{});
  EXPECT_EQ(to_json(bare), to_json(bare_back)) << "all but the atoms";
  const auto a = reconstruct(d), b = reconstruct(back);
  for (std::size_t c = 0; c < a.size(); ++c)
    for (std::size_t i = 0; i < a[c].samples.size(); ++i) EXPECT_NEAR(a[c].samples[i], b[c].samples[i], 1e-10);
}

TEST(Book, has_the_tables_that_other_programs_read_and_its_own_columns_last) {
  Decomposition d = two_channels();
  std::vector<Channel> signal(1);
  signal[0].name = d.channels[1].name;
  signal[0].rate_hz = 256;
  signal[0].start_s = 10;
  signal[0].samples.assign(600, 1.5);
  Database book(results::book_bytes(d, signal, "x.db"), "x.db");
  EXPECT_EQ(book.columns("atoms"),
            (std::vector<std::string>{"segment_id", "channel_id", "iteration", "amplitude", "energy", "envelope",
                                      "f_Hz", "phase", "scale_s", "t0_s", "t0_abs_s", "chirp_Hz_per_s", "kept"}));
  Statement atom(book,
                 "SELECT energy, envelope, scale_s, t0_s, t0_abs_s FROM atoms WHERE segment_id = 1 AND "
                 "channel_id = 0 AND iteration = 0");
  ASSERT_TRUE(atom.step());
  EXPECT_DOUBLE_EQ(*atom.number(0), 310.2 / 256);
  EXPECT_EQ(*atom.text(1), "gauss");
  EXPECT_DOUBLE_EQ(*atom.number(2), std::sqrt(2 * std::numbers::pi) * 0.31);
  EXPECT_NEAR(*atom.number(3), 0.9, 1e-12);
  EXPECT_EQ(*atom.number(4), d.atoms[0].time_s);
  Statement segment(book, "SELECT sample_count, segment_length_s, segment_offset_s FROM segments WHERE segment_id = 1");
  ASSERT_TRUE(segment.step());
  EXPECT_EQ(*segment.integer(0), 512);
  EXPECT_EQ(*segment.number(1), 2);
  EXPECT_EQ(*segment.number(2), 11);
  Statement samples(book, "SELECT samples_float32 FROM samples WHERE segment_id = 1 AND channel_id = 1");
  ASSERT_TRUE(samples.step());
  EXPECT_EQ(samples.blob(0)->size(), 4 * 512u);
  EXPECT_EQ(samples.blob(0)->substr(0, 4), (std::string_view{"\x3F\xC0\0\0", 4})) << "1.5, big-endian";
  EXPECT_EQ(samples.blob(0)->substr(4 * 400, 2), "\x7F\xC0") << "NaN where the signal has ended";
}

TEST(Book, what_it_cannot_hold_is_refused) {
  Decomposition d = two_channels();
  d.channels[1].rate_hz = 100;
  EXPECT_THROW(results::book_bytes(d, {}, "x.db"), Error);
  d.channels.clear(), d.segments.clear();
  EXPECT_THROW(results::book_bytes(d, {}, "x.db"), Error);
}

// A book as other programs make it, changed by `sql`.
std::string plain(const std::string& sql = "") {
  Database book("made");
  book.run(
      "CREATE TABLE metadata (param TEXT PRIMARY KEY,value TEXT NOT NULL);"
      "CREATE TABLE atoms (segment_id INTEGER,channel_id INTEGER,iteration INTEGER,amplitude REAL,energy REAL,"
      "envelope TEXT,f_Hz REAL,phase REAL,scale_s REAL,t0_s REAL,t0_abs_s REAL);"
      "CREATE TABLE segments (segment_id INTEGER,sample_count INTEGER,segment_length_s REAL,segment_offset_s REAL);"
      "CREATE TABLE samples (segment_id INTEGER,channel_id INTEGER,samples_float32 BLOB);"
      "INSERT INTO metadata VALUES ('channel_count','2'),('sampling_frequency_Hz','100.0'),('segment_count','2');"
      "INSERT INTO segments VALUES (0,200,2.0,0.0),(1,200,2.0,1.0);"
      "INSERT INTO atoms VALUES "
      "(0,0,0,2.0,1.5,'gauss',10.0,0.5,1.0,0.7,0.7),(0,0,1,1.0,0.4,'gauss',5.0,0.0,1.0,1.8,1.8),"
      "(1,0,0,2.0,1.5,'gauss',10.0,0.5,1.0,0.1,1.1),(1,1,0,1.0,0.1,'delta',NULL,NULL,NULL,0.5,1.5);");
  if (!sql.empty()) book.run(sql.c_str());
  return book.bytes();
}

TEST(Book, of_another_program_gives_its_atoms_and_the_rest_stays_undetermined) {
  const Decomposition d = results::read_book(plain(), "x.db");
  ASSERT_EQ(d.channels.size(), 2u);
  EXPECT_EQ(d.channels[1].name, "2");
  EXPECT_EQ(d.rate_hz, 100);
  ASSERT_EQ(d.segments.size(), 4u);
  EXPECT_TRUE(std::isnan(d.segments[0].snr_db));
  EXPECT_EQ(d.segments[1].start_s, 1);
  ASSERT_EQ(d.atoms.size(), 3u);
  EXPECT_DOUBLE_EQ(d.atoms[0].duration_s, 1 / std::sqrt(2 * std::numbers::pi));
  EXPECT_EQ(d.atoms[0].energy, 150);
  EXPECT_NEAR(d.atoms[0].peak, 2, 0.2);
  EXPECT_TRUE(d.atoms[0].kept);
  EXPECT_FALSE(d.atoms[1].kept) << "the overlap from 1 to 2 s is shared in its middle";
  EXPECT_FALSE(d.atoms[2].kept);
  ASSERT_EQ(d.warnings.size(), 1u);
  EXPECT_NE(d.warnings[0].find("'delta'"), std::string::npos);
  EXPECT_EQ(reconstruct(d)[0].samples.size(), 300u);
  // Undetermined numbers survive a round trip through JSON and through a book of ours.
  EXPECT_TRUE(std::isnan(results::read_book(results::book_bytes(d, {}, "y.db"), "y.db").segments[0].snr_db));
}

TEST(Book, faults_are_refused_with_their_place) {
  const struct {
    const char *sql, *place;
  } cases[] = {
      {"DROP TABLE atoms", "without a table 'atoms'"},
      {"DROP TABLE metadata", "'metadata'"},
      {"ALTER TABLE segments RENAME COLUMN sample_count TO n", "no column 'sample_count'"},
      {"DROP TABLE segments; CREATE VIEW segments AS SELECT 0 segment_id, 1 sample_count, 0.0 segment_offset_s",
       "without a table 'segments'"},
      {"DELETE FROM metadata WHERE param = 'sampling_frequency_Hz'", "'sampling_frequency_Hz' is not there"},
      {"UPDATE metadata SET value = 'NaN' WHERE param = 'sampling_frequency_Hz'", "'sampling_frequency_Hz' is 'NaN'"},
      {"UPDATE metadata SET value = '-1' WHERE param = 'channel_count'", "'channel_count' is '-1'"},
      {"UPDATE metadata SET value = '1e18' WHERE param = 'channel_count'", "channel_count"},
      {"INSERT INTO metadata VALUES ('version', '2.0.0')", "version is '2.0.0'"},
      {"UPDATE segments SET sample_count = 9223372036854775807", "segment 0: sample_count"},
      {"UPDATE segments SET sample_count = 'many'", "segment 0: sample_count"},
      {"UPDATE segments SET segment_offset_s = NULL", "segment_offset_s"},
      {"UPDATE segments SET segment_offset_s = 9e999", "segment_offset_s"},
      {"UPDATE segments SET segment_id = 0", "is there twice"},
      {"UPDATE atoms SET segment_id = 7", "segment 7"},
      {"UPDATE atoms SET channel_id = NULL", "channel ?"},
      {"UPDATE atoms SET amplitude = NULL WHERE iteration = 1", "segment 0, channel 0, iteration 1: amplitude"},
      {"UPDATE atoms SET f_Hz = 'ten'", "f_Hz is no finite number"},
      {"UPDATE atoms SET energy = -1", "energy"},
      {"UPDATE atoms SET scale_s = 0", "scale_s should be above 0"},
      {"UPDATE atoms SET scale_s = 9e999", "scale_s"},
      {"UPDATE atoms SET t0_abs_s = 100", "contradict"},
      {"INSERT INTO samples VALUES (0, 0, x'00')", "has 1 bytes for 200 samples"},
      {"INSERT INTO samples VALUES (9, 0, x'00')", "table samples"},
      {"INSERT INTO samples VALUES (0, 0, 1.5)", "table samples"},
  };
  EXPECT_EQ(message(plain()), "");
  for (const auto& c : cases)
    EXPECT_NE(message(plain(c.sql)).find(c.place), std::string::npos) << c.sql << ": " << message(plain(c.sql));
}

// A book's bytes after a statement on its tables, which are named b.TABLE.
std::string changed(const std::string& bytes, const std::string& sql) {
  const std::string path = testing::TempDir() + "/envoi_book_" + std::to_string(::getpid()) + ".db";
  std::ofstream(path, std::ios::binary) << bytes;
  {
    Database other("made");
    other.run(("ATTACH '" + path + "' AS b").c_str());
    other.run(sql.c_str());
  }
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  std::remove(path.c_str());
  return out.str();
}

TEST(Book, a_book_of_ours_that_was_changed_is_refused) {
  const std::string whole = results::book_bytes(two_channels(), {}, "x.db");
  EXPECT_EQ(message(changed(whole, "UPDATE b.atoms SET amplitude = 1")), "") << "atoms are what the table says";
  for (const char* sql :
       {"UPDATE b.segments SET segment_offset_s = 99", "DELETE FROM b.segments",
        "UPDATE b.envoi_segments SET description = '{}'", "UPDATE b.envoi_segments SET description = 7",
        "UPDATE b.metadata SET value = '3' WHERE param = 'channel_count'",
        "UPDATE b.metadata SET value = '9' WHERE param = 'sampling_frequency_Hz'",
        "UPDATE b.metadata SET value = '{}' WHERE param = 'envoi.decomposition'",
        "UPDATE b.envoi_segments SET channel_id = 5 WHERE channel_id = 1"})
    EXPECT_NE(message(changed(whole, sql)), "") << sql;
}

TEST(Book, truncated_and_damaged_bytes_never_do_harm) {
  const std::string whole = results::book_bytes(two_channels(), {}, "x.db");
  EXPECT_NE(message(""), "");
  EXPECT_NE(message("SQLite format 3"), "");
  EXPECT_NE(message(std::string(5000, 'x')), "");
  for (std::size_t length = 16; length < whole.size(); length += 331) EXPECT_NE(message(whole.substr(0, length)), "");
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    message(bytes);
  }
}

TEST(Book, of_the_collection_rebuilds_its_signal) {
  ENVOI_CASE(book, "books/gabors_smp.db");
  ENVOI_CASE(signal, "books/gabors_5ch_512Hz_f32.bin");
  const Decomposition d = read_result(book);
  ASSERT_EQ(d.channels.size(), 5u);
  ASSERT_EQ(d.atoms.size(), 5u);
  std::ifstream in(signal, std::ios::binary);
  std::vector<float> input(5 * 5120);
  in.read(reinterpret_cast<char*>(input.data()), static_cast<std::streamsize>(input.size() * 4));
  const auto model = reconstruct(d);
  for (std::size_t c = 0; c < 5; ++c) {
    ASSERT_EQ(model[c].samples.size(), 5120u);
    double left = 0, all = 0;
    for (std::size_t i = 0; i < 5120; ++i) {
      left += std::pow(input[5 * i + c] - model[c].samples[i], 2);
      all += std::pow(input[5 * i + c], 2);
    }
    EXPECT_LT(left, 5120 * 0.011) << "noise of 0.1 and nothing else";
    EXPECT_NEAR(d.segments[c].energy, all, 1e-9 * all);
  }
}

}  // namespace
}  // namespace envoi
