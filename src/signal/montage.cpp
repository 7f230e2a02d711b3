// Re-referencing and bipolar differences.
#include "montage.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

// What there is, or why there is no such channel although the file has it.
std::string no_channel(const Recording& recording, std::string_view name, const std::vector<std::string>& file_names) {
  const std::string shown = "'" + printable(name) + "'";
  if (std::find(file_names.begin(), file_names.end(), name) != file_names.end())
    return "channel " + shown + " was not read: --exclude or --types leave it out, or it cannot be scaled";
  std::vector<std::string> names = file_names;
  if (names.empty())
    for (const Channel& channel : recording.channels) names.push_back(channel.name);
  return "no channel " + shown + "; there are: " + list_of(names);
}

std::optional<std::size_t> find(const Recording& recording, std::string_view name) {
  for (std::size_t i = 0; i < recording.channels.size(); ++i)
    if (recording.channels[i].name == name) return i;
  return std::nullopt;
}

// Channels can be added sample by sample, else Error.
void require_alike(const Recording& recording, const std::string& what, const std::vector<std::size_t>& channels) {
  const Channel& a = recording.channels[channels.front()];
  for (const std::size_t i : channels) {
    const Channel& b = recording.channels[i];
    const std::string both = "'" + printable(a.name) + "' and '" + printable(b.name) + "'";
    const std::string advice = "; leave out those that differ with --exclude or --types";
    if (a.rate_hz != b.rate_hz)
      bad_argument(recording.name, what + " needs channels of one rate, and " + both + " have " + rounded(a.rate_hz) +
                                       " and " + rounded(b.rate_hz) + " Hz" + advice);
    if (a.unit != b.unit)
      bad_argument(recording.name, what + " needs channels of one unit, and " + both + " are in '" + printable(a.unit) +
                                       "' and '" + printable(b.unit) + "'" + advice);
    if (a.samples.size() != b.samples.size() || std::abs(a.start_s - b.start_s) * a.rate_hz > 1e-3)
      bad_argument(recording.name, what + " needs channels over one time, and " + both + " differ" + advice);
  }
}

}  // namespace

Reference find_reference(const Recording& recording, const std::string& text, const std::vector<std::size_t>& needed,
                         const std::vector<std::string>& file_names) {
  Reference reference;
  const bool typed = std::any_of(recording.channels.begin(), recording.channels.end(),
                                 [](const Channel& channel) { return channel.type == "eeg"; });
  const bool average = text == "average" && !find(recording, text);
  const auto is_needed = [&](std::size_t i) { return std::find(needed.begin(), needed.end(), i) != needed.end(); };
  for (std::size_t i = 0; i < recording.channels.size(); ++i) {
    if (typed && recording.channels[i].type != "eeg") {
      if (is_needed(i)) reference.not_from.push_back(i);
    } else if (average || is_needed(i)) {
      reference.from.push_back(i);
    }
  }
  if (average) {
    if (reference.from.size() < 2)
      bad_argument(recording.name,
                   "the average reference needs two channels or more; that of one would take all of it away");
    reference.of = reference.from;
  } else if (const auto whole = find(recording, text)) {
    reference.of = {*whole};
  } else {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const std::string_view name = trimmed(std::string_view(text).substr(at, comma - at));
      at = comma + 1;
      const auto channel = find(recording, name);
      if (!channel) {
        const std::string why = no_channel(recording, name, file_names);
        bad_argument(recording.name, "reference: " + why + (why.starts_with("no ") ? ", or average" : ""));
      }
      if (std::find(reference.of.begin(), reference.of.end(), *channel) == reference.of.end())
        reference.of.push_back(*channel);
    }
  }
  for (const std::size_t i : reference.of) {
    if (std::find(reference.from.begin(), reference.from.end(), i) == reference.from.end()) reference.from.push_back(i);
    std::erase(reference.not_from, i);
  }
  require_alike(recording, "the reference", reference.from);
  return reference;
}

std::vector<Difference> find_differences(const Recording& recording, const std::vector<std::string>& pairs,
                                         const std::vector<std::string>& file_names) {
  std::vector<Difference> differences;
  std::set<std::string> taken;
  for (const std::string& text : pairs) {
    const std::string pair(trimmed(text));
    std::vector<Difference> found;
    std::string unknown;  // beside a name that is there
    for (std::size_t dash = pair.find('-'); dash != std::string::npos; dash = pair.find('-', dash + 1)) {
      const auto plus = find(recording, trimmed(std::string_view(pair).substr(0, dash)));
      const auto minus = find(recording, trimmed(std::string_view(pair).substr(dash + 1)));
      if (plus && minus) found.push_back({pair, *plus, *minus});
      if (plus.has_value() != minus.has_value() && unknown.empty())
        unknown = trimmed(plus ? std::string_view(pair).substr(dash + 1) : std::string_view(pair).substr(0, dash));
    }
    const std::string what = "bipolar '" + printable(pair) + "'";
    if (found.empty() && !unknown.empty())
      bad_argument(recording.name, what + ": " + no_channel(recording, unknown, file_names));
    if (found.empty()) {
      const std::string first(trimmed(std::string_view(pair).substr(0, pair.find('-'))));
      bad_argument(recording.name,
                   what + " is not two channels with a dash between: " + no_channel(recording, first, file_names));
    }
    if (found.size() > 1) bad_argument(recording.name, what + " can be read in two ways; the names hold dashes");
    if (found[0].plus == found[0].minus) bad_argument(recording.name, what + " is a channel less itself");
    if (!taken.insert(pair).second) bad_argument(recording.name, what + " is given twice");
    require_alike(recording, what, {found[0].plus, found[0].minus});
    differences.push_back(found[0]);
  }
  return differences;
}

void apply_reference(Recording& recording, const Reference& reference) {
  const std::size_t samples = recording.channels[reference.of.front()].samples.size();
  std::vector<double> sum(samples, 0.0);
  std::vector<std::size_t> there(samples, 0);
  for (const std::size_t i : reference.of) {
    const std::vector<double>& channel = recording.channels[i].samples;
    for (std::size_t k = 0; k < samples; ++k) {
      if (std::isnan(channel[k])) continue;
      sum[k] += channel[k];
      ++there[k];
    }
  }
  std::size_t partly = 0;
  for (std::size_t k = 0; k < samples; ++k) {
    partly += there[k] > 0 && there[k] < reference.of.size() ? 1 : 0;
    sum[k] /= static_cast<double>(there[k]);  // 0 / 0: missing
  }
  for (const std::size_t i : reference.from) {
    std::vector<double>& channel = recording.channels[i].samples;
    for (std::size_t k = 0; k < samples; ++k) channel[k] -= sum[k];
  }
  if (partly > 0)
    recording.warnings.push_back("the reference lacks some of its channels at " + std::to_string(partly) +
                                 " samples; there it is the mean of the others");
  std::vector<std::string> left;
  for (const std::size_t i : reference.not_from) left.push_back(recording.channels[i].name);
  if (!left.empty())
    recording.warnings.push_back("the reference is taken off the EEG channels alone, not off " + list_of(left));
}

void apply_differences(Recording& recording, const std::vector<Difference>& differences) {
  std::vector<Channel> channels;
  for (const Difference& difference : differences) {
    const Channel& minus = recording.channels[difference.minus];
    Channel channel = recording.channels[difference.plus];
    channel.name = difference.name;
    for (std::size_t k = 0; k < channel.samples.size(); ++k) channel.samples[k] -= minus.samples[k];
    channels.push_back(std::move(channel));
  }
  recording.channels = std::move(channels);
}

}  // namespace envoi::signal
