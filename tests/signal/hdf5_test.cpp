// What the HDF5 reader promises: which data set, which axis is time, rate and start from attributes.
#include <hdf5.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;

// Files of the HDF5 library; `x[i]` is i.
class Writer {
 public:
  explicit Writer(const std::string& path) : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Writer() { H5Fclose(file_); }
  void group(const char* name) { H5Gclose(H5Gcreate2(file_, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); }
  void numbers(const char* name, std::vector<hsize_t> axes, bool filled = true) {
    const hid_t space = H5Screate_simple(static_cast<int>(axes.size()), axes.data(), nullptr);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    if (!filled) {
      std::vector<hsize_t> piece(axes.size(), 16);
      H5Pset_chunk(layout, static_cast<int>(axes.size()), piece.data());
    }
    const hid_t set = H5Dcreate2(file_, name, H5T_IEEE_F32BE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    if (filled) {
      hsize_t count = 1;
      for (const hsize_t n : axes) count *= n;
      std::vector<double> values(count);
      for (hsize_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
  }
  void attribute(const char* object, const char* name, double value) {
    const hid_t space = H5Screate(H5S_SCALAR), owner = H5Oopen(file_, object, H5P_DEFAULT);
    const hid_t id = H5Acreate2(owner, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(id);
    H5Oclose(owner);
    H5Sclose(space);
  }
  void attribute(const char* object, const char* name, const char* text) {
    const hid_t space = H5Screate(H5S_SCALAR), owner = H5Oopen(file_, object, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t id = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(id, type, &text);
    H5Aclose(id);
    H5Tclose(type);
    H5Oclose(owner);
    H5Sclose(space);
  }

 private:
  hid_t file_;
};

ReadOptions dataset(const std::string& name) {
  ReadOptions options;
  options.dataset = name;
  return options;
}

std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST(Hdf5, the_longer_axis_is_time_and_attributes_give_rate_start_and_unit) {
  const Folder folder;
  const std::string path = folder / "x.h5";
  {
    Writer file(path);
    file.group("run");
    file.numbers("run/eeg", {3, 100});
    file.attribute("run/eeg", "Xspacing", 0.004);
    file.attribute("run/eeg", "Xstart", 1e6);
    file.attribute("run/eeg", "units", "\xC2\xB5V");
  }
  for (const Recording& r : {envoi::read(path), from_bytes(bytes_of(path), "stdin")}) {
    EXPECT_EQ(r.format, "hdf5");
    ASSERT_EQ(r.channels.size(), 3u);
    EXPECT_EQ(r.channels[1].rate_hz, 250);
    EXPECT_EQ(r.channels[1].start_s, 1e6);
    EXPECT_EQ(r.channels[1].unit, "uV");
    ASSERT_EQ(r.channels[1].samples.size(), 100u);
    EXPECT_EQ(r.channels[1].samples[7], 107);
  }
  ReadOptions options = dataset("/run/eeg");
  options.from_s = 1e6 + 0.04;
  options.to_s = 1e6 + 0.048;
  options.channels = {"3"};
  EXPECT_EQ(envoi::read(path, options).channels[0].samples, (std::vector<double>{210, 211}));
}

TEST(Hdf5, samples_x_channels_and_a_rate_of_the_file_are_read) {
  const Folder folder;
  {
    Writer file(folder / "x.h5");
    file.numbers("x", {100, 3});
    file.attribute("/", "sampling_rate", 128);
  }
  const Recording r = envoi::read(folder / "x.h5");
  EXPECT_EQ(r.channels[2].rate_hz, 128);
  EXPECT_EQ(r.channels[2].samples[10], 32);
  expect_error([&] { envoi::read(folder / "x.h5", at_rate(100)); }, ErrorKind::bad_argument, {"128 Hz", "100 Hz"});
}

TEST(Hdf5, several_data_sets_and_wrong_names_list_what_is_there) {
  const Folder folder;
  const std::string path = folder / "x.h5";
  {
    Writer file(path);
    file.group("g");
    file.numbers("a", {100});
    file.numbers("g/b", {4, 50});
    file.numbers("g/cube", {4, 4, 4});
    file.numbers("g/one", {1});
  }
  expect_error([&] { envoi::read(path, at_rate(1)); }, ErrorKind::bad_argument,
               {"--dataset", "a (100)", "g/b (4 x 50)"});
  for (const char* name : {"nothing", "g", "/", "g/cube"}) {
    expect_error([&] { envoi::read(path, dataset(name)); }, ErrorKind::bad_argument, {"a (100)", "g/b (4 x 50)"});
  }
  expect_error([&] { envoi::read(path, dataset("a")); }, ErrorKind::bad_argument, {"--rate"});
  ReadOptions options = dataset("a");
  options.rate_hz = 10;
  EXPECT_EQ(envoi::read(path, options).channels[0].name, "a");
}

TEST(Hdf5, arrays_that_are_no_channels_or_too_large_are_refused) {
  const Folder folder;
  {
    Writer file(folder / "x.h5");
    file.numbers("image", {2000, 3000}, false);
    file.numbers("huge", {hsize_t{1} << 50}, false);
    file.numbers("empty", {0, 5});
  }
  ReadOptions options = dataset("image");
  options.rate_hz = 1;
  expect_error([&] { envoi::read(folder / "x.h5", options); }, ErrorKind::bad_file, {"2000 x 3000", "1024"});
  options.dataset = "huge";
  expect_error([&] { envoi::read(folder / "x.h5", options); }, ErrorKind::out_of_memory, {"GB"});
  options.dataset = "empty";
  expect_error([&] { envoi::read(folder / "x.h5", options); }, ErrorKind::bad_file, {"empty"});
}

TEST(Hdf5, every_cut_is_refused_with_a_reason) {
  const Folder folder;
  {
    Writer file(folder / "x.h5");
    file.numbers("x", {64});
    file.attribute("x", "fs", 8);
  }
  const std::string whole = bytes_of(folder / "x.h5");
  ASSERT_EQ(envoi::read(folder / "x.h5").channels[0].rate_hz, 8);
  for (std::size_t length = 8; length < whole.size(); length += 1 + length / 300) {
    expect_error([&] { envoi::read(folder.write("cut.h5", whole.substr(0, length))); }, ErrorKind::bad_file,
                 {"cut.h5"});
  }
}

TEST(Cases, hdf5_strain) {
  ENVOI_CASE(path, "chirps/gw150914_h1_4096Hz.hdf5");
  const Recording r = envoi::read(path, dataset("strain/Strain"));
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.channels[0].name, "Strain");
  EXPECT_EQ(r.channels[0].rate_hz, 4096);
  EXPECT_EQ(r.channels[0].start_s, 1126259446);
  EXPECT_EQ(r.channels[0].samples.size(), 131072u);
  expect_error([&] { envoi::read(path); }, ErrorKind::bad_argument, {"strain/Strain (131072)", "--dataset"});
}

}  // namespace
