// NumPy arrays.
#include "fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoi::ReadOptions options;
  options.rate_hz = 256;
  return envoi_fuzz::run(data, size, "x.npy", options, envoi::signal::read_npy);
}
