// EDF, EDF+, BDF, BDF+: whole, and a stretch of some channels.
#include "fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoi::ReadOptions options;
  envoi_fuzz::run(data, size, "x.edf", options, envoi::signal::read_edf);
  options.channels = {"1", "*2"};
  options.from_s = 0.5;
  options.to_s = 2;
  return envoi_fuzz::run(data, size, "x.edf", options, envoi::signal::read_edf);
}
