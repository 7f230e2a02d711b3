// A report: the page that the build made from web/, with the result and as much of the signal as fits put into it.
#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/json_text.hpp"
#include "results/report_page.hpp"

namespace envoi {
namespace {

using results::JsonText;

constexpr std::string_view kPlace = "\"ENVOI_REPORT_DATA\"";
// Bytes of the whole page where atoms leave room: for 20 minutes of one channel, growing with the recording to a most.
constexpr double kBudget = 1.9e6, kBudgetMinutes = 20, kMostBudget = 8e6;
constexpr double kLeastSamples = 0.4e6;  // bytes for samples, however many atoms there are
constexpr double kBase64 = 4.0 / 3;
constexpr std::size_t kMostAnnotations = 1000;

std::string base64(const std::string& bytes) {
  constexpr std::size_t kBlock = 3 << 20;
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 8);
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const std::size_t count = std::min(kBlock, bytes.size() - at);
    std::string block(count / 3 * 4 + 8, '\0');
    const int written =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(block.data()),
                        reinterpret_cast<const unsigned char*>(bytes.data()) + at, static_cast<int>(count));
    text.append(block, 0, static_cast<std::size_t>(written));
  }
  return text;
}

// Little-endian bytes of whole words.
template <class Word>
void append(std::string& bytes, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i) bytes += static_cast<char>((word >> (8 * i)) & 0xFF);
}
void append(std::string& bytes, double value) { append(bytes, std::bit_cast<std::uint64_t>(value)); }
void append(std::string& bytes, float value) { append(bytes, std::bit_cast<std::uint32_t>(value)); }

template <class Get>
void add_column(JsonText& out, const char* key, const std::vector<Segment>& segments, Get get) {
  out.open(key, '[');
  for (const Segment& segment : segments) out.add("", get(segment));
  out.close(']');
}

void add_segments(JsonText& out, const std::vector<Segment>& segments) {
  const auto count = [](std::size_t n) { return std::uint64_t{n}; };
  out.open("segments", '{');
  add_column(out, "channel", segments, [&](const Segment& s) { return count(s.channel); });
  add_column(out, "start_s", segments, [](const Segment& s) { return s.start_s; });
  add_column(out, "samples", segments, [&](const Segment& s) { return count(s.samples); });
  add_column(out, "mean", segments, [](const Segment& s) { return s.mean; });
  add_column(out, "slope_per_s", segments, [](const Segment& s) { return s.slope_per_s; });
  add_column(out, "energy", segments, [](const Segment& s) { return s.energy; });
  add_column(out, "in_band_share", segments, [](const Segment& s) { return s.in_band_share; });
  add_column(out, "missing_samples", segments, [&](const Segment& s) { return count(s.missing_samples); });
  add_column(out, "stop_reason", segments, [](const Segment& s) { return to_string(s.stop_reason); });
  add_column(out, "snr_db", segments, [](const Segment& s) { return s.snr_db; });
  add_column(out, "energy_left_share", segments, [](const Segment& s) { return s.energy_left_share; });
  add_column(out, "bound", segments, [](const Segment& s) { return s.certificate.bound; });
  add_column(out, "atoms", segments, [&](const Segment& s) { return count(s.atom_count); });
  if (std::any_of(segments.begin(), segments.end(), [](const Segment& s) { return !s.event.empty(); })) {
    add_column(out, "event", segments, [](const Segment& s) { return s.event; });
    add_column(out, "event_s", segments, [](const Segment& s) { return s.event_s; });
  }
  out.close('}');
}

// Atoms by segment, a column a field: what is shown in full in double precision, errors in single.
void add_atoms(JsonText& out, const Decomposition& result) {
  constexpr double Chirplet::*kFields[] = {
      &Chirplet::time_s,       &Chirplet::frequency_hz,     &Chirplet::duration_s, &Chirplet::chirp_rate_hz_per_s,
      &Chirplet::amplitude,    &Chirplet::phase_rad,        &Chirplet::peak,       &Chirplet::energy,
      &Chirplet::energy_share, &Chirplet::energy_left_share};
  constexpr double StandardErrors::*kErrors[] = {&StandardErrors::time_s,     &StandardErrors::frequency_hz,
                                                 &StandardErrors::duration_s, &StandardErrors::chirp_rate_hz_per_s,
                                                 &StandardErrors::amplitude,  &StandardErrors::phase_rad};
  const auto each = [&](auto act) {
    for (const Segment& segment : result.segments)
      for (const Chirplet& atom : result.atoms_of(segment)) act(atom);
  };
  std::string bytes;
  for (const auto field : kFields) each([&](const Chirplet& atom) { append(bytes, atom.*field); });
  out.add("atoms", base64(bytes));
  bytes.clear();
  for (const auto field : kErrors)
    each([&](const Chirplet& atom) { append(bytes, static_cast<float>(atom.se.*field)); });
  out.add("errors", base64(bytes));
  out.open("left_out", '[');
  std::uint64_t index = 0;
  each([&](const Chirplet& atom) {
    if (!atom.kept) out.add("", index);
    ++index;
  });
  out.close(']');
}

// Samples in 16 bits: value = offset + scale * word; -32768 is a missing one.
struct Scale {
  double scale = 1, offset = 0;

  std::int16_t word(double value) const {
    if (!std::isfinite(value)) return -32768;
    return static_cast<std::int16_t>(std::clamp(std::round((value - offset) / scale), -32767.0, 32767.0));
  }
};

std::string words(const std::vector<double>& values, const Scale& scale) {
  std::string bytes;
  bytes.reserve(2 * values.size());
  for (const double value : values) append(bytes, static_cast<std::uint16_t>(scale.word(value)));
  return base64(bytes);
}

// Least and largest of every `per_bin` values, one after the other; NaN where all are.
std::vector<double> envelope(const std::vector<double>& values, std::size_t per_bin) {
  std::vector<double> out;
  for (std::size_t from = 0; from < values.size(); from += per_bin) {
    double low = kUndetermined, high = kUndetermined;
    for (std::size_t i = from; i < std::min(from + per_bin, values.size()); ++i) {
      if (std::isnan(values[i])) continue;
      if (!(values[i] >= low)) low = values[i];
      if (!(values[i] <= high)) high = values[i];
    }
    out.push_back(low), out.push_back(high);
  }
  return out;
}

std::vector<double> residual_of(const Channel& signal, const Channel& model) {
  std::vector<double> residual(signal.samples.size(), kUndetermined);
  const auto shift = static_cast<std::ptrdiff_t>(std::round((model.start_s - signal.start_s) * signal.rate_hz));
  for (std::size_t i = 0; i < model.samples.size(); ++i) {
    const std::ptrdiff_t at = shift + static_cast<std::ptrdiff_t>(i);
    if (at >= 0 && at < static_cast<std::ptrdiff_t>(residual.size()))
      residual[static_cast<std::size_t>(at)] = signal.samples[static_cast<std::size_t>(at)] - model.samples[i];
  }
  return residual;
}

struct Shown {
  std::size_t index;
  const Channel* signal;
};

// The channels of the result whose samples are at hand.
std::vector<Shown> channels_at_hand(const Recording& recording, const Decomposition& result) {
  std::vector<Shown> out;
  for (std::size_t i = 0; i < result.channels.size(); ++i)
    for (const Channel& channel : recording.channels)
      if (channel.name == result.channels[i].name && channel.rate_hz == result.channels[i].rate_hz &&
          !channel.samples.empty())
        out.push_back({i, &channel});
  return out;
}

// Every sample where the budget holds them; else least and largest of every so many, and those of the residual.
void add_signals(JsonText& out, const Recording& recording, const Decomposition& result, double budget_bytes) {
  const std::vector<Shown> shown = channels_at_hand(recording, result);
  double samples = 0;
  for (const Shown& s : shown) samples += static_cast<double>(s.signal->samples.size());
  const bool all = samples * 2 * kBase64 <= budget_bytes;
  const auto per_bin = all ? std::size_t{1} : static_cast<std::size_t>(std::ceil(samples * 8 * kBase64 / budget_bytes));
  std::vector<Channel> models;
  if (!all) models = reconstruct(result);

  out.open("signals", '[');
  for (const auto& [index, signal] : shown) {
    double low = INFINITY, high = -INFINITY;
    for (const double value : signal->samples)
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    if (!(low <= high)) continue;
    std::vector<double> residual;
    double half = std::max(high / 2 - low / 2, 1e-300);
    const double offset = low / 2 + high / 2;
    if (!all) {
      residual = envelope(residual_of(*signal, models[index]), per_bin);
      for (const double value : residual)
        if (std::isfinite(value)) half = std::max(half, std::abs(value));
    }
    const Scale scale{half / 32767, offset};
    out.open("", '{');
    out.add("channel", std::uint64_t{index});
    out.add("start_s", signal->start_s);
    out.add("rate_hz", signal->rate_hz);
    out.add("samples", std::uint64_t{signal->samples.size()});
    out.add("per_bin", std::uint64_t{per_bin});
    out.add("scale", scale.scale);
    out.add("offset", scale.offset);
    out.add("values", words(all ? signal->samples : envelope(signal->samples, per_bin), scale));
    if (!all) out.add("residual", words(residual, {scale.scale, 0}));
    out.close('}');
  }
  out.close(']');
}

double page_budget(const Recording& recording) {
  double minutes = 0;
  for (const Channel& channel : recording.channels)
    minutes += static_cast<double>(channel.samples.size()) / channel.rate_hz / 60;
  return std::clamp(kBudget * minutes / kBudgetMinutes, kBudget, kMostBudget);
}

void add_annotations(JsonText& out, const Recording& recording) {
  out.open("annotations", '[');
  for (std::size_t i = 0; i < std::min(recording.annotations.size(), kMostAnnotations); ++i) {
    const Annotation& annotation = recording.annotations[i];
    out.open("", '[');
    out.add("", annotation.onset_s);
    out.add("", annotation.duration_s);
    out.add("", annotation.text);
    out.close(']');
  }
  out.close(']');
}

// The result without segments and atoms, under the names of the result file.
std::string head_of(const Decomposition& result) {
  Decomposition head = result;
  head.segments.clear(), head.atoms.clear();
  return to_ndjson(head);
}

}  // namespace

void require_report_page(const std::string& path) {
  if (results::report_page().empty())
    throw Error(ErrorKind::bad_argument, path + ": this build has no report page, since " +
                                             std::string(results::report_page_missing()) +
                                             "; install Node.js with npm (Debian: nodejs npm) and build again");
}

void write_report(const std::string& path, const Recording& recording, const Decomposition& result) {
  require_report_page(path);
  const std::string_view page = results::report_page();
  const std::size_t place = page.find(kPlace);

  JsonText rest(false);
  rest.open("", '{');
  add_segments(rest, result.segments);
  add_atoms(rest, result);
  add_annotations(rest, recording);
  const std::string head = head_of(result);
  const double taken = static_cast<double>(page.size() + head.size() + rest.text().size());
  add_signals(rest, recording, result, std::max(page_budget(recording) - taken, kLeastSamples));
  rest.close('}');
  std::string data = rest.take();
  data.insert(1, "\"head\": " + head + ", ");

  // Inside a script element a "<" could end it; as an escape it cannot.
  std::string escaped;
  escaped.reserve(data.size());
  for (const char c : data) c == '<' ? escaped += "\\u003c" : escaped += c;

  core::AtomicFile file(path);
  file.write(page.substr(0, place));
  file.write(escaped);
  file.write(page.substr(place + kPlace.size()));
  file.commit();
}

}  // namespace envoi
