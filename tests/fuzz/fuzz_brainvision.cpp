// BrainVision sets: header, markers and samples in one input, with a line of = between them.
#include "fuzz_reader.hpp"
#include "signal/brainvision.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kSeparator = "\n===\n";
  const std::size_t first = std::min(all.find(kSeparator), all.size());
  const std::size_t after = std::min(first + kSeparator.size(), all.size());
  const std::size_t second = std::min(all.find(kSeparator, after), all.size());
  const std::string_view markers = all.substr(after, second - after);
  const std::string_view samples = all.substr(std::min(second + kSeparator.size(), all.size()));
  const auto read = [&](const envoi::signal::Input& header, const envoi::ReadOptions& options) {
    return envoi::signal::read_brainvision_set({header, markers, {samples, "x.eeg"}}, options);
  };
  return envoi_fuzz::run(data, first, "x.vhdr", {}, read);
}
