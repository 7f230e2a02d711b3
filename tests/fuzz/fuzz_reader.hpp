// The common part of the fuzz targets of the readers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "envoi/error.hpp"
#include "signal/readers.hpp"

namespace envoi_fuzz {

// What every reader promises of what it returns; a breach ends the run.
inline void check(const envoi::Recording& recording) {
  for (const envoi::Channel& channel : recording.channels) {
    if (channel.samples.empty() || !(channel.rate_hz > 0) || channel.name.empty()) std::abort();
    for (const envoi::Channel& other : recording.channels) {
      if (&other != &channel && other.name == channel.name) std::abort();
    }
    if (recording.channels.size() > 64) break;
  }
}

template <class Read>
int run(const std::uint8_t* data, std::size_t size, const std::string& name, const envoi::ReadOptions& options,
        Read read) {
  if (size == 0) return 0;
  try {
    check(read(envoi::signal::Input{{reinterpret_cast<const char*>(data), size}, name}, options));
  } catch (const envoi::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}

}  // namespace envoi_fuzz
