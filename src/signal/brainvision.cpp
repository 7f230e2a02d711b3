// BrainVision sets: a header (.vhdr) that names a file of samples (.eeg) and one of markers (.vmrk) beside it.
#include "brainvision.hpp"

#include <bit>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "bytes.hpp"
#include "channel_type.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

namespace fs = std::filesystem;

double number_at(const char* at, const BrainVisionHeader& header) {
  const std::size_t width = header.sample_bytes();
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t byte = header.big_endian ? width - 1 - i : i;
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(at[byte])) << (8 * i);
  }
  switch (header.number) {
    case BrainVisionNumber::int_16:
      return static_cast<std::int16_t>(word);
    case BrainVisionNumber::uint_16:
      return word;
    case BrainVisionNumber::int_32:
      return static_cast<std::int32_t>(word);
    case BrainVisionNumber::float_32:
      return std::bit_cast<float>(word);
  }
  return 0;
}

// A file beside `path`; on systems that tell cases apart also one that differs in case alone. "" where there is none.
std::string beside(const fs::path& path, const std::string& name) {
  if (name.empty()) return {};
  std::error_code ignored;
  const fs::path exact = path.parent_path() / name;
  if (fs::is_regular_file(exact, ignored)) return exact.string();
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (lower_case(entry->path().filename().string()) == lower_case(name)) return entry->path().string();
  }
  return {};
}

// The header of the set that `path`, a file of samples or markers, belongs to.
std::string find_header(const Input& input) {
  const fs::path path(input.path);
  const std::string same_stem = beside(path, path.stem().string() + ".vhdr");
  if (!same_stem.empty()) return same_stem;
  std::error_code ignored;
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (lower_case(entry->path().extension().string()) != ".vhdr") continue;
    try {
      const FileBytes file(entry->path().string());
      const BrainVisionHeader header = read_brainvision_header({file.view(), file.name()});
      if (header.data_file == input.name || header.marker_file == input.name) return entry->path().string();
    } catch (const std::exception&) {
      continue;  // a damaged header beside the file says nothing about it
    }
  }
  bad_file(input.name,
           "belongs to a BrainVision set by its name, but no .vhdr beside it names it; put the set's three "
           "files into one folder");
}

}  // namespace

Recording read_brainvision_set(const BrainVisionSet& set, const ReadOptions& options) {
  BrainVisionHeader header = read_brainvision_header(set.header);
  check_own_rate(set.header.name, "the set", header.rate_hz, options);
  Recording recording;
  recording.format = "brainvision";

  BrainVisionMarkers markers = read_brainvision_markers(set.markers, header.rate_hz);
  recording.annotations = std::move(markers.annotations);
  recording.start = markers.start;
  if (markers.damaged > 0) {
    header.warnings.push_back(std::to_string(markers.damaged) + " markers have no position and are left out");
  }
  if (markers.later_segments > 0) {
    header.warnings.push_back("the recording was paused " + std::to_string(markers.later_segments) +
                              " times (New Segment); its parts follow each other without the pauses");
  }

  const std::size_t count = header.channels.size();
  const std::size_t frame = count * header.sample_bytes();
  const std::size_t points = set.data.bytes.size() / frame;
  if (points == 0) {
    bad_file(set.data.name, "holds " + std::to_string(set.data.bytes.size()) + " bytes, not one sample of " +
                                std::to_string(count) + " channels");
  }
  if (set.data.bytes.size() % frame != 0) {
    // Channel after channel, every later one would be out of place.
    if (header.vectorized) {
      bad_file(set.data.name, std::to_string(set.data.bytes.size()) + " bytes are not whole samples of " +
                                  std::to_string(count) + " channels, one after the other; the file is cut off");
    }
    header.warnings.push_back("the file of samples ends inside a sample; the file is cut off");
  }

  std::vector<std::string> names, types;
  for (const BrainVisionChannel& channel : header.channels) {
    names.push_back(channel.name);
    std::string type = type_of_label(channel.name);
    types.push_back(type == "eeg" && !is_voltage(channel.unit) ? "" : type);
  }
  make_unique(names);
  std::vector<std::size_t> chosen;
  for (const std::size_t i : wanted_channels(set.header, names, types, options)) {
    const std::string& fault = header.channels[i].fault;
    if (fault.empty()) {
      chosen.push_back(i);
    } else if (!options.channels.empty()) {
      bad_file(set.header.name, "channel '" + names[i] + "' cannot be read: " + fault);
    } else {
      header.warnings.push_back("channel '" + names[i] + "' is left out: " + fault);
    }
  }
  if (chosen.empty()) bad_file(set.header.name, "no channel can be read; " + header.warnings.back());

  Crop crop(set.header.name, options);
  const std::size_t sample_step = header.vectorized ? header.sample_bytes() : frame;
  const std::size_t channel_step = header.vectorized ? points * header.sample_bytes() : header.sample_bytes();
  for (const std::size_t i : chosen) {
    Channel channel;
    channel.name = names[i];
    channel.type = types[i];
    channel.unit = header.channels[i].unit;
    channel.kind = DataKind::biosignal;
    channel.rate_hz = header.rate_hz;
    const SampleRange range = crop.take(channel.start_s, channel.rate_hz, points);
    const std::size_t together = set.data.sink == nullptr ? chosen.size() : 1;
    require_memory(set.header.name, static_cast<double>(range.count) * static_cast<double>(together));
    channel.samples.resize(range.count);
    const char* at = set.data.bytes.data() + i * channel_step + range.first * sample_step;
    for (double& sample : channel.samples) {
      sample = number_at(at, header) * header.channels[i].resolution;
      at += sample_step;
    }
    add_channel(set.data, recording, std::move(channel));
  }
  crop.finish(recording);
  recording.warnings.insert(recording.warnings.begin(), header.warnings.begin(), header.warnings.end());
  return recording;
}

Recording read_brainvision(const Input& input, const ReadOptions& options) {
  if (input.path.empty()) {
    bad_file(input.name, "a BrainVision set is three files; give the path of one of them, not standard input");
  }
  const std::string_view start = input.bytes.substr(0, std::min<std::size_t>(input.bytes.find('\n'), 100));
  const bool is_header = lower_case(start).find("header file") != std::string::npos;
  std::optional<FileBytes> other;
  Input header = input;
  if (!is_header) {
    const std::string path = find_header(input);
    other.emplace(path);
    header = {other->view(), other->name(), path, nullptr, input.all_names};
  }
  const BrainVisionHeader named = read_brainvision_header(header);

  const std::string data_path = beside(header.path, named.data_file);
  if (data_path.empty()) {
    const std::string likely = beside(header.path, fs::path(header.path).stem().string() + ".eeg");
    bad_file(header.name, "line " + std::to_string(named.data_file_line) + " names its samples '" +
                              printable(named.data_file, 200) + "', which is not beside it" +
                              (likely.empty() ? "; put the set's files into one folder"
                                              : "; if '" + printable(fs::path(likely).filename().string(), 200) +
                                                    "' holds them, correct DataFile= there"));
  }
  const FileBytes data(data_path);
  BrainVisionSet set{header, {}, {data.view(), data.name(), data_path, input.sink}};
  std::optional<FileBytes> markers;
  std::string missing;
  if (!named.marker_file.empty()) {
    const std::string path = beside(header.path, named.marker_file);
    if (path.empty()) {
      missing = "the markers '" + printable(named.marker_file, 200) + "' are not beside the header; read without them";
    } else {
      markers.emplace(path);
      set.markers = markers->view();
    }
  }
  Recording recording = read_brainvision_set(set, options);
  if (!missing.empty()) recording.warnings.push_back(missing);
  return recording;
}

}  // namespace envoi::signal
