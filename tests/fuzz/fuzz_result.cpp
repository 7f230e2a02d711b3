// Results in JSON and NDJSON.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const envoi::Decomposition result = envoi::results::parse({reinterpret_cast<const char*>(data), size}, "x.json");
    // What was read must be writable again.
    envoi::to_json(result);
  } catch (const envoi::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
