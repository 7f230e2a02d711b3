// Bare little-endian float32 or float64 samples, channels interleaved, with nothing said about them.
#include <bit>
#include <cmath>
#include <cstring>

#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kMostChannels = 1 << 16;

template <class Real, class Word>
Real load_little(const char* at) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    word |= static_cast<Word>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return std::bit_cast<Real>(word);
}

}  // namespace

Recording read_raw(const Input& input, const ReadOptions& options, bool wide) {
  const std::size_t width = wide ? 8 : 4;
  Recording recording;
  recording.format = wide ? "f64" : "f32";
  const std::size_t across = options.raw_channels.value_or(1);
  if (across < 1 || across > kMostChannels)
    bad_argument(input.name, std::to_string(across) + " interleaved channels cannot be right");
  const std::size_t frame = across * width;
  if (input.bytes.size() % frame != 0) {
    bad_file(input.name, std::to_string(input.bytes.size()) + " bytes are not a whole number of " +
                             std::to_string(width) + "-byte samples" +
                             (across > 1 ? " of " + std::to_string(across) + " channels" : "") +
                             "; the file is cut off or of another format");
  }
  std::vector<std::string> names(across);
  for (std::size_t c = 0; c < across; ++c) names[c] = std::to_string(c + 1);
  const double rate_hz = required_rate(input.name, options);
  Crop crop(input.name, options);
  for (const std::size_t c : wanted_channels(input, names, std::vector<std::string>(across), options)) {
    Channel channel;
    channel.name = names[c];
    channel.rate_hz = rate_hz;
    const SampleRange range = crop.take(channel.start_s, rate_hz, input.bytes.size() / frame);
    require_memory(input.name, static_cast<double>(range.count) * static_cast<double>(recording.channels.size() + 1));
    channel.samples.resize(range.count);
    for (std::size_t i = 0; i < range.count; ++i) {
      const char* at = input.bytes.data() + (range.first + i) * frame + c * width;
      channel.samples[i] = wide ? load_little<double, std::uint64_t>(at) : load_little<float, std::uint32_t>(at);
    }
    recording.channels.push_back(std::move(channel));
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
