// Which channels and which stretch of a recording are wanted.
#include "select.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/glob.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

// "3" or "2-5", 1-based and inside [1, count].
std::optional<SampleRange> numbered(std::string_view pattern, std::size_t count) {
  const std::size_t dash = pattern.find('-', 1);
  const auto low = parse_integer(pattern.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : parse_integer(pattern.substr(dash + 1));
  if (!low || !high || *low < 1 || *high < *low || static_cast<std::uint64_t>(*high) > count) return std::nullopt;
  return SampleRange{static_cast<std::size_t>(*low - 1), static_cast<std::size_t>(*high - *low + 1)};
}

}  // namespace

void make_unique(std::vector<std::string>& names) {
  std::unordered_set<std::string> taken(names.begin(), names.end());
  std::unordered_set<std::string> seen;
  std::unordered_map<std::string, std::size_t> copies;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = std::to_string(i + 1);
    if (seen.insert(names[i]).second) continue;
    std::size_t& copy = copies.try_emplace(names[i], 1).first->second;
    std::string candidate;
    do {
      candidate = names[i] + " (" + std::to_string(++copy) + ")";
    } while (taken.count(candidate) > 0 || seen.count(candidate) > 0);
    names[i] = candidate;
    seen.insert(candidate);
  }
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 24;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i ? ", " : "") + printable(names[i]);
  if (names.size() > kShown) out += " and " + std::to_string(names.size() - kShown) + " more";
  return names.empty() ? "none" : out;
}

std::vector<std::size_t> select_channels(const std::string& file, const std::vector<std::string>& names,
                                         const std::vector<std::string>& patterns) {
  std::vector<std::size_t> chosen;
  std::vector<bool> taken(names.size(), false);
  const auto choose = [&](std::size_t i) {
    if (!taken[i]) chosen.push_back(i);
    taken[i] = true;
  };
  for (const std::string& pattern : patterns) {
    bool found = false;
    if (const auto same = std::find(names.begin(), names.end(), pattern); same != names.end()) {
      choose(static_cast<std::size_t>(same - names.begin()));
      found = true;
    } else if (const auto range = numbered(pattern, names.size())) {
      for (std::size_t i = 0; i < range->count; ++i) choose(range->first + i);
      found = true;
    } else {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!core::matches_glob(pattern, names[i])) continue;
        choose(i);
        found = true;
      }
    }
    if (!found) bad_argument(file, "no channel '" + printable(pattern, 40) + "'; there are: " + list_of(names));
  }
  return chosen;
}

std::vector<std::size_t> wanted_channels(const Input& input, const std::vector<std::string>& names,
                                         const std::vector<std::string>& types, const ReadOptions& options) {
  const std::string& file = input.name;
  if (input.all_names != nullptr) *input.all_names = names;
  std::vector<std::size_t> chosen = select_channels(file, names, options.channels);
  if (options.channels.empty()) {
    chosen.resize(names.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  if (!options.types.empty()) {
    std::vector<std::string> wanted;
    for (const std::string& type : options.types) wanted.push_back(lower_case(trimmed(type)));
    for (const std::string& type : wanted) {
      if (std::find(types.begin(), types.end(), type) != types.end()) continue;
      std::vector<std::string> known;
      for (const std::string& there : types) {
        const std::string shown = there.empty() ? "(unknown)" : there;
        if (std::find(known.begin(), known.end(), shown) == known.end()) known.push_back(shown);
      }
      bad_argument(file, "no channel of type '" + printable(type) + "'; there are: " + list_of(known) +
                             "; correct --types, or choose by name with --channels");
    }
    std::erase_if(chosen,
                  [&](std::size_t i) { return std::find(wanted.begin(), wanted.end(), types[i]) == wanted.end(); });
  }
  const std::vector<std::size_t> without = select_channels(file, names, options.exclude);
  std::erase_if(chosen, [&](std::size_t i) { return std::find(without.begin(), without.end(), i) != without.end(); });
  if (chosen.empty() && !names.empty() && !(options.exclude.empty() && options.types.empty())) {
    bad_argument(file, "--channels, --types and --exclude leave no channel; there are: " + list_of(names));
  }
  return chosen;
}

Crop::Crop(const std::string& file, const ReadOptions& options)
    : file_(file),
      from_s_(options.from_s.value_or(-std::numeric_limits<double>::infinity())),
      to_s_(options.to_s.value_or(std::numeric_limits<double>::infinity())) {
  if (std::isnan(from_s_) || std::isnan(to_s_)) bad_argument(file, "--from and --to must be numbers of seconds");
  if (!(from_s_ < to_s_)) {
    bad_argument(file, "the stretch from " + rounded(from_s_) + " s to " + rounded(to_s_) +
                           " s is empty; --from must be before --to");
  }
}

SampleRange Crop::take(double& start_s, double rate_hz, std::size_t samples) {
  first_s_ = std::min(first_s_, start_s);
  end_s_ = std::max(end_s_, start_s + static_cast<double>(samples) / rate_hz);
  // A millionth of a sample: a limit that falls on a sample but for rounding counts as on it.
  const auto index_at = [&](double time_s) {
    const double index = std::ceil((time_s - start_s) * rate_hz - 1e-6);
    return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(samples)));
  };
  const std::size_t first = index_at(from_s_);
  const std::size_t last = std::max(first, index_at(to_s_));
  if (first > 0) start_s += static_cast<double>(first) / rate_hz;
  return {first, last - first};
}

void Crop::apply(Channel& channel) {
  const SampleRange range = take(channel.start_s, channel.rate_hz, channel.samples.size());
  if (range.count == channel.samples.size()) return;
  const auto first = channel.samples.begin() + static_cast<std::ptrdiff_t>(range.first);
  channel.samples = std::vector<double>(first, first + static_cast<std::ptrdiff_t>(range.count));
}

void Crop::finish(Recording& recording) const {
  const auto is_empty = [](const Channel& channel) { return channel.samples.empty(); };
  if (std::all_of(recording.channels.begin(), recording.channels.end(), is_empty)) {
    constexpr int kDigits = 13;  // tells milliseconds apart since 1970
    const auto time = [](double time_s) { return rounded(time_s, kDigits) + " s"; };
    bad_argument(file_, "no samples from " + time(from_s_) + (std::isfinite(to_s_) ? " to " + time(to_s_) : " on") +
                            "; the recording goes from " + time(first_s_) + " to " + time(end_s_));
  }
  for (const Channel& channel : recording.channels) {
    if (is_empty(channel)) {
      recording.warnings.push_back("channel '" + channel.name + "' has no sample in the stretch and is left out");
    }
  }
  std::erase_if(recording.channels, is_empty);
}

}  // namespace envoi::signal
