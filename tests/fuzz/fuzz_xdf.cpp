// XDF: all streams, and one. HDF5 and MATLAB files have no target: their libraries are known to crash on hostile input,
// and what is found there is theirs to mend.
#include "fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoi::ReadOptions options;
  envoi_fuzz::run(data, size, "x.xdf", options, envoi::signal::read_xdf);
  options.stream = "1";
  options.rate_hz = 100;
  return envoi_fuzz::run(data, size, "x.xdf", options, envoi::signal::read_xdf);
}
