// Bare little-endian float32 or float64 samples of one channel, with nothing said about them.
#include <bit>
#include <cmath>
#include <cstring>

#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

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
  if (input.bytes.size() % width != 0) {
    bad_file(input.name, std::to_string(input.bytes.size()) + " bytes are not a whole number of " +
                             std::to_string(width) + "-byte samples; the file is cut off or of another format");
  }
  Channel channel;
  channel.name = "1";
  channel.rate_hz = required_rate(input.name, options);
  select_channels(input.name, {channel.name}, options.channels);

  Crop crop(input.name, options);
  const SampleRange range = crop.take(channel.start_s, channel.rate_hz, input.bytes.size() / width);
  require_memory(input.name, static_cast<double>(range.count));
  channel.samples.resize(range.count);
  for (std::size_t i = 0; i < range.count; ++i) {
    const char* const at = input.bytes.data() + (range.first + i) * width;
    channel.samples[i] = wide ? load_little<double, std::uint64_t>(at) : load_little<float, std::uint32_t>(at);
  }
  recording.channels.push_back(std::move(channel));
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
