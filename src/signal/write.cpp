// envoi::write_signal: channels to .npy, .wav, EDF+ and text. The file appears whole or not at all.
#include <sndfile.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/signal.hpp"
#include "shared.hpp"
#include "write_edf.hpp"

namespace envoi {
namespace {

using signal::bad_argument;
using signal::shortest;

void append_double(std::string& out, double value) {
  std::uint64_t word = std::bit_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; ++i, word >>= 8) out += static_cast<char>(word & 0xFF);
}

std::string number_text(double value) { return std::isnan(value) ? "nan" : shortest(value); }

// Hands `out` to the file whenever it has grown, so that a long recording is not kept twice.
void flush(core::AtomicFile& file, std::string& out, std::size_t limit) {
  if (out.size() < limit) return;
  file.write(std::string_view(out));
  out.clear();
}

constexpr std::size_t kBuffer = std::size_t{1} << 20;

void write_npy(core::AtomicFile& file, std::span<const Channel> channels) {
  const std::size_t samples = channels[0].samples.size();
  std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(samples) + "," +
                           (channels.size() > 1 ? " " + std::to_string(channels.size()) : "") + "), }";
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  while ((kPreamble + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dictionary.size() & 0xFF);
  out += static_cast<char>(dictionary.size() >> 8);
  out += dictionary;
  for (std::size_t i = 0; i < samples; ++i) {
    for (const Channel& channel : channels) append_double(out, channel.samples[i]);
    flush(file, out, kBuffer);
  }
  flush(file, out, 1);
}

struct Memory {
  std::string bytes;
  std::size_t at = 0;
};

sf_count_t memory_length(void* user) { return static_cast<sf_count_t>(static_cast<Memory*>(user)->bytes.size()); }

sf_count_t memory_seek(sf_count_t offset, int whence, void* user) {
  auto& memory = *static_cast<Memory*>(user);
  const auto here = static_cast<sf_count_t>(memory.at);
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? here : memory_length(user);
  if (base + offset < 0) return -1;
  memory.at = static_cast<std::size_t>(base + offset);
  return base + offset;
}

sf_count_t memory_read(void* to, sf_count_t count, void* user) {
  auto& memory = *static_cast<Memory*>(user);
  const std::size_t left = memory.bytes.size() - std::min(memory.bytes.size(), memory.at);
  const std::size_t here = std::min(left, static_cast<std::size_t>(count));
  if (here > 0) std::memcpy(to, memory.bytes.data() + memory.at, here);
  memory.at += here;
  return static_cast<sf_count_t>(here);
}

sf_count_t memory_write(const void* from, sf_count_t count, void* user) {
  auto& memory = *static_cast<Memory*>(user);
  const auto size = static_cast<std::size_t>(count);
  if (memory.bytes.size() < memory.at + size) memory.bytes.resize(memory.at + size);
  std::memcpy(memory.bytes.data() + memory.at, from, size);
  memory.at += size;
  return count;
}

sf_count_t memory_tell(void* user) { return static_cast<sf_count_t>(static_cast<Memory*>(user)->at); }

void write_wav(const std::string& path, std::span<const Channel> channels) {
  const double rate_hz = channels[0].rate_hz;
  if (!(rate_hz >= 1 && rate_hz <= std::numeric_limits<int>::max()) || rate_hz != std::floor(rate_hz)) {
    bad_argument(path, "a WAV file cannot hold a rate of " + signal::rounded(rate_hz, 9) +
                           " Hz, only whole numbers; write .npy or .txt");
  }
  for (const Channel& channel : channels)
    if (std::any_of(channel.samples.begin(), channel.samples.end(), [](double x) { return std::isinf(x); }))
      bad_argument(path, "channel '" + signal::printable(channel.name) + "' has infinite samples; write .npy");
  const std::size_t samples = channels[0].samples.size(), width = channels.size();
  if (width > 1024) bad_argument(path, std::to_string(width) + " channels are too many for a WAV file; write .npy");
  if (static_cast<double>(samples) * static_cast<double>(width) > 1e9) {
    bad_argument(path, "too long for a WAV file, which ends at 4 GB; write .npy");
  }
  Memory memory;
  SF_VIRTUAL_IO io{memory_length, memory_seek, memory_read, memory_write, memory_tell};
  SF_INFO info{};
  info.samplerate = static_cast<int>(rate_hz);
  info.channels = static_cast<int>(width);
  info.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
  std::unique_ptr<SNDFILE, decltype(&sf_close)> sound(sf_open_virtual(&io, SFM_WRITE, &info, &memory), sf_close);
  const auto fault = [&] {
    throw Error(ErrorKind::bad_file, path + ": cannot be made: " + std::string(sf_strerror(sound.get())));
  };
  if (!sound) fault();
  // The PEAK chunk holds the time of day; the same signal is to give the same bytes.
  sf_command(sound.get(), SFC_SET_ADD_PEAK_CHUNK, nullptr, SF_FALSE);
  std::vector<float> block(std::max<std::size_t>(1, 16384 / width) * width);
  for (std::size_t first = 0; first < samples; first += block.size() / width) {
    const std::size_t count = std::min(samples - first, block.size() / width);
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t i = 0; i < count; ++i) {
        const double sample = channels[c].samples[first + i];
        block[i * width + c] = std::isnan(sample) ? 0.0f : static_cast<float>(sample);
      }
    }
    const auto frames = static_cast<sf_count_t>(count);
    if (sf_writef_float(sound.get(), block.data(), frames) != frames) fault();
  }
  sound.reset();
  core::AtomicFile file(path);
  file.write(std::string_view(memory.bytes));
  file.commit();
}

std::string quoted_name(const std::string& name, char delimiter) {
  std::string plain = name;
  for (char& c : plain) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  if (plain.find('"') == std::string::npos && plain.find(delimiter) == std::string::npos) return plain;
  std::string out = "\"";
  for (const char c : plain) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// One value a line, or a table with a header row and, where the rate is known, a column of times.
void write_text(core::AtomicFile& file, std::span<const Channel> channels, char delimiter, bool bare) {
  const std::size_t samples = channels[0].samples.size();
  const double rate_hz = channels[0].rate_hz;
  const bool with_time = !bare && rate_hz > 0;
  std::string out;
  if (!bare) {
    if (with_time) out += "time_s";
    for (const Channel& channel : channels) {
      if (!out.empty()) out += delimiter;
      const std::string unit = channel.unit.empty() ? "" : " (" + channel.unit + ")";
      out += quoted_name(channel.name + unit, delimiter);
    }
    out += '\n';
  }
  for (std::size_t i = 0; i < samples; ++i) {
    if (with_time) out += number_text(channels[0].start_s + static_cast<double>(i) / rate_hz) + delimiter;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      if (c > 0) out += delimiter;
      out += number_text(channels[c].samples[i]);
    }
    out += '\n';
    flush(file, out, kBuffer);
  }
  flush(file, out, 1);
}

}  // namespace

void write_signal(const std::string& path, std::span<const Channel> channels, const SignalNotes& notes) {
  if (channels.empty()) bad_argument(path, "there is no channel to write");
  const std::string name = signal::lower_case(path);
  const bool wide = name.ends_with(".bdf");
  if (wide || name.ends_with(".edf")) {
    core::AtomicFile file(path);
    signal::write_edf(file, path, channels, notes, wide);
    return file.commit();
  }
  for (const Channel& channel : channels) {
    if (channel.samples.size() != channels[0].samples.size() || channel.rate_hz != channels[0].rate_hz) {
      bad_argument(path, "channel '" + channel.name + "' has " + std::to_string(channel.samples.size()) +
                             " samples at " + signal::rounded(channel.rate_hz) + " Hz, '" + channels[0].name +
                             "' has " + std::to_string(channels[0].samples.size()) + " at " +
                             signal::rounded(channels[0].rate_hz) + " Hz; write them to files of their own");
    }
  }
  const bool text = path == "-" || name.ends_with(".txt");
  if (name.ends_with(".wav")) return write_wav(path, channels);
  if (!text && !name.ends_with(".npy") && !name.ends_with(".csv") && !name.ends_with(".tsv")) {
    bad_argument(path, "the ending of a signal's file must be .edf, .bdf, .npy, .wav, .txt, .csv or .tsv");
  }
  core::AtomicFile file(path);
  if (name.ends_with(".npy")) {
    write_npy(file, channels);
  } else {
    write_text(file, channels, name.ends_with(".csv") ? ',' : '\t', text && channels.size() == 1);
  }
  file.commit();
}

}  // namespace envoi
