// EDF, EDF+, BDF and BDF+: records of 16- or 24-bit samples to channels in physical units, each with its own rate.
// Gaps of EDF+D files become missing samples, so that every sample keeps its time.
#include "edf.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "channel_type.hpp"
#include "select.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

// Where the records lie: seconds from the first sample; empty where each follows the one before.
using RecordStarts = std::vector<double>;

RecordStarts discontinuous_starts(const Input& input, const EdfHeader& header, const EdfAnnotations& found,
                                  std::vector<std::string>& warnings) {
  RecordStarts starts(header.records);
  const double origin_s = found.record_onset.empty() ? 0 : found.record_onset[0].value_or(0);
  std::size_t silent = 0;
  for (std::size_t k = 0; k < header.records; ++k) {
    const double follows_s = k == 0 ? 0 : starts[k - 1] + header.record_s;
    const bool told = !found.record_onset.empty() && found.record_onset[k];
    silent += told ? 0 : 1;
    starts[k] = told ? *found.record_onset[k] - origin_s : follows_s;
    if (starts[k] < follows_s - 1e-3 * header.record_s - 1e-6) {
      bad_file(input.name, "data record " + std::to_string(k + 1) + " begins at " + rounded(starts[k], 9) +
                               " s, before the end of the one before it (" + rounded(follows_s, 9) +
                               " s); the file is damaged");
    }
  }
  if (silent > 0) {
    warnings.push_back(std::to_string(silent) +
                       " data records of a file with gaps do not tell their time; each is "
                       "taken to follow the one before it");
  }
  const double data_s = header.record_s * static_cast<double>(header.records);
  const double whole_s = starts.back() + header.record_s;
  // Gaps cost memory that the file's size does not pay for.
  const double records = static_cast<double>(header.records);
  const double samples = records * static_cast<double>(header.record_bytes / header.sample_bytes());
  if (samples * (whole_s / data_s) > 32 * samples + 1e6) {
    bad_file(input.name, "the gaps between its data records make " + rounded(whole_s) + " s out of " + rounded(data_s) +
                             " s of data; cut it into parts first");
  }
  if (whole_s > data_s + 1e-3 * header.record_s) {
    warnings.push_back("gaps of " + rounded(whole_s - data_s) + " s in all are filled with missing samples");
  }
  return starts;
}

// EDF+C promises that records follow each other; if their own times disagree, somebody is wrong.
void check_continuous(const EdfHeader& header, const EdfAnnotations& found, std::vector<std::string>& warnings) {
  if (found.record_onset.empty() || !found.record_onset[0]) return;
  for (std::size_t k = 1; k < header.records; ++k) {
    const auto& onset = found.record_onset[k];
    const double follows_s = *found.record_onset[0] + static_cast<double>(k) * header.record_s;
    if (!onset || std::abs(*onset - follows_s) <= 0.5 * header.record_s) continue;
    warnings.push_back("marked as without gaps, but data record " + std::to_string(k + 1) + " says it begins at " +
                       rounded(*onset, 9) + " s instead of " + rounded(follows_s, 9) + " s; taken as without gaps");
    return;
  }
}

double sample_at(const char* at, bool wide) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])); };
  const std::uint32_t word = wide ? byte(0) << 8 | byte(1) << 16 | byte(2) << 24 : byte(0) << 16 | byte(1) << 24;
  return static_cast<std::int32_t>(word) / (wide ? 256 : 65536);
}

std::string type_of(const EdfHeader& header, const EdfSignal& signal) {
  if (signal.is_status) return "stim";
  return header.wide && is_biosemi_electrode(signal.label) ? "eeg" : type_of_label(signal.label);
}

Channel read_channel(const Input& input, const EdfHeader& header, const EdfSignal& signal, const RecordStarts& starts,
                     double begins_s, Crop& crop) {
  Channel channel;
  channel.start_s = begins_s;
  channel.name = signal.label;
  channel.type = type_of(header, signal);
  channel.unit = signal.unit;
  channel.kind = DataKind::biosignal;
  const std::size_t per_record = signal.samples_per_record;
  channel.rate_hz = static_cast<double>(per_record) / header.record_s;
  const auto first_of = [&](std::size_t record) {
    if (starts.empty()) return record * per_record;
    return std::max(record * per_record, static_cast<std::size_t>(std::llround(starts[record] * channel.rate_hz)));
  };
  const SampleRange range = crop.take(channel.start_s, channel.rate_hz, first_of(header.records - 1) + per_record);
  channel.samples.assign(range.count, std::numeric_limits<double>::quiet_NaN());
  const std::size_t end = range.first + range.count;
  for (std::size_t record = 0; record < header.records; ++record) {
    const std::size_t begin = first_of(record);
    if (begin >= end) break;
    if (begin + per_record <= range.first) continue;
    const char* const data = input.bytes.data() + header.header_bytes + record * header.record_bytes + signal.offset;
    for (std::size_t i = std::max(begin, range.first); i < std::min(begin + per_record, end); ++i) {
      const double digital = sample_at(data + (i - begin) * header.sample_bytes(), header.wide);
      channel.samples[i - range.first] = signal.gain * (digital - signal.digital_low) + signal.physical_low;
    }
  }
  return channel;
}

// The signals asked for, else all that can be scaled and are no trigger word.
std::vector<std::size_t> wanted_signals(const Input& input, EdfHeader& header, const ReadOptions& options) {
  std::vector<std::size_t> data;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < header.signals.size(); ++i) {
    if (header.signals[i].is_annotations) continue;
    data.push_back(i);
    names.push_back(header.signals[i].label);
  }
  make_unique(names);
  for (std::size_t i = 0; i < data.size(); ++i) header.signals[data[i]].label = names[i];

  std::vector<std::size_t> wanted;
  std::vector<std::string> types;
  for (const std::size_t i : data) types.push_back(type_of(header, header.signals[i]));
  for (const std::size_t i : wanted_channels(input, names, types, options)) wanted.push_back(data[i]);
  if (!options.channels.empty()) {
    for (const std::size_t i : wanted) {
      const EdfSignal& signal = header.signals[i];
      if (!signal.fault.empty()) {
        bad_file(input.name, "channel '" + signal.label + "' cannot be read: " + signal.fault);
      }
    }
    return wanted;
  }
  std::string fault;
  std::vector<std::size_t> readable;
  for (const std::size_t i : wanted) {
    const EdfSignal& signal = header.signals[i];
    if (signal.is_status && options.types.empty()) continue;
    if (signal.fault.empty()) {
      readable.push_back(i);
    } else {
      fault = "channel '" + signal.label + "' is left out: " + signal.fault;
      header.warnings.push_back(fault);
    }
  }
  if (readable.empty() && !fault.empty()) bad_file(input.name, "no channel can be read; " + fault);
  return readable;
}

}  // namespace

Recording read_edf(const Input& input, const ReadOptions& options) {
  EdfHeader header = read_edf_header(input);
  const std::vector<std::size_t> wanted = wanted_signals(input, header, options);
  Recording recording;
  recording.format = std::string(header.wide ? "bdf" : "edf") + (header.plus ? "+" : "");
  recording.start = header.start;

  EdfAnnotations found = read_edf_annotations(input, header);
  if (found.damaged > 0) {
    header.warnings.push_back(std::to_string(found.damaged) + " annotation lists are damaged and left out");
  }
  const double origin_s = found.record_onset.empty() ? 0 : found.record_onset[0].value_or(0);
  // EDF+ keeps the fraction of the starting second in the first record's onset.
  if (const double part_s = origin_s - std::floor(origin_s); !recording.start.empty() && origin_s > 0 && part_s > 0) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, "%.6f", part_s);
    if (fraction[0] == '0')
      recording.start += std::string(fraction + 1, std::string_view(fraction).find_last_not_of('0'));
  }
  // A file cut out of a longer one begins later than its clock; its axis counts from the clock then.
  const double begins_s = origin_s >= 1 ? std::floor(origin_s) : 0;
  for (Annotation& annotation : found.annotations) annotation.onset_s -= origin_s - begins_s;
  std::stable_sort(found.annotations.begin(), found.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset_s < b.onset_s; });
  recording.annotations = std::move(found.annotations);

  Crop crop(input.name, options);
  if (!wanted.empty()) {
    if (!(header.record_s > 0)) {
      bad_file(input.name, "a data record lasts " + rounded(header.record_s) +
                               " s by the EDF header (byte 244), so its signals have no rate; the file is damaged");
    }
    RecordStarts starts;
    if (header.discontinuous) {
      starts = discontinuous_starts(input, header, found, header.warnings);
    } else if (header.plus) {
      check_continuous(header, found, header.warnings);
    }
    double doubles = 0;
    for (const std::size_t i : wanted) {
      const EdfSignal& signal = header.signals[i];
      if (!signal.remark.empty()) header.warnings.push_back("channel '" + signal.label + "': " + signal.remark);
      const double per_record = static_cast<double>(header.signals[i].samples_per_record);
      if (!(per_record / header.record_s >= 1e-9 && per_record / header.record_s <= 1e15)) {
        bad_file(input.name, "data records of " + rounded(header.record_s) + " s (byte 244) give channel '" +
                                 header.signals[i].label + "' no usable rate; the file is damaged");
      }
      check_own_rate(input.name, "channel '" + header.signals[i].label + "'", per_record / header.record_s, options);
      doubles += per_record * static_cast<double>(header.records);
    }
    if (!options.from_s && !options.to_s && input.sink == nullptr) require_memory(input.name, doubles);
    for (const std::size_t i : wanted) {
      add_channel(input, recording, read_channel(input, header, header.signals[i], starts, begins_s, crop));
    }
    crop.finish(recording);
  }
  recording.warnings.insert(recording.warnings.begin(), header.warnings.begin(), header.warnings.end());
  return recording;
}

}  // namespace envoi::signal
