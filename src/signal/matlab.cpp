// MATLAB files and EEGLAB sets through matio: a matrix of numbers, or the structure EEG with its samples inside or in
// an .fdt file beside it.
#include <matio.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "array.hpp"
#include "bytes.hpp"
#include "channel_type.hpp"
#include "hdf5.hpp"
#include "mat_tree.hpp"
#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

using File = std::unique_ptr<mat_t, int (*)(mat_t*)>;
using Variable = std::unique_ptr<matvar_t, void (*)(matvar_t*)>;

Variable owned(matvar_t* variable) { return {variable, Mat_VarFree}; }

std::size_t count_of(const matvar_t& variable) {
  std::size_t count = 1;
  for (int i = 0; i < variable.rank; ++i) {
    if (__builtin_mul_overflow(count, variable.dims[i], &count)) return 0;
  }
  return count;
}

bool is_numeric(const matvar_t& variable) {
  return variable.class_type >= MAT_C_DOUBLE && variable.class_type <= MAT_C_UINT64 && !variable.isComplex;
}

bool holds_its_numbers(const matvar_t& variable) {
  const std::size_t width = Mat_SizeOfClass(variable.class_type);
  return is_numeric(variable) && variable.data &&
         count_of(variable) <= variable.nbytes / std::max<std::size_t>(width, 1);
}

// Number `index` of a matrix that was read.
double number_at(const matvar_t& variable, std::size_t index) {
  const auto load = [&](auto zero) {
    std::memcpy(&zero, static_cast<const char*>(variable.data) + index * sizeof zero, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      return load(double{});
    case MAT_C_SINGLE:
      return load(float{});
    case MAT_C_INT8:
      return load(std::int8_t{});
    case MAT_C_UINT8:
      return load(std::uint8_t{});
    case MAT_C_INT16:
      return load(std::int16_t{});
    case MAT_C_UINT16:
      return load(std::uint16_t{});
    case MAT_C_INT32:
      return load(std::int32_t{});
    case MAT_C_UINT32:
      return load(std::uint32_t{});
    case MAT_C_INT64:
      return load(std::int64_t{});
    default:
      return load(std::uint64_t{});
  }
}

std::optional<double> number_of(const matvar_t* variable) {
  if (!variable || !holds_its_numbers(*variable) || count_of(*variable) != 1) return std::nullopt;
  return number_at(*variable, 0);
}

std::string text_of(const matvar_t* variable) {
  if (!variable || !variable->data) return {};
  if (const auto number = number_of(variable)) return shortest(*number);
  if (variable->class_type != MAT_C_CHAR) return {};
  const std::size_t count = std::min<std::size_t>(count_of(*variable), 65536);
  const std::size_t width = variable->data_size > 0 ? static_cast<std::size_t>(variable->data_size) : 1;
  std::string text;
  for (std::size_t i = 0; i < count && (i + 1) * width <= variable->nbytes; ++i) {
    std::uint32_t code = 0;
    std::memcpy(&code, static_cast<const char*>(variable->data) + i * width, std::min<std::size_t>(width, 2));
    if (code < 0x80 || width == 1) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
    } else {
      text += {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
               static_cast<char>(0x80 | (code & 0x3F))};
    }
  }
  return printable(trimmed(text), 4096);
}

// The library follows whatever it read, so a structure that was cut off is caught here.
const matvar_t* element_field(const matvar_t* array, const char* name, std::size_t index) {
  if (!array || array->class_type != MAT_C_STRUCT || !array->data || index >= count_of(*array)) return nullptr;
  const std::size_t fields = Mat_VarGetNumberOfFields(const_cast<matvar_t*>(array));
  char* const* const names = Mat_VarGetStructFieldnames(array);
  if (!names || array->nbytes / sizeof(matvar_t*) < (index + 1) * fields) return nullptr;
  for (std::size_t i = 0; i < fields; ++i) {
    if (names[i] && std::string_view(names[i]) == name) return static_cast<matvar_t**>(array->data)[index * fields + i];
  }
  return nullptr;
}

// As many as are there, whatever the dimensions say.
std::size_t structures_in(const matvar_t* array) {
  if (!array || array->class_type != MAT_C_STRUCT || !array->data) return 0;
  const std::size_t fields = Mat_VarGetNumberOfFields(const_cast<matvar_t*>(array));
  return fields == 0 ? 0 : std::min(count_of(*array), array->nbytes / sizeof(matvar_t*) / fields);
}

// The fields of EEG, which is a structure, or was saved field by field.
class Set {
 public:
  Set(mat_t* file, Variable structure) : file_(file), structure_(std::move(structure)) {}

  const matvar_t* field(const char* name) {
    if (structure_) return element_field(structure_.get(), name, 0);
    for (const auto& [known, variable] : read_) {
      if (known == name) return variable.get();
    }
    read_.emplace_back(name, owned(Mat_VarRead(file_, name)));
    return read_.back().second.get();
  }

 private:
  mat_t* file_;
  Variable structure_;
  std::vector<std::pair<std::string, Variable>> read_;
};

// A matrix in the order of its bytes, column after column.
struct Matrix {
  std::uint64_t rows = 0, columns = 0;
  const matvar_t* variable = nullptr;
  std::string_view floats;  // instead: float32, little-endian
  double at(std::size_t index) const {
    if (variable) return number_at(*variable, index);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(floats[4 * index + i])) << (8 * i);
    }
    return std::bit_cast<float>(word);
  }
};

struct Labels {
  std::vector<std::string> names, types, units;
};

void add_channels(const Input& input, const ReadOptions& options, const Matrix& matrix, const ArrayShape& shape,
                  double rate_hz, double start_s, Labels labels, DataKind kind, Recording& recording) {
  make_unique(labels.names);
  const std::vector<std::size_t> wanted = wanted_channels(input, labels.names, labels.types, options);
  Crop crop(input.name, options);
  for (const std::size_t i : wanted) {
    Channel channel;
    channel.name = labels.names[i];
    channel.type = labels.types[i];
    channel.unit = labels.units[i];
    channel.kind = kind;
    channel.rate_hz = rate_hz;
    channel.start_s = start_s;
    const SampleRange range = crop.take(channel.start_s, rate_hz, static_cast<std::size_t>(shape.samples));
    require_memory(input.name, static_cast<double>(range.count) * static_cast<double>(wanted.size()));
    channel.samples.resize(range.count);
    for (std::size_t k = 0; k < range.count; ++k) {
      const std::size_t t = range.first + k;
      channel.samples[k] = matrix.at(shape.samples_first ? i * matrix.rows + t : t * matrix.rows + i);
    }
    recording.channels.push_back(std::move(channel));
  }
  crop.finish(recording);
}

void add_events(Set& set, double rate_hz, double start_s, Recording& recording) {
  const matvar_t* const events = set.field("event");
  std::size_t boundaries = 0, damaged = 0;
  for (std::size_t i = 0; i < structures_in(events); ++i) {
    const auto latency = number_of(element_field(events, "latency", i));
    if (!latency || !(std::abs(*latency) < 1e15)) {
      ++damaged;
      continue;
    }
    Annotation annotation;
    annotation.onset_s = start_s + (*latency - 1) / rate_hz;
    annotation.text = text_of(element_field(events, "type", i));
    const auto duration = number_of(element_field(events, "duration", i));
    const bool boundary = annotation.text == "boundary";  // its duration is that of what was cut out
    boundaries += boundary ? 1 : 0;
    if (!boundary && duration && *duration > 1 && std::isfinite(*duration)) annotation.duration_s = *duration / rate_hz;
    recording.annotations.push_back(std::move(annotation));
  }
  std::stable_sort(recording.annotations.begin(), recording.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset_s < b.onset_s; });
  if (damaged > 0) recording.warnings.push_back(std::to_string(damaged) + " events have no latency and are left out");
  if (boundaries > 0) {
    recording.warnings.push_back("stretches were cut out at " + std::to_string(boundaries) +
                                 " boundary events; what is left follows on there");
  }
}

Recording read_eeglab(const Input& input, const ReadOptions& options, Set set) {
  Recording recording;
  recording.format = "eeglab";
  const auto positive = [&](const char* name) {
    const auto value = number_of(set.field(name));
    if (!value || !(*value > 0 && *value <= 1e15)) {
      bad_file(input.name, std::string("EEG.") + name + " of the EEGLAB set is no number above 0; the file is damaged");
    }
    return *value;
  };
  const double rate_hz = positive("srate");
  check_own_rate(input.name, "the set", rate_hz, options);
  const double start_s = number_of(set.field("xmin")).value_or(0);
  const matvar_t* const data = set.field("data");
  const double trials = number_of(set.field("trials")).value_or(1);
  if (trials > 1 || (data && data->rank > 2 && data->dims[2] > 1)) {
    bad_file(input.name, "holds " + rounded(trials) + " epochs, not one recording; save the set before it was cut");
  }

  Matrix matrix;
  std::optional<FileBytes> samples;
  if (data && data->class_type == MAT_C_CHAR) {
    std::string name = text_of(data);
    name = name.substr(name.find_last_of("/\\") + 1);
    const std::filesystem::path folder = std::filesystem::path(input.path).parent_path();
    std::error_code ignored;
    std::filesystem::path path = folder / name;
    if (name.empty() || !std::filesystem::is_regular_file(path, ignored)) {
      bad_file(input.name,
               "names its samples '" + printable(name, 200) + "', which is not beside it; put both into one folder");
    }
    samples.emplace(path.string());
    const double channels = positive("nbchan");
    if (channels > 65536) bad_file(input.name, "EEG.nbchan is " + rounded(channels) + "; the file is damaged");
    matrix.rows = static_cast<std::uint64_t>(channels);
    matrix.floats = samples->view();
    matrix.columns = matrix.floats.size() / 4 / matrix.rows;
    const double points = positive("pnts");
    if (static_cast<double>(matrix.columns) != points || matrix.floats.size() % (4 * matrix.rows) != 0) {
      recording.warnings.push_back("'" + samples->name() + "' has " + std::to_string(matrix.columns) +
                                   " whole samples, the set announces " + rounded(points, 15));
      matrix.columns = std::min(matrix.columns, static_cast<std::uint64_t>(points));
    }
  } else if (data && holds_its_numbers(*data) && data->rank >= 2) {
    matrix = {data->dims[0], data->dims[1], data, {}};
  } else {
    bad_file(input.name, "EEG.data of the EEGLAB set holds no numbers");
  }
  if (matrix.rows == 0 || matrix.columns == 0) bad_file(input.name, "the EEGLAB set holds no samples");
  if (matrix.rows > kMostArrayChannels && matrix.rows > matrix.columns) {
    bad_file(input.name, "EEG.data is " + std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) +
                             ", channels x samples: transposed; correct it with EEG.data = EEG.data'");
  }
  const auto count = static_cast<std::size_t>(matrix.rows);
  Labels labels{std::vector<std::string>(count), std::vector<std::string>(count), std::vector<std::string>(count)};
  const matvar_t* const places = set.field("chanlocs");
  for (std::size_t i = 0; i < count; ++i) {
    labels.names[i] = printable(text_of(element_field(places, "labels", i)), 64);
    const std::string type = text_of(element_field(places, "type", i));
    labels.types[i] = type.empty() ? type_of_label(labels.names[i]) : type_of_word(type);
    labels.units[i] = printable(normal_unit(text_of(element_field(places, "unit", i))), 24);
  }
  add_events(set, rate_hz, start_s, recording);
  add_channels(input, options, matrix, {matrix.columns, matrix.rows, false}, rate_hz, start_s, std::move(labels),
               DataKind::biosignal, recording);
  return recording;
}

struct Candidate {
  std::string name;
  std::vector<std::uint64_t> axes;
};

}  // namespace

Recording read_matlab(const Input& input, const ReadOptions& options) {
  if (input.path.empty()) bad_file(input.name, "a MATLAB file cannot be read from standard input; give its path");
  check_mat_tree(input.name, input.bytes);
  const std::lock_guard lock(hdf5_mutex());
  const QuietHdf5 quiet;  // version 7.3
  const File file(Mat_Open(input.path.c_str(), MAT_ACC_RDONLY), Mat_Close);
  if (!file) bad_file(input.name, "cannot be opened as a MATLAB file; it is cut off, damaged or of another format");

  std::vector<Candidate> matrices;
  std::vector<std::string> all;
  bool structure = false, has_data = false, has_rate = false;
  for (std::size_t k = 0; k < 100000; ++k) {
    const Variable info = owned(Mat_VarReadNextInfo(file.get()));
    if (!info) break;
    const std::string name = info->name ? info->name : "";
    all.push_back(name);
    structure |= name == "EEG" && info->class_type == MAT_C_STRUCT;
    has_data |= name == "data";
    has_rate |= name == "srate";
    if (!is_numeric(*info) || info->rank != 2 || count_of(*info) < 2) continue;
    matrices.push_back({name, {info->dims[0], info->dims[1]}});
  }
  if (options.dataset.empty() && structure) {
    Variable eeg = owned(Mat_VarRead(file.get(), "EEG"));
    if (!eeg) bad_file(input.name, "its structure EEG cannot be read; the file is cut off or damaged");
    return read_eeglab(input, options, {file.get(), std::move(eeg)});
  }
  if (options.dataset.empty() && has_data && has_rate) return read_eeglab(input, options, {file.get(), owned(nullptr)});

  std::vector<std::string> known;
  for (const Candidate& c : matrices) {
    known.push_back(c.name + " (" + std::to_string(c.axes[0]) + " x " + std::to_string(c.axes[1]) + ")");
  }
  if (matrices.empty()) {
    bad_file(input.name, all.empty() ? "holds no variables; it is cut off or damaged"
                                     : "holds no matrix of real numbers; its variables: " + list_of(all));
  }
  if (options.dataset.empty() && matrices.size() > 1) {
    bad_argument(input.name, "holds several variables; choose one with --dataset: " + list_of(known));
  }
  const auto same = [&](const Candidate& c) { return options.dataset.empty() || c.name == options.dataset; };
  const auto chosen = std::find_if(matrices.begin(), matrices.end(), same);
  if (chosen == matrices.end()) {
    bad_argument(input.name, "no matrix '" + printable(options.dataset) + "'; there are: " + list_of(known));
  }
  Recording recording;
  recording.format = "mat";
  const ArrayShape shape = shape_of(input.name, "variable '" + chosen->name + "'", chosen->axes, recording.warnings);
  const double rate_hz = required_rate(input.name, options);
  require_memory(input.name, static_cast<double>(shape.samples) * static_cast<double>(shape.channels));
  const Variable variable = owned(Mat_VarRead(file.get(), chosen->name.c_str()));
  if (!variable || !holds_its_numbers(*variable) || count_of(*variable) != shape.samples * shape.channels) {
    bad_file(input.name, "variable '" + chosen->name + "' cannot be read; the file is cut off or damaged");
  }
  const auto count = static_cast<std::size_t>(shape.channels);
  Labels labels{std::vector<std::string>(count), std::vector<std::string>(count), std::vector<std::string>(count)};
  if (count == 1) labels.names[0] = chosen->name;
  add_channels(input, options, {chosen->axes[0], chosen->axes[1], variable.get(), {}}, shape, rate_hz, 0,
               std::move(labels), DataKind::other, recording);
  return recording;
}

}  // namespace envoi::signal
