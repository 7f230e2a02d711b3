// Reading and conditioning as one: the stretch is cut, and channels are picked, out of what was conditioned.
#include <algorithm>
#include <limits>
#include <utility>

#include "by_channel.hpp"
#include "condition.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi {
namespace {

using signal::TakeChannel;

void say_short_stretches(Recording& recording, std::size_t count) {
  if (count > 0) recording.warnings.push_back(signal::short_stretches_warning(count));
}

// The sample's place is kept, so that a channel without one is told from a channel that was handed on.
void hand_on(Recording& recording, const TakeChannel& take) {
  if (!take) return;
  std::vector<Channel> channels;
  channels.swap(recording.channels);
  const Recording about = recording;
  for (Channel& channel : channels) {
    recording.channels.push_back(channel);
    recording.channels.back().samples.assign(1, std::numeric_limits<double>::quiet_NaN());
    take(about, std::move(channel));
  }
}

// Indices into the recording's channels, or among the differences.
std::vector<std::size_t> wanted_of(const Recording& recording, const std::vector<std::string>& file_names,
                                   const ReadOptions& options, const Conditioning& conditioning) {
  if (!conditioning.bipolar.empty()) {
    std::vector<std::string> pairs;
    for (const std::string& pair : conditioning.bipolar) pairs.emplace_back(signal::trimmed(pair));
    return signal::select_channels(recording.name + ": --channels chooses among the differences of --bipolar", pairs,
                                   options.channels);
  }
  const auto has = [](const std::vector<std::size_t>& all, std::size_t i) {
    return std::find(all.begin(), all.end(), i) != all.end();
  };
  const std::vector<std::size_t> without = signal::select_channels(recording.name, file_names, options.exclude);
  std::vector<std::size_t> wanted;
  for (const std::size_t i : signal::select_channels(recording.name, file_names, options.channels)) {
    const auto same = [&](const Channel& channel) { return channel.name == file_names[i]; };
    const auto at = std::find_if(recording.channels.begin(), recording.channels.end(), same);
    if (at != recording.channels.end()) {
      wanted.push_back(static_cast<std::size_t>(at - recording.channels.begin()));
    } else if (options.types.empty() && !has(without, i)) {
      signal::bad_argument(recording.name, "channel '" + signal::printable(file_names[i]) +
                                               "' holds no data to take a reference off; leave it out of --channels");
    }
  }
  if (wanted.empty())
    signal::bad_argument(recording.name, "--channels, --types and --exclude leave no channel; there are: " +
                                             signal::list_of(file_names));
  return wanted;
}

// Channels are mixed, so all of them are needed at once.
Recording read_montage(const std::string& path, const ReadOptions& options, ReadOptions whole,
                       const Conditioning& conditioning) {
  whole.channels.clear();
  signal::Wanted wanted;
  Recording recording = signal::read_by_channel(path, whole, nullptr, &wanted.file_names);
  if (!options.channels.empty()) wanted.channels = wanted_of(recording, wanted.file_names, options, conditioning);
  say_short_stretches(recording, signal::condition_and_count(recording, conditioning, wanted));
  signal::Crop crop(recording.name, options);
  for (Channel& channel : recording.channels) crop.apply(channel);
  if (!recording.channels.empty()) crop.finish(recording);
  return recording;
}

}  // namespace

Recording signal::read_by_channel(const std::string& path, const ReadOptions& options, const Conditioning& conditioning,
                                  const TakeChannel& take) {
  ReadOptions whole = options;
  if (!conditioning.empty()) whole.from_s.reset(), whole.to_s.reset();
  if (!conditioning.reference.empty() || !conditioning.bipolar.empty()) {
    Recording recording = read_montage(path, options, whole, conditioning);
    hand_on(recording, take);
    return recording;
  }
  if (conditioning.empty() && !take) return read(path, options);

  std::optional<Crop> crop;
  std::size_t short_stretches = 0;
  std::vector<Channel> heads;  // of those handed on; of those without a sample in the stretch, empty
  const auto one = [&](const Recording& about, Channel channel) {
    if (!conditioning.empty()) {
      Recording alone;
      alone.name = about.name;
      alone.channels.push_back(std::move(channel));
      short_stretches += condition_and_count(alone, conditioning);
      channel = std::move(alone.channels.front());
      if (!crop) crop.emplace(about.name, options);
      crop->apply(channel);
    }
    if (!take || channel.samples.empty()) {
      heads.push_back(std::move(channel));
      return;
    }
    std::vector<double> samples;
    samples.swap(channel.samples);
    heads.push_back(channel);
    heads.back().samples.assign(1, std::numeric_limits<double>::quiet_NaN());
    channel.samples.swap(samples);
    take(about, std::move(channel));
  };
  Recording recording = read_by_channel(path, whole, one);
  if (heads.empty()) {  // of a format whose channels cannot be read alone
    std::vector<Channel> channels;
    channels.swap(recording.channels);
    const Recording about = recording;
    for (Channel& channel : channels) one(about, std::move(channel));
  }
  recording.channels = std::move(heads);
  say_short_stretches(recording, short_stretches);
  if (crop) crop->finish(recording);
  return recording;
}

Recording read(const std::string& path, const ReadOptions& options, const Conditioning& conditioning) {
  return signal::read_by_channel(path, options, conditioning, nullptr);
}

}  // namespace envoi
