// What the reader of MATLAB files promises: matrices of every version, and EEGLAB's sets with events.
#include <matio.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

// A matrix whose number at (row r, column c) is 1000 r + c.
matvar_t* matrix(const char* name, std::size_t rows, std::size_t columns) {
  std::vector<double> values(rows * columns);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < rows; ++r)
      values[c * rows + r] = 1000.0 * static_cast<double>(r) + static_cast<double>(c);
  }
  std::size_t axes[2] = {rows, columns};
  return Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, axes, values.data(), 0);
}

matvar_t* number(double value) {
  std::size_t axes[2] = {1, 1};
  return Mat_VarCreate(nullptr, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, axes, &value, 0);
}

matvar_t* text(std::string value) {
  std::size_t axes[2] = {1, value.size()};
  return Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UINT8, 2, axes, value.data(), 0);
}

void write(const std::string& path, const std::vector<matvar_t*>& variables, mat_ft version = MAT_FT_MAT5,
           matio_compression packing = MAT_COMPRESSION_NONE) {
  mat_t* file = Mat_CreateVer(path.c_str(), nullptr, version);
  for (matvar_t* variable : variables) {
    Mat_VarWrite(file, variable, packing);
    Mat_VarFree(variable);
  }
  Mat_Close(file);
}

struct Eeg {
  matvar_t* data = nullptr;
  double rate_hz = 250, trials = 1, channels = 2, points = 100;

  matvar_t* variable() const {
    const char* names[] = {"data", "srate", "nbchan", "pnts", "trials", "xmin", "chanlocs", "event"};
    std::size_t one[2] = {1, 1};
    matvar_t* eeg = Mat_VarCreateStruct("EEG", 2, one, names, 8);
    const auto set = [&](const char* name, matvar_t* value) { Mat_VarSetStructFieldByName(eeg, name, 0, value); };
    set("data", data);
    set("srate", number(rate_hz));
    set("nbchan", number(channels));
    set("pnts", number(points));
    set("trials", number(trials));
    set("xmin", number(0));
    const char* place_names[] = {"labels", "type"};
    std::size_t two[2] = {1, 2};
    matvar_t* places = Mat_VarCreateStruct(nullptr, 2, two, place_names, 2);
    Mat_VarSetStructFieldByName(places, "labels", 0, text("Cz"));
    Mat_VarSetStructFieldByName(places, "labels", 1, text("left"));
    Mat_VarSetStructFieldByName(places, "type", 1, text("EOG"));
    set("chanlocs", places);
    const char* event_names[] = {"type", "latency", "duration"};
    std::size_t three[2] = {1, 3};
    matvar_t* events = Mat_VarCreateStruct(nullptr, 2, three, event_names, 3);
    Mat_VarSetStructFieldByName(events, "type", 0, number(7));
    Mat_VarSetStructFieldByName(events, "latency", 0, number(26));
    Mat_VarSetStructFieldByName(events, "duration", 0, number(25));
    Mat_VarSetStructFieldByName(events, "type", 1, text("go"));
    Mat_VarSetStructFieldByName(events, "latency", 1, number(11));
    Mat_VarSetStructFieldByName(events, "type", 2, text("boundary"));
    Mat_VarSetStructFieldByName(events, "latency", 2, number(50.5));
    Mat_VarSetStructFieldByName(events, "duration", 2, number(40));
    set("event", events);
    return eeg;
  }
};

void expect_set(const Recording& r) {
  EXPECT_EQ(r.format, "eeglab");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "Cz");
  EXPECT_EQ(r.channels[0].type, "eeg");
  EXPECT_EQ(r.channels[1].type, "eog");
  EXPECT_EQ(r.channels[0].rate_hz, 250);
  EXPECT_EQ(r.channels[0].unit, "") << "the format does not say";
  ASSERT_EQ(r.channels[1].samples.size(), 100u);
  EXPECT_EQ(r.channels[1].samples[9], 1009);
  ASSERT_EQ(r.annotations.size(), 3u);
  EXPECT_EQ(r.annotations[0].text, "go");
  EXPECT_NEAR(r.annotations[0].onset_s, 0.04, 1e-12);
  EXPECT_EQ(r.annotations[1].text, "7");
  EXPECT_NEAR(*r.annotations[1].duration_s, 0.1, 1e-12);
  EXPECT_EQ(r.annotations[2].text, "boundary");
  ASSERT_EQ(r.warnings.size(), 2u);
  EXPECT_NE(r.warnings[0].find("boundary"), std::string::npos);
  EXPECT_NE(r.warnings[1].find("unit"), std::string::npos);
}

TEST(Matlab, every_version_is_read_by_its_longer_axis) {
  const Folder folder;
  write(folder / "4.mat", {matrix("x", 3, 50)}, MAT_FT_MAT4);
  write(folder / "5.mat", {matrix("x", 3, 50)});
  write(folder / "packed.mat", {matrix("x", 3, 50)}, MAT_FT_MAT5, MAT_COMPRESSION_ZLIB);
  write(folder / "73.mat", {matrix("x", 3, 50)}, MAT_FT_MAT73);
  for (const char* name : {"4.mat", "5.mat", "packed.mat", "73.mat"}) {
    const Recording r = envoi::read(folder / name, at_rate(10));
    EXPECT_EQ(r.format, "mat");
    ASSERT_EQ(r.channels.size(), 3u) << name;
    EXPECT_EQ(r.channels[2].samples.size(), 50u);
    EXPECT_EQ(r.channels[2].samples[49], 2049);
  }
  write(folder / "tall.mat", {matrix("x", 50, 3)});
  EXPECT_EQ(envoi::read(folder / "tall.mat", at_rate(10)).channels[2].samples[49], 49002);
}

TEST(Matlab, a_rate_and_one_of_several_variables_must_be_given) {
  const Folder folder;
  write(folder / "x.mat", {matrix("a", 2, 50), matrix("b", 1, 60), matrix("fs", 1, 1)});
  expect_error([&] { envoi::read(folder / "x.mat", at_rate(10)); }, ErrorKind::bad_argument,
               {"--dataset", "a (2 x 50)", "b (1 x 60)"});
  ReadOptions options;
  options.dataset = "b";
  expect_error([&] { envoi::read(folder / "x.mat", options); }, ErrorKind::bad_argument, {"--rate"});
  options.rate_hz = 5;
  EXPECT_EQ(envoi::read(folder / "x.mat", options).channels[0].name, "b");
  options.dataset = "c";
  expect_error([&] { envoi::read(folder / "x.mat", options); }, ErrorKind::bad_argument, {"'c'", "a (2 x 50)"});
  write(folder / "square.mat", {matrix("x", 1100, 1200)});
  expect_error([&] { envoi::read(folder / "square.mat", at_rate(1)); }, ErrorKind::bad_file, {"1100 x 1200", "1024"});
}

TEST(Eeglab, samples_inside_the_set) {
  const Folder folder;
  write(folder / "x.set", {Eeg{matrix(nullptr, 2, 100)}.variable()});
  expect_set(envoi::read(folder / "x.set"));
  expect_error([&] { envoi::read(folder / "x.set", at_rate(100)); }, ErrorKind::bad_argument, {"250 Hz"});
}

TEST(Eeglab, samples_beside_the_set) {
  const Folder folder;
  write(folder / "x.set", {Eeg{text("x.fdt")}.variable()});
  std::string floats;
  for (int c = 0; c < 100; ++c) {
    for (int r = 0; r < 2; ++r) {
      const float value = 1000.0f * static_cast<float>(r) + static_cast<float>(c);
      floats.append(reinterpret_cast<const char*>(&value), 4);
    }
  }
  folder.write("x.fdt", floats);
  expect_set(envoi::read(folder / "x.set"));
  folder.write("x.fdt", floats.substr(0, 401));
  const Recording cut = envoi::read(folder / "x.set");
  EXPECT_EQ(cut.channels[0].samples.size(), 50u);
  EXPECT_NE(cut.warnings[0].find("x.fdt"), std::string::npos);
  std::filesystem::remove(folder / "x.fdt");
  expect_error([&] { envoi::read(folder / "x.set"); }, ErrorKind::bad_file, {"x.set", "x.fdt"});
}

TEST(Eeglab, epochs_and_lies_are_refused) {
  const Folder folder;
  Eeg eeg{matrix(nullptr, 2, 100)};
  eeg.trials = 5;
  write(folder / "x.set", {eeg.variable()});
  expect_error([&] { envoi::read(folder / "x.set"); }, ErrorKind::bad_file, {"5 epochs"});
  eeg = {matrix(nullptr, 2, 100), NAN};
  write(folder / "x.set", {eeg.variable()});
  expect_error([&] { envoi::read(folder / "x.set"); }, ErrorKind::bad_file, {"EEG.srate"});
  // The known trap: samples x channels.
  write(folder / "x.set", {Eeg{matrix(nullptr, 5000, 20)}.variable()});
  expect_error([&] { envoi::read(folder / "x.set"); }, ErrorKind::bad_file, {"5000 x 20", "transposed"});
}

TEST(Matlab, every_cut_is_read_or_refused_with_a_reason) {
  const Folder folder;
  write(folder / "x.mat", {matrix("x", 2, 20)});
  write(folder / "x.set", {Eeg{matrix(nullptr, 2, 100)}.variable()});
  for (const char* name : {"x.mat", "x.set"}) {
    std::ostringstream bytes;
    bytes << std::ifstream(folder / name, std::ios::binary).rdbuf();
    const std::string whole = bytes.str();
    const std::size_t step = 1 + whole.size() / 400;
    for (std::size_t length = 1; length < whole.size(); length += step) {
      const std::string path = folder.write(std::string("cut") + (name + 1), whole.substr(0, length));
      try {
        envoi::read(path, std::string(name) == "x.mat" ? at_rate(1) : ReadOptions());
      } catch (const envoi::Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
      }
    }
  }
}

// Sizes are believed by the library that reads these files: what does not add up must never get there.
TEST(Matlab, a_changed_byte_is_read_or_refused_quickly) {
  const Folder folder;
  write(folder / "x.set", {Eeg{matrix(nullptr, 2, 100)}.variable()});
  write(folder / "p.set", {Eeg{matrix(nullptr, 2, 10)}.variable()}, MAT_FT_MAT5, MAT_COMPRESSION_ZLIB);
  write(folder / "x.mat", {matrix("x", 2, 20)}, MAT_FT_MAT4);
  for (const char* name : {"x.set", "p.set", "x.mat"}) {
    std::ostringstream bytes;
    bytes << std::ifstream(folder / name, std::ios::binary).rdbuf();
    const std::string whole = bytes.str();
    const std::size_t step = 1 + whole.size() / 250;
    for (std::size_t at = 0, i = 0; at < whole.size(); at += step, ++i) {
      std::string damaged = whole;
      damaged[at] = "\xff\x7f\0"[i % 3];
      const std::string path = folder.write(std::string("changed") + (name + 1), damaged);
      try {
        envoi::read(path, std::string(name) == "x.mat" ? at_rate(1) : ReadOptions());
      } catch (const envoi::Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::numerical) << error.what();
      }
    }
  }
}

TEST(Matlab, dimensions_that_the_bytes_do_not_bear_out_are_refused) {
  const Folder folder;
  write(folder / "x.mat", {matrix("x", 2, 20)});
  std::ostringstream bytes;
  bytes << std::ifstream(folder / "x.mat", std::ios::binary).rdbuf();
  std::string whole = bytes.str();
  const std::size_t columns = 128 + 8 + 16 + 8 + 4;
  ASSERT_EQ(whole[columns], 20);
  whole[columns + 3] = '\x7f';
  expect_error([&] { envoi::read(folder.write("y.mat", whole), at_rate(1)); }, ErrorKind::bad_file,
               {"byte 128", "announces", "holds 40"});
}

// MATLAB writes 1 x 1 letters that have no bytes.
TEST(Eeglab, a_letter_without_bytes_is_no_damage) {
  const Folder folder;
  write(folder / "x.set", {Eeg{matrix(nullptr, 2, 100)}.variable()});
  std::ostringstream bytes;
  bytes << std::ifstream(folder / "x.set", std::ios::binary).rdbuf();
  std::string whole = bytes.str();
  // "go": in a tag of its own, of 2 bytes.
  const std::size_t at = whole.find(std::string("\0go", 3));
  ASSERT_NE(at, std::string::npos);
  whole.replace(at - 3, 8, std::string("\x04\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(envoi::read(folder.write("y.set", whole)).annotations[0].text, "");
}

TEST(Eeglab, more_events_than_are_there) {
  const Folder folder;
  const char* none[] = {"type"};
  std::size_t axes[2] = {1, 3};
  Eeg eeg{matrix(nullptr, 2, 100)};
  matvar_t* set = eeg.variable();
  Mat_VarSetStructFieldByName(set, "event", 0, Mat_VarCreateStruct(nullptr, 2, axes, none, 1));
  write(folder / "x.set", {set});
  std::ostringstream bytes;
  bytes << std::ifstream(folder / "x.set", std::ios::binary).rdbuf();
  std::string whole = bytes.str();
  // The last structure of 1 x 3: dimensions, then an empty name.
  const std::size_t at = whole.rfind(std::string("\x05\0\0\0\x08\0\0\0\x01\0\0\0\x03\0\0\0", 16));
  ASSERT_NE(at, std::string::npos);
  whole.replace(at + 12, 4, "\xff\xff\xff\x7f", 4);
  expect_error([&] { envoi::read(folder.write("y.set", whole)); }, ErrorKind::bad_file, {"announces", "no room"});
}

TEST(Npy, channels_x_samples_is_refused_with_a_hint) {
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (20, 5000), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  bytes.append(100000, '\1');
  expect_error([&] { from_bytes(bytes, "x.npy", at_rate(1)); }, ErrorKind::bad_file, {"5000 channels", "transpose"});
}

}  // namespace
