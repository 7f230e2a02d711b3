// Sound through libsndfile, and the choice of a reader by content.
#include "fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoi::ReadOptions options;
  envoi_fuzz::run(data, size, "x.wav", options, envoi::signal::read_audio);
  return envoi_fuzz::run(data, size, "x", options, envoi::signal::read_bytes);
}
