// envoi::read: finds the format by content and ending, and hands the bytes to its reader.
#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>

#include "by_channel.hpp"
#include "bytes.hpp"
#include "checks.hpp"
#include "envoi/error.hpp"
#include "readers.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

struct Sign {
  std::string_view magic;
  std::string_view format;  // of ours, or empty
  std::string_view advice;  // for files that are known and not read
};

constexpr std::array kSigns = {
    Sign{"\x93NUMPY", "npy", ""},
    Sign{"RIFF", "audio", ""},
    Sign{"RF64", "audio", ""},
    Sign{"fLaC", "audio", ""},
    Sign{"OggS", "audio", ""},
    Sign{"FORM", "audio", ""},
    Sign{".snd", "audio", ""},
    Sign{"caff", "audio", ""},
    Sign{"ID3", "audio", ""},
    Sign{"\xFF"
         "BIOSEMI",
         "edf", ""},
    Sign{"0       ", "edf", ""},
    Sign{"\x89HDF", "hdf5", ""},
    Sign{"XDF:", "xdf", ""},
    Sign{"Brain Vision", "brainvision", ""},
    Sign{"BrainVision", "brainvision", ""},
    Sign{"\xEF\xBB\xBF"
         "Brain Vision",
         "brainvision", ""},
    Sign{"MATLAB 5.0", "mat", ""},
    Sign{"MATLAB 7.3", "mat", ""},
    Sign{"SQLite format 3", "", "an SQLite database, not a recording"},
    Sign{"\x1F\x8B", "", "compressed with gzip; unpack it first"},
    Sign{"BZh", "", "compressed with bzip2; unpack it first"},
    Sign{"\xFD"
         "7zXZ",
         "", "compressed with xz; unpack it first"},
    Sign{"\x28\xB5\x2F\xFD", "", "compressed with zstd; unpack it first"},
    Sign{"PK\x03\x04", "", "a zip archive (.npz, .xlsx, ...); unpack it or write the data as .npy or text first"},
    Sign{"{", "", "JSON, not a recording; a result of envoi is read by envoi reconstruct"},
    Sign{"%PDF", "", "a PDF document, not a recording"},
};

struct Ending {
  std::string_view ending;
  std::string_view format;
};

constexpr std::array kEndings = {
    Ending{".f32", "f32"},          Ending{".f64", "f64"},          Ending{".edf", "edf"},
    Ending{".bdf", "edf"},          Ending{".npy", "npy"},          Ending{".wav", "audio"},
    Ending{".flac", "audio"},       Ending{".ogg", "audio"},        Ending{".oga", "audio"},
    Ending{".opus", "audio"},       Ending{".mp3", "audio"},        Ending{".aif", "audio"},
    Ending{".aiff", "audio"},       Ending{".au", "audio"},         Ending{".caf", "audio"},
    Ending{".w64", "audio"},        Ending{".xdf", "xdf"},          Ending{".h5", "hdf5"},
    Ending{".hdf5", "hdf5"},        Ending{".mat", "mat"},          Ending{".set", "mat"},
    Ending{".vhdr", "brainvision"}, Ending{".vmrk", "brainvision"}, Ending{".eeg", "brainvision"},
    Ending{".txt", "text"},         Ending{".csv", "text"},         Ending{".tsv", "text"},
    Ending{".dat", "text"},
};

struct Name {
  std::string_view given;
  std::string_view format;
};

constexpr std::array kNames = {
    Name{"edf", "edf"},          Name{"edf+", "edf"},  Name{"bdf", "edf"},
    Name{"bdf+", "edf"},         Name{"wav", "audio"}, Name{"flac", "audio"},
    Name{"audio", "audio"},      Name{"text", "text"}, Name{"txt", "text"},
    Name{"csv", "text"},         Name{"tsv", "text"},  Name{"npy", "npy"},
    Name{"f32", "f32"},          Name{"f64", "f64"},   Name{"brainvision", "brainvision"},
    Name{"vhdr", "brainvision"}, Name{"xdf", "xdf"},   Name{"hdf5", "hdf5"},
    Name{"h5", "hdf5"},          Name{"mat", "mat"},   Name{"set", "mat"},
    Name{"eeglab", "mat"},
};

std::string_view format_of(const Input& input, const ReadOptions& options) {
  if (!options.format.empty()) {
    const auto same = [&](const Name& name) { return name.given == options.format; };
    const auto known = std::find_if(kNames.begin(), kNames.end(), same);
    if (known != kNames.end()) return known->format;
    bad_argument(input.name,
                 "no format '" + printable(options.format) +
                     "'; there are: edf, bdf, brainvision, xdf, hdf5, mat, wav, flac, audio, text, npy, f32, f64");
  }
  const std::string name = lower_case(input.name);
  std::string_view by_ending;
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.ending)) by_ending = ending.format;
  }
  // Raw samples may begin with any bytes at all, so nothing but their ending counts.
  if (by_ending == "f32" || by_ending == "f64") return by_ending;
  for (const Sign& sign : kSigns) {
    if (!input.bytes.starts_with(sign.magic)) continue;
    // A column of zeros begins like an EDF header; a header goes on without a line end.
    const bool short_line = input.bytes.substr(0, 80).find_first_of("\r\n") != std::string_view::npos;
    if (sign.magic == "0       " && (by_ending == "text" || short_line)) continue;
    if (sign.format.empty()) bad_file(input.name, "is " + std::string(sign.advice));
    return sign.format;
  }
  return by_ending.empty() ? "text" : by_ending;
}

}  // namespace

Recording read_bytes(const Input& input, const ReadOptions& options) {
  if (input.bytes.empty()) bad_file(input.name, "is empty");
  const std::string_view format = format_of(input, options);
  if (format != "text" && !options.column.empty()) {
    bad_argument(input.name, "--column is for text files; choose channels with --channels");
  }
  if (format != "text" && !options.time_column.empty()) bad_argument(input.name, "--time-column is for text files");
  if (format != "hdf5" && format != "mat" && !options.dataset.empty()) {
    bad_argument(input.name, "--dataset is for HDF5 and MATLAB files");
  }
  if (format != "xdf" && !options.stream.empty()) bad_argument(input.name, "--stream is for XDF files");

  const auto take_unit = [&](Channel& channel) {
    if (options.unit.empty() || channel.unit == options.unit) return;
    if (!channel.unit.empty())
      bad_argument(input.name, "channel " + printable(channel.name) + " is in " + printable(channel.unit) +
                                   ", and --unit says " + printable(options.unit));
    channel.unit = options.unit;
  };
  const bool by_channel = input.sink != nullptr && (format == "edf" || format == "brainvision");
  std::optional<BadSpans> bad;
  OddUnits units;
  const ChannelSink checked = [&](const Recording& so_far, Channel channel) {
    if (!bad) bad.emplace(options.bad_spans_missing ? so_far.annotations : std::vector<Annotation>());
    bad->mark(channel);
    take_unit(channel);
    units.look_at(channel);
    (*input.sink)(so_far, std::move(channel));
  };
  Input given = input;
  given.sink = by_channel ? &checked : nullptr;
  Recording recording = format == "edf"           ? read_edf(given, options)
                        : format == "brainvision" ? read_brainvision(given, options)
                        : format == "xdf"         ? read_xdf(given, options)
                        : format == "hdf5"        ? read_hdf5(given, options)
                        : format == "mat"         ? read_matlab(given, options)
                        : format == "audio"       ? read_audio(given, options)
                        : format == "npy"         ? read_npy(given, options)
                        : format == "f32"         ? read_raw(given, options, false)
                        : format == "f64"         ? read_raw(given, options, true)
                                                  : read_text(given, options);
  recording.name = input.name;
  if (by_channel) {
    for (Channel& head : recording.channels) take_unit(head);
    if (bad) bad->say(recording);
    units.say(recording);
    return recording;
  }
  if (options.bad_spans_missing) mark_bad_spans(recording);
  for (Channel& channel : recording.channels) take_unit(channel);
  say_odd_units(recording);
  return recording;
}

void add_channel(const Input& input, Recording& recording, Channel channel) {
  if (input.sink == nullptr) {
    recording.channels.push_back(std::move(channel));
    return;
  }
  std::vector<double> samples;
  samples.swap(channel.samples);
  recording.channels.push_back(channel);
  if (samples.empty()) return;
  recording.channels.back().samples.assign(1, std::numeric_limits<double>::quiet_NaN());
  channel.samples.swap(samples);
  (*input.sink)(recording, std::move(channel));
}

}  // namespace envoi::signal

namespace envoi {

Recording read(const std::string& path, const ReadOptions& options) {
  return signal::read_by_channel(path, options, nullptr);
}

Recording signal::read_by_channel(const std::string& path, const ReadOptions& options, const TakeChannel& take,
                                  std::vector<std::string>* all_names) {
  const auto too_large = [&] {
    return Error(ErrorKind::out_of_memory, signal::printable(path, 300) +
                                               ": does not fit into memory; read fewer channels or a shorter stretch "
                                               "(--channels, --from, --to)");
  };
  try {
    const signal::FileBytes file(path);
    std::string sha256;  // found once
    const auto hash = [&] { return sha256.empty() ? sha256 = signal::sha256_hex(file.view()) : sha256; };
    const signal::ChannelSink sink = [&](const Recording& so_far, Channel channel) {
      Recording about;
      about.name = file.name();
      about.format = so_far.format, about.start = so_far.start, about.sha256 = hash();
      about.annotations = so_far.annotations;
      take(about, std::move(channel));
    };
    Recording recording = signal::read_bytes(
        {file.view(), file.name(), path == "-" ? "" : path, take ? &sink : nullptr, all_names}, options);
    recording.sha256 = hash();
    return recording;
  } catch (const std::bad_alloc&) {
    throw too_large();
  } catch (const std::length_error&) {
    throw too_large();
  }
}

}  // namespace envoi
