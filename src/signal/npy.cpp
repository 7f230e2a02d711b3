// NumPy's .npy, versions 1 to 3: one- and two-dimensional arrays of plain numbers; axis 0 is the samples.
// Format: numpy.lib.format.
#include <vector>

#include "array.hpp"
#include "npy_header.hpp"
#include "readers.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {

Recording read_npy(const Input& input, const ReadOptions& options) {
  const NpyHeader header = read_npy_header(input);
  const NpyType& type = npy_type(input, header.dtype);
  if (header.shape.empty() || header.shape.size() > 2) {
    bad_file(input.name, "the array has " + std::to_string(header.shape.size()) +
                             " axes; samples, or samples x channels, are wanted");
  }
  const std::uint64_t samples = header.shape[0];
  const std::uint64_t channels = header.shape.size() == 2 ? header.shape[1] : 1;
  if (samples == 0 || channels == 0) bad_file(input.name, "the array is empty");
  const std::uint64_t there = (input.bytes.size() - header.data_at) / type.width;
  if (samples > there || channels > there / samples) {
    bad_file(input.name, "is cut off: the header announces " + std::to_string(samples) + " x " +
                             std::to_string(channels) + " numbers, the file holds " + std::to_string(there));
  }
  if (channels > kMostArrayChannels && channels > samples) {
    bad_file(input.name, std::to_string(samples) + " samples of " + std::to_string(channels) +
                             " channels cannot be right; axis 0 is the samples, so transpose it (array.T)");
  }

  Recording recording;
  recording.format = "npy";
  if (header.data_at + samples * channels * type.width < input.bytes.size()) {
    recording.warnings.push_back("the file goes on after the array that its header announces; the rest is left out");
  }
  if (channels > samples) {
    recording.warnings.push_back("the array is taken as " + std::to_string(samples) + " samples of " +
                                 std::to_string(channels) + " channels; transpose it if that is upside down");
  }

  std::vector<std::string> names(channels);
  make_unique(names);
  const std::vector<std::size_t> chosen = wanted_channels(input, names, std::vector<std::string>(channels), options);
  const double rate_hz = required_rate(input.name, options);
  const bool big_endian = header.big_endian();

  Crop crop(input.name, options);
  const char* const data = input.bytes.data() + header.data_at;
  const std::size_t sample_step = type.width * (header.fortran_order ? 1 : channels);
  const std::size_t channel_step = type.width * (header.fortran_order ? samples : 1);
  for (const std::size_t index : chosen) {
    Channel channel;
    channel.name = names[index];
    channel.rate_hz = rate_hz;
    const SampleRange range = crop.take(channel.start_s, rate_hz, samples);
    require_memory(input.name, static_cast<double>(range.count) * static_cast<double>(chosen.size()));
    channel.samples.resize(range.count);
    const char* at = data + index * channel_step + range.first * sample_step;
    for (double& sample : channel.samples) {
      sample = type.load(at, big_endian);
      at += sample_step;
    }
    recording.channels.push_back(std::move(channel));
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
