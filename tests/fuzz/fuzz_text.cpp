// Text tables: with and without a rate, and by column.
#include "fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  envoi::ReadOptions options;
  envoi_fuzz::run(data, size, "x.csv", options, envoi::signal::read_text);
  options.rate_hz = 256;
  envoi_fuzz::run(data, size, "x.csv", options, envoi::signal::read_text);
  options.column = "2";
  options.time_column = "1";
  return envoi_fuzz::run(data, size, "x.csv", options, envoi::signal::read_text);
}
