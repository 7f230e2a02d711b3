// Files made for the tests of the readers: bytes in a folder of their own, and an EDF writer that can lie.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"
#include "signal/readers.hpp"

namespace envoi_test {

inline envoi::Recording from_bytes(std::string_view bytes, const std::string& name,
                                   const envoi::ReadOptions& options = {}) {
  return envoi::signal::read_bytes({bytes, name}, options);
}

inline envoi::ReadOptions at_rate(double rate_hz) {
  envoi::ReadOptions options;
  options.rate_hz = rate_hz;
  return options;
}

// The kind and one-line message of the Error that `call` throws.
inline void expect_error(const std::function<void()>& call, envoi::ErrorKind kind,
                         const std::vector<std::string>& parts) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const envoi::Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), kind) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "envoi_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

struct EdfChannel {
  std::string label = "Cz";
  std::string unit = "uV";
  std::string physical_low = "-100", physical_high = "100";
  std::string digital_low = "-32768", digital_high = "32767";
  std::string samples = "4";              // as the header has it
  std::vector<std::string> records = {};  // bytes, a string a record
};

struct EdfFile {
  bool wide = false;
  std::string recording = "Startdate 31-JAN-2026 X X X";
  std::string date = "31.01.26", time = "22.10.05";
  std::string reserved, header_bytes, record_count, record_s = "1", signals;
  std::vector<EdfChannel> channels;

  std::string bytes() const {
    const auto field = [](std::string text, std::size_t width) {
      text.resize(width, ' ');
      return text;
    };
    const std::size_t count = channels.size();
    const std::size_t records = channels.empty() ? 0 : channels[0].records.size();
    std::string out = wide ? std::string(
                                 "\xFF"
                                 "BIOSEMI")
                           : field("0", 8);
    out += field("X X X X", 80) + field(recording, 80) + field(date, 8) + field(time, 8);
    out += field(header_bytes.empty() ? std::to_string(256 * (count + 1)) : header_bytes, 8) + field(reserved, 44);
    out += field(record_count.empty() ? std::to_string(records) : record_count, 8) + field(record_s, 8);
    out += field(signals.empty() ? std::to_string(count) : signals, 4);
    for (const EdfChannel& c : channels) out += field(c.label, 16);
    for (std::size_t i = 0; i < count; ++i) out += field("", 80);
    for (const EdfChannel& c : channels) out += field(c.unit, 8);
    for (const EdfChannel& c : channels) out += field(c.physical_low, 8);
    for (const EdfChannel& c : channels) out += field(c.physical_high, 8);
    for (const EdfChannel& c : channels) out += field(c.digital_low, 8);
    for (const EdfChannel& c : channels) out += field(c.digital_high, 8);
    for (std::size_t i = 0; i < count; ++i) out += field("", 80);
    for (const EdfChannel& c : channels) out += field(c.samples, 8);
    for (std::size_t i = 0; i < count; ++i) out += field("", 32);
    for (std::size_t r = 0; r < records; ++r) {
      for (const EdfChannel& c : channels) out += c.records[r];
    }
    return out;
  }
};

inline std::string digital(const std::vector<int>& samples, bool wide = false) {
  std::string out;
  for (const int sample : samples) {
    const auto word = static_cast<std::uint32_t>(sample);
    for (int i = 0; i < (wide ? 3 : 2); ++i) out += static_cast<char>(word >> (8 * i) & 0xFF);
  }
  return out;
}

// Scale 1: a digital count is a microvolt.
inline EdfChannel counts(const std::string& label, const std::vector<std::vector<int>>& records, bool wide = false) {
  EdfChannel channel;
  channel.label = label;
  channel.physical_low = channel.digital_low = "-1000";
  channel.physical_high = channel.digital_high = "1000";
  channel.samples = std::to_string(records.empty() ? 0 : records[0].size());
  for (const auto& record : records) channel.records.push_back(digital(record, wide));
  return channel;
}

inline EdfChannel annotations(const std::vector<std::string>& records, std::size_t samples = 32) {
  EdfChannel channel;
  channel.label = "EDF Annotations";
  channel.unit = "";
  channel.physical_low = "-1";
  channel.physical_high = "1";
  channel.samples = std::to_string(samples);
  for (std::string record : records) {
    record.resize(2 * samples, '\0');
    channel.records.push_back(record);
  }
  return channel;
}

}  // namespace envoi_test
