// WAV, FLAC and whatever else libsndfile opens, from memory: one channel a channel, full scale 1.
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

struct Cursor {
  std::string_view bytes;
  sf_count_t at = 0;
};

sf_count_t length_of(void* user) { return static_cast<sf_count_t>(static_cast<Cursor*>(user)->bytes.size()); }

sf_count_t seek_to(sf_count_t offset, int whence, void* user) {
  auto& cursor = *static_cast<Cursor*>(user);
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? cursor.at : length_of(user);
  sf_count_t target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0) return -1;
  return cursor.at = target;
}

sf_count_t read_some(void* to, sf_count_t count, void* user) {
  auto& cursor = *static_cast<Cursor*>(user);
  const sf_count_t here = std::clamp<sf_count_t>(length_of(user) - cursor.at, 0, std::max<sf_count_t>(count, 0));
  if (here > 0) std::memcpy(to, cursor.bytes.data() + cursor.at, static_cast<std::size_t>(here));
  cursor.at += here;
  return here;
}

sf_count_t write_nothing(const void*, sf_count_t, void*) { return 0; }
sf_count_t tell(void* user) { return static_cast<Cursor*>(user)->at; }

std::string format_name(int format) {
  switch (format & SF_FORMAT_TYPEMASK) {
    case SF_FORMAT_WAV:
    case SF_FORMAT_WAVEX:
    case SF_FORMAT_RF64:
      return "wav";
    case SF_FORMAT_FLAC:
      return "flac";
    case SF_FORMAT_OGG:
      return "ogg";
    case SF_FORMAT_AIFF:
      return "aiff";
    case SF_FORMAT_AU:
      return "au";
    case SF_FORMAT_CAF:
      return "caf";
    case SF_FORMAT_W64:
      return "w64";
    default:
      return "audio";
  }
}

// A RIFF file says its length at byte 4; libsndfile keeps quiet about a shortfall.
void warn_if_cut(std::string_view bytes, std::vector<std::string>& warnings) {
  if (!bytes.starts_with("RIFF") || bytes.size() < 12) return;
  std::uint64_t announced = 8;
  for (std::size_t i = 0; i < 4; ++i) {
    announced += static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[4 + i])) << (8 * i);
  }
  // Programs that write into a pipe leave the length at its largest.
  if (announced >= 0x7FFFFFFF || announced <= bytes.size()) return;
  warnings.push_back("the file is cut off: its header announces " + std::to_string(announced) + " bytes, it has " +
                     std::to_string(bytes.size()));
}

std::vector<std::string> channel_names(std::size_t count) {
  if (count == 2) return {"left", "right"};
  std::vector<std::string> names(count);
  make_unique(names);
  return names;
}

}  // namespace

Recording read_audio(const Input& input, const ReadOptions& options) {
  Cursor cursor{input.bytes};
  SF_VIRTUAL_IO io{length_of, seek_to, read_some, write_nothing, tell};
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(sf_open_virtual(&io, SFM_READ, &info, &cursor), sf_close);
  if (!file) {
    bad_file(input.name, "libsndfile cannot read it: " + printable(trimmed(sf_strerror(nullptr)), 120));
  }
  if (info.samplerate < 1 || info.channels < 1 || info.channels > 1024 || info.frames < 0) {
    bad_file(input.name, "its header announces " + std::to_string(info.samplerate) + " Hz, " +
                             std::to_string(info.channels) + " channels and " + std::to_string(info.frames) +
                             " samples; the file is damaged");
  }
  Recording recording;
  recording.format = format_name(info.format);
  warn_if_cut(input.bytes, recording.warnings);

  const auto width = static_cast<std::size_t>(info.channels);
  const double rate_hz = info.samplerate;
  check_own_rate(input.name, "it", rate_hz, options);
  const std::vector<std::string> names = channel_names(width);
  const std::vector<std::size_t> chosen =
      wanted_channels(input, names, std::vector<std::string>(width, "audio"), options);
  if (info.frames == 0) bad_file(input.name, "holds no samples");

  Crop crop(input.name, options);
  SampleRange range;
  for (const std::size_t index : chosen) {
    Channel channel;
    channel.name = names[index];
    channel.type = "audio";
    channel.rate_hz = rate_hz;
    channel.kind = DataKind::audio;
    range = crop.take(channel.start_s, rate_hz, static_cast<std::size_t>(info.frames));
    recording.channels.push_back(std::move(channel));
  }
  if (range.first > 0 && range.count > 0) {
    const auto first = static_cast<sf_count_t>(range.first);
    if (sf_seek(file.get(), first, SEEK_SET) != first) {
      bad_file(input.name, "cannot be read from " + std::to_string(range.first) + " samples on; leave --from out");
    }
  }
  // The count of the header may be a lie, so memory grows with what is really decoded.
  const double most = 4096.0 * static_cast<double>(input.bytes.size()) + 1e6;
  std::vector<double> block(std::max<std::size_t>(1, 65536 / width) * width);
  std::size_t got = 0;
  while (got < range.count) {
    const std::size_t ask = std::min(range.count - got, block.size() / width);
    const sf_count_t frames = sf_readf_double(file.get(), block.data(), static_cast<sf_count_t>(ask));
    if (frames <= 0) break;
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      std::vector<double>& samples = recording.channels[c].samples;
      for (std::size_t i = 0; i < static_cast<std::size_t>(frames); ++i) {
        samples.push_back(block[i * width + chosen[c]]);
      }
    }
    got += static_cast<std::size_t>(frames);
    if (static_cast<double>(got) * static_cast<double>(width) > most) {
      bad_file(input.name, "unpacks to more than 4096 samples a byte; it is damaged, or silence that can be shortened");
    }
  }
  if (got < range.count) {
    if (got == 0) bad_file(input.name, "is cut off or damaged: no samples could be decoded");
    recording.warnings.push_back("the file is cut off or damaged: " + std::to_string(got) + " of " +
                                 std::to_string(range.count) + " samples could be decoded");
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
