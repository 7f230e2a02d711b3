// HDF5: one data set of numbers with one or two axes. The rate and the start come from its attributes or from those of
// the groups it lies in (Xspacing and Xstart as gravitational-wave detectors have them, sampling_rate, fs, ...).
#include "hdf5.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "array.hpp"
#include "channel_type.hpp"
#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kMostObjects = 100000;

// An identifier of the library, closed at the end.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  bool ok() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

struct DataSet {
  std::string path;
  std::vector<std::uint64_t> axes;
};

std::string shown(const DataSet& set) {
  std::string text = set.path + " (";
  for (std::size_t i = 0; i < set.axes.size(); ++i) text += (i ? " x " : "") + std::to_string(set.axes[i]);
  return text + ")";
}

// The axes of a data set of numbers; nothing for other objects.
std::optional<std::vector<std::uint64_t>> axes_of(hid_t set) {
  const Handle type(H5Dget_type(set), H5Tclose);
  const Handle space(H5Dget_space(set), H5Sclose);
  if (!type.ok() || !space.ok()) return std::nullopt;
  const H5T_class_t kind = H5Tget_class(type);
  const int rank = H5Sget_simple_extent_ndims(space);
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || rank < 0 || rank > H5S_MAX_RANK) return std::nullopt;
  std::array<hsize_t, H5S_MAX_RANK> axes{};
  if (H5Sget_simple_extent_dims(space, axes.data(), nullptr) < 0) return std::nullopt;
  return std::vector<std::uint64_t>(axes.begin(), axes.begin() + rank);
}

struct Search {
  std::vector<DataSet> found;
  std::size_t objects = 0;
};

// Hard links alone: others may lead out of the file. Depth and number end loops.
void visit(hid_t group, const std::string& path, int depth, Search& search) {
  H5G_info_t about;
  if (depth > 32 || H5Gget_info(group, &about) < 0) return;
  for (hsize_t i = 0; i < about.nlinks && search.objects < kMostObjects; ++i) {
    ++search.objects;
    std::array<char, 1024> text{};
    const ssize_t length =
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, text.data(), text.size(), H5P_DEFAULT);
    H5L_info_t link;
    if (length <= 0 || H5Lget_info(group, text.data(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) continue;
    const Handle object(H5Oopen(group, text.data(), H5P_DEFAULT), H5Oclose);
    if (!object.ok()) continue;
    const std::string name = path + text.data();
    if (H5Iget_type(object) == H5I_GROUP) visit(object, name + "/", depth + 1, search);
    if (H5Iget_type(object) != H5I_DATASET) continue;
    const auto axes = axes_of(object);
    if (!axes || axes->empty() || axes->size() > 2) continue;
    if (std::all_of(axes->begin(), axes->end(), [](std::uint64_t n) { return n <= 1; })) continue;
    search.found.push_back({name, *axes});
  }
}

std::string list_of_sets(const std::vector<DataSet>& sets) {
  std::vector<std::string> names;
  for (const DataSet& set : sets) names.push_back(shown(set));
  return list_of(names);
}

// The attribute as a number; text that is a number counts.
std::optional<double> number_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle space(attribute.ok() ? H5Aget_space(attribute) : -1, H5Sclose);
  const Handle type(attribute.ok() ? H5Aget_type(attribute) : -1, H5Tclose);
  if (!space.ok() || !type.ok() || H5Sget_simple_extent_npoints(space) != 1) return std::nullopt;
  const H5T_class_t kind = H5Tget_class(type);
  double value = 0;
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
    return std::nullopt;
  return value;
}

std::string text_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle space(attribute.ok() ? H5Aget_space(attribute) : -1, H5Sclose);
  const Handle type(attribute.ok() ? H5Aget_type(attribute) : -1, H5Tclose);
  if (!space.ok() || !type.ok() || H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
    return {};
  std::string text;
  if (H5Tis_variable_str(type) > 0) {
    char* read = nullptr;
    if (H5Aread(attribute, type, &read) >= 0 && read) text = read;
    if (read) H5free_memory(read);
  } else {
    const std::size_t size = H5Tget_size(type);
    if (size > 65536) return {};
    text.resize(size);
    if (H5Aread(attribute, type, text.data()) < 0) return {};
    text = text.substr(0, text.find('\0'));
  }
  return printable(trimmed(text), 200);
}

// Calls take(object) for the data set and the groups around it, inside out, until it returns true.
template <class Take>
bool inside_out(hid_t file, std::string path, Take take) {
  for (;;) {
    const Handle object(H5Oopen(file, path.empty() ? "/" : path.c_str(), H5P_DEFAULT), H5Oclose);
    if (object.ok() && take(static_cast<hid_t>(object))) return true;
    if (path.empty()) return false;
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash);
  }
}

std::optional<double> rate_of(hid_t file, const std::string& path) {
  std::optional<double> rate_hz;
  inside_out(file, path, [&](hid_t object) {
    if (const auto spacing_s = number_attribute(object, "Xspacing"); spacing_s && *spacing_s > 0)
      rate_hz = 1 / *spacing_s;
    for (const char* name : {"rate", "rate_hz", "sampling_rate", "samplingrate", "SamplingRate", "sample_rate",
                             "samplerate", "sampling_frequency", "srate", "sfreq", "fs", "Fs", "FS"}) {
      if (const auto value = number_attribute(object, name); !rate_hz && value) rate_hz = value;
    }
    return rate_hz.has_value();
  });
  return rate_hz;
}

// The name in the file that the option means, or the only data set.
DataSet choose(const Input& input, hid_t file, const ReadOptions& options) {
  Search search;
  const Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
  if (root.ok()) visit(root, "", 0, search);
  if (options.dataset.empty()) {
    if (search.found.empty()) bad_file(input.name, "holds no data set of numbers with one or two axes");
    if (search.found.size() > 1) {
      bad_argument(input.name, "holds several data sets; choose one with --dataset: " + list_of_sets(search.found));
    }
    return search.found[0];
  }
  std::string path = options.dataset.substr(std::min(options.dataset.find_first_not_of('/'), options.dataset.size()));
  const Handle set(
      path.empty() || path.find('\0') != std::string::npos ? -1 : H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.ok()) {
    bad_argument(input.name,
                 "no data set '" + printable(options.dataset, 200) + "'; there are: " + list_of_sets(search.found));
  }
  const auto axes = axes_of(set);
  if (!axes || axes->empty() || axes->size() > 2) {
    bad_argument(input.name,
                 "data set '" + printable(path, 200) +
                     "' is no array of numbers with one or two axes; there are: " + list_of_sets(search.found));
  }
  return {path, *axes};
}

// A rectangle of the data set. Throws where the library cannot read it.
void read_block(const Input& input, hid_t set, const DataSet& about, std::array<hsize_t, 2> first,
                std::array<hsize_t, 2> count, double* to) {
  const Handle space(H5Dget_space(set), H5Sclose);
  const hsize_t total = about.axes.size() == 2 ? count[0] * count[1] : count[0];
  const Handle memory(H5Screate_simple(1, &total, nullptr), H5Sclose);
  if (!space.ok() || !memory.ok() ||
      H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
      H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, to) < 0) {
    bad_file(input.name, "data set '" + about.path +
                             "' cannot be read: it is damaged, cut off or packed in a way that "
                             "the HDF5 library here does not know");
  }
}

}  // namespace

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

QuietHdf5::QuietHdf5() {
  H5E_auto2_t function = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &function, &data_);
  function_ = reinterpret_cast<void (*)()>(function);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, reinterpret_cast<H5E_auto2_t>(function_), data_); }

void leave_hdf5_open_at_exit() { H5dont_atexit(); }

Recording read_hdf5(const Input& input, const ReadOptions& options) {
  const std::lock_guard lock(hdf5_mutex());
  const QuietHdf5 quiet;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (input.path.empty()) {
    // Standard input: the bytes as they are, in memory.
    H5Pset_fapl_core(access, std::size_t{1} << 20, 0);
    H5Pset_file_image(access, const_cast<char*>(input.bytes.data()), input.bytes.size());
  }
  const Handle file(H5Fopen(input.path.empty() ? "memory.h5" : input.path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!file.ok()) bad_file(input.name, "cannot be opened as HDF5; it is cut off or damaged");
  const DataSet about = choose(input, file, options);
  const Handle set(H5Dopen2(file, about.path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.ok()) bad_file(input.name, "data set '" + about.path + "' cannot be opened; the file is damaged");

  Recording recording;
  recording.format = "hdf5";
  const ArrayShape shape = shape_of(input.name, "data set '" + about.path + "'", about.axes, recording.warnings);
  double rate_hz = 0;
  if (const auto own_hz = rate_of(file, about.path)) {
    rate_hz = *own_hz;
    if (!(rate_hz >= 1e-9 && rate_hz <= 1e15)) {
      bad_file(input.name,
               "data set '" + about.path + "' gives " + rounded(rate_hz) + " Hz as its rate; the file is damaged");
    }
    check_own_rate(input.name, "data set '" + about.path + "'", rate_hz, options);
  } else {
    rate_hz = required_rate(input.name, options);
  }
  const double start_s = number_attribute(set, "Xstart").value_or(0);
  if (!(std::abs(start_s) < 1e12)) bad_file(input.name, "Xstart of data set '" + about.path + "' is no time");
  std::string unit;
  for (const char* name : {"unit", "units", "Yunits"}) {
    if (unit.empty()) unit = printable(normal_unit(text_attribute(set, name)), 24);
  }
  const std::size_t channels = static_cast<std::size_t>(shape.channels);
  std::vector<std::string> names(channels);
  if (channels == 1) names[0] = about.path.substr(about.path.rfind('/') + 1);
  make_unique(names);
  std::vector<std::string> types(channels);
  const std::vector<std::size_t> wanted = wanted_channels(input, names, types, options);

  Crop crop(input.name, options);
  SampleRange range;
  for (const std::size_t i : wanted) {
    Channel channel;
    channel.name = names[i];
    channel.unit = unit;
    channel.rate_hz = rate_hz;
    channel.start_s = start_s;
    range = crop.take(channel.start_s, rate_hz, static_cast<std::size_t>(shape.samples));
    require_memory(input.name, static_cast<double>(range.count) * static_cast<double>(wanted.size()));
    channel.samples.resize(range.count);
    if (range.count > 0 && !(shape.samples_first && channels > 1)) {
      const std::array<hsize_t, 2> first =
          shape.samples_first ? std::array<hsize_t, 2>{range.first, i} : std::array<hsize_t, 2>{i, range.first};
      const std::array<hsize_t, 2> count =
          shape.samples_first ? std::array<hsize_t, 2>{range.count, 1} : std::array<hsize_t, 2>{1, range.count};
      read_block(input, set, about, first, count, channel.samples.data());
    }
    recording.channels.push_back(std::move(channel));
  }
  if (shape.samples_first && channels > 1) {
    // Many rows at a time, all channels of each.
    const std::size_t most = std::max<std::size_t>(1, (std::size_t{1} << 20) / channels);
    std::vector<double> block;
    for (std::size_t done = 0; done < range.count;) {
      const std::size_t rows = std::min(most, range.count - done);
      block.resize(rows * channels);
      read_block(input, set, about, {range.first + done, 0}, {rows, channels}, block.data());
      for (std::size_t c = 0; c < wanted.size(); ++c) {
        for (std::size_t r = 0; r < rows; ++r)
          recording.channels[c].samples[done + r] = block[r * channels + wanted[c]];
      }
      done += rows;
    }
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
