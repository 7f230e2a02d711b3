// Text files of headsets' own programs: which program wrote it, which columns are signals, where samples were dropped.
#include "device_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "channel_type.hpp"
#include "select.hpp"
#include "shared.hpp"
#include "text_rows.hpp"

namespace envoi::signal {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kLongPause_s = 1;  // between time stamps; shorter ones are how the radio delivers

struct Device {
  std::string program;
  char delimiter = ',';
  std::size_t columns = 0;
  std::size_t data_at = 0, data_line = 1;  // where the rows begin
  std::vector<std::size_t> signals;
  std::vector<std::string> names;
  std::optional<std::size_t> counter, stamp, marker, words;
  double rate_hz = 0;       // that the file gives
  double usual_hz = 0;      // that its time stamps may confirm
  std::string known_rates;  // for messages
};

std::vector<std::string> cells_of(std::string_view line, char delimiter) {
  std::vector<std::string> cells;
  for_each_cell(line, delimiter, [&](std::size_t, std::string_view cell, bool) { cells.emplace_back(cell); });
  return cells;
}

std::optional<std::size_t> find(const std::vector<std::string>& cells, std::string_view name) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (lower_case(cells[i]) == name) return i;
  }
  return std::nullopt;
}

// Mind Monitor ("TimeStamp, ..., RAW_TP9, ..., Elements") and muselsl ("timestamps,TP9,AF7,AF8,TP10,Right AUX").
bool find_muse(const std::vector<std::string>& header, Device& device) {
  const auto elements = find(header, "elements"), raw = find(header, "raw_tp9");
  const bool monitor = find(header, "timestamp") == std::size_t{0} && elements && raw;
  const bool lsl = find(header, "timestamps") == std::size_t{0} && find(header, "tp9") && find(header, "af7");
  if (!monitor && !lsl) return false;
  device.program = monitor ? "Mind Monitor" : "muselsl";
  device.stamp = 0;
  device.usual_hz = 256;
  if (monitor) device.words = elements;
  for (std::size_t i = 1; i < header.size(); ++i) {
    const std::string name = lower_case(header[i]);
    if (monitor ? !(name.starts_with("raw_") || name.starts_with("aux")) : name.empty()) continue;
    device.signals.push_back(i);
    device.names.push_back(printable(header[i], 64));
  }
  return true;
}

bool find_openbci(const std::vector<std::string>& header, Device& device) {
  if (find(header, "sample index") != std::size_t{0}) return false;
  device.program = "the OpenBCI GUI";
  device.counter = 0;
  device.stamp = find(header, "timestamp");
  for (std::size_t i = 1; i < header.size(); ++i) {
    const std::string name = lower_case(header[i]);
    if (name.starts_with("marker")) device.marker = i;
    if (!name.starts_with("exg channel")) continue;
    device.signals.push_back(i);
    device.names.push_back(printable(header[i], 64));
  }
  return !device.signals.empty();
}

// Tabs, no header: told by the number of columns, a counter of packets first and Unix time where that board has it.
bool find_brainflow(const std::vector<std::vector<std::string>>& rows, Device& device) {
  struct Board {
    std::size_t columns, signals, stamp;
  };
  constexpr std::array kBoards = {Board{15, 4, 13}, Board{24, 8, 22}, Board{32, 16, 30}};
  if (rows.size() < 3) return false;
  for (const Board& board : kBoards) {
    if (rows[0].size() != board.columns) continue;
    double before = -1;
    for (const auto& row : rows) {
      if (row.size() != board.columns) return false;
      const auto stamp = parse_number(row[board.stamp]), count = parse_number(row[0]);
      if (!stamp || !count || !(*stamp > 1e9 && *stamp < 1e10)) return false;
      if (*count < 0 || *count > 255 || *count != std::floor(*count) || *count == before) return false;
      before = *count;
    }
    device.program = "BrainFlow";
    device.delimiter = '\t';
    device.counter = 0;
    device.stamp = board.stamp;
    device.marker = board.columns - 1;
    device.known_rates = " (Cyton 250, with Daisy 125, Ganglion 200)";
    for (std::size_t i = 0; i < board.signals; ++i) {
      device.signals.push_back(1 + i);
      device.names.push_back("EXG Channel " + std::to_string(i));
    }
    return true;
  }
  return false;
}

std::optional<Device> find_device(std::string_view body) {
  Device device;
  body = body.substr(0, std::size_t{1} << 20);  // bytes that are no text may go on for ever without a line's end
  Lines lines(body, '\n');
  std::string_view line;
  std::vector<std::vector<std::string>> rows;
  for (int seen = 0; seen < 64 && rows.size() < 8 && lines.next(line);) {
    if (line.size() > 65536) return std::nullopt;
    const std::string_view bare = without_blanks(line);
    if (bare.empty()) continue;
    ++seen;
    if (bare.starts_with('%')) {
      const std::string words = lower_case(bare);
      const std::size_t at = words.find("sample rate =");
      if (at == std::string::npos) continue;
      const std::string_view value = without_blanks(std::string_view(words).substr(at + 13));
      device.rate_hz = parse_number(value.substr(0, value.find_first_of(" h"))).value_or(0);
      continue;
    }
    if (rows.empty()) {
      device.data_at = lines.begin();
      device.data_line = lines.number();
      const std::vector<std::string> header = cells_of(line, ',');
      if (find_muse(header, device) || find_openbci(header, device)) {
        device.columns = header.size();
        device.data_at = std::min(body.find('\n', lines.begin()), body.size() - 1) + 1;
        device.data_line = lines.number() + 1;
        return device;
      }
    }
    rows.push_back(cells_of(line, '\t'));
    if (rows.back().size() < 15) return std::nullopt;
  }
  if (!find_brainflow(rows, device)) return std::nullopt;
  device.columns = rows[0].size();
  return device;
}

// Seconds since 1970; of "2026-01-31 22:10:05.132" as if it were UTC.
std::optional<double> seconds_of(std::string_view text) {
  if (const auto number = parse_number(text)) return std::isfinite(*number) ? number : std::nullopt;
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  std::array<std::int64_t, 5> part{};
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kPlaces = {{{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}}};
  for (std::size_t i = 0; i < part.size(); ++i) {
    const auto value = parse_integer(text.substr(kPlaces[i].first, kPlaces[i].second));
    if (!value) return std::nullopt;
    part[i] = *value;
  }
  const auto second = parse_number(text.substr(17));
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(part[0])),
                                        std::chrono::month(static_cast<unsigned>(part[1])),
                                        std::chrono::day(static_cast<unsigned>(part[2]))};
  if (!second || !day.ok() || !(*second >= 0 && *second < 61)) return std::nullopt;
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + static_cast<double>(part[3] * 3600 + part[4] * 60) + *second;
}

struct Event {
  std::size_t row = 0;  // before which it stands
  std::string text;
};

struct Rows {
  std::vector<std::vector<double>> signals;
  std::vector<double> counts, stamps_s;  // NaN where a row has none
  std::vector<Event> events;
  std::string first_stamp;
  bool cut = false;
};

Rows parse(const Input& input, std::string_view body, const Device& device) {
  Rows rows;
  rows.signals.resize(device.signals.size());
  Lines lines(body, '\n', device.data_at, device.data_line);
  std::string_view line;
  while (lines.next(line)) {
    if (without_blanks(line).empty()) continue;
    const std::vector<std::string> cells = cells_of(line, device.delimiter);
    const bool last = lines.begin() + line.size() >= body.size();
    const auto at = [&](std::optional<std::size_t> i) { return i && *i < cells.size() ? cells[*i] : std::string(); };
    if (const std::string word = at(device.words); !word.empty()) {
      rows.events.push_back({rows.stamps_s.size(), printable(word, 4096)});
      const auto has_number = [&](std::size_t i) { return !at(i).empty(); };
      if (std::none_of(device.signals.begin(), device.signals.end(), has_number)) continue;
    }
    // Programs that were ended while writing leave half a line.
    if (last && cells.size() < device.columns) {
      rows.cut = true;
      break;
    }
    if (cells.size() + 1 < device.columns || cells.size() > device.columns + 1) {
      bad_file(input.name, "line " + std::to_string(lines.number()) + " has " + std::to_string(cells.size()) +
                               " columns, its header has " + std::to_string(device.columns) + "; correct it");
    }
    for (std::size_t i = 0; i < device.signals.size(); ++i) {
      double value = 0;
      const Cell kind = parse_cell(at(device.signals[i]), device.delimiter, value);
      if (kind == Cell::text || kind == Cell::infinite) {
        bad_file(input.name, "line " + std::to_string(lines.number()) + ", " + device.names[i] + ": '" +
                                 printable(at(device.signals[i])) + "' is no number; correct it");
      }
      rows.signals[i].push_back(value);
    }
    const double count = parse_number(at(device.counter)).value_or(kMissing);
    rows.counts.push_back(std::isfinite(count) ? count : kMissing);
    rows.stamps_s.push_back(seconds_of(at(device.stamp)).value_or(kMissing));
    if (rows.first_stamp.empty()) rows.first_stamp = at(device.stamp);
    if (const auto mark = parse_number(at(device.marker)); mark && std::isfinite(*mark) && *mark != 0) {
      rows.events.push_back({rows.stamps_s.size() - 1, shortest(*mark)});
    }
  }
  if (rows.stamps_s.empty()) bad_file(input.name, "is of " + device.program + " and holds no samples");
  return rows;
}

// Where each row lies: a counter that jumps tells what was dropped.
std::vector<std::size_t> places_by_counter(const std::vector<double>& counts) {
  // The counter starts again after 255, or after its largest value (200 on the Ganglion, two rows a value).
  double largest = 0;
  for (const double count : counts) largest = std::max(largest, count);
  const double wrap = largest > 200 && largest <= 255 ? 256 : largest > 255 ? kMissing : largest + 1;
  const auto step_of = [&](std::size_t i) {
    double step = counts[i] - counts[i - 1];
    if (step < 0 && !std::isnan(wrap)) step += wrap;
    return step;
  };
  std::map<double, std::size_t> how_often;
  for (std::size_t i = 1; i < counts.size(); ++i)
    if (const double step = step_of(i); !std::isnan(step)) ++how_often[step];
  const std::size_t repeats = how_often[0];
  const double rows_a_value = 2 * repeats > counts.size() - counts.size() / 8 ? 2 : 1;
  double usual = 1;
  std::size_t most = 0;
  for (const auto& [step, times] : how_often) {
    if (step > 0 && times > most) usual = step, most = times;
  }
  std::vector<std::size_t> places(counts.size(), 0);
  std::size_t of_value = 1;  // rows seen of the counter's value
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const double step = step_of(i);
    double missing = 0;
    if (step > 0) {
      missing = rows_a_value * std::max(0.0, std::round(step / usual) - 1) +
                std::max(0.0, rows_a_value - static_cast<double>(of_value));
      of_value = 0;
    } else if (!(step == 0)) {
      of_value = 0;  // no number, or back without a wrap: taken to follow
    }
    ++of_value;
    places[i] = places[i - 1] + 1 + static_cast<std::size_t>(std::min(missing, 1e9));
  }
  return places;
}

// Without a counter only a pause of the time stamps, long after the radio's bursts, tells that rows are absent.
std::vector<std::size_t> places_by_pauses(const std::vector<double>& stamps_s, double rate_hz) {
  std::vector<std::size_t> places(stamps_s.size(), 0);
  for (std::size_t i = 1; i < stamps_s.size(); ++i) {
    const double pause_s = stamps_s[i] - stamps_s[i - 1];
    const bool is_long = pause_s > std::max(kLongPause_s, 2 / rate_hz) && pause_s < 1e7;
    places[i] = places[i - 1] + (is_long ? static_cast<std::size_t>(std::max(1.0, std::round(pause_s * rate_hz))) : 1);
  }
  return places;
}

// The rate that time stamps give, long pauses left out; 0 where they give none.
double rate_by_stamps(const std::vector<double>& stamps_s) {
  double seconds = 0;
  std::size_t steps = 0;
  for (std::size_t i = 1; i < stamps_s.size(); ++i) {
    const double pause_s = stamps_s[i] - stamps_s[i - 1];
    if (!(pause_s <= kLongPause_s)) continue;
    seconds += pause_s;
    ++steps;
  }
  return seconds > 0 && steps > 7 ? static_cast<double>(steps) / seconds : 0;
}

double rate_of(const Input& input, const Device& device, const Rows& rows, const ReadOptions& options,
               std::vector<std::string>& warnings) {
  if (device.rate_hz > 0) {
    check_own_rate(input.name, "it", device.rate_hz, options);
    return device.rate_hz;
  }
  if (options.rate_hz) return required_rate(input.name, options);
  const double stamps_hz = rate_by_stamps(rows.stamps_s);
  if (device.usual_hz > 0 && std::abs(stamps_hz / device.usual_hz - 1) < 0.03) {
    warnings.push_back("taken as " + rounded(device.usual_hz) + " Hz, the rate of the device; its time stamps give " +
                       rounded(stamps_hz, 5) + " Hz");
    return device.usual_hz;
  }
  bad_argument(input.name, "a file of " + device.program + " that does not carry its sampling rate" +
                               (stamps_hz > 0 ? "; its time stamps give about " + rounded(stamps_hz, 4) + " Hz" : "") +
                               "; give the device's in Hz with --rate" + device.known_rates);
}

}  // namespace

std::optional<Recording> read_device_text(const Input& input, const ReadOptions& options) {
  std::string_view body = input.bytes;
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  const std::optional<Device> device = find_device(body);
  if (!device) return std::nullopt;
  Rows rows = parse(input, body, *device);
  Recording recording;
  recording.format = "text";
  const double rate_hz = rate_of(input, *device, rows, options, recording.warnings);
  if (!(rate_hz >= 1e-9 && rate_hz <= 1e15))
    bad_file(input.name, "its sample rate of " + rounded(rate_hz) + " Hz is none");

  const std::vector<std::size_t> places =
      device->counter ? places_by_counter(rows.counts) : places_by_pauses(rows.stamps_s, rate_hz);
  const std::size_t samples = places.back() + 1, dropped = samples - places.size();
  if (static_cast<double>(dropped) > 32 * static_cast<double>(places.size()) + 1e5) {
    bad_file(input.name, std::to_string(dropped) + " samples are missing beside " + std::to_string(places.size()) +
                             "; cut it into parts first");
  }
  if (dropped > 0) {
    recording.warnings.push_back(std::to_string(dropped) + " samples were dropped, by the " +
                                 (device->counter ? "sample counter" : "pauses of the time stamps") +
                                 ", and count as missing");
  }
  const double told_s = rows.stamps_s.back() - rows.stamps_s[0], held_s = static_cast<double>(samples - 1) / rate_hz;
  if (std::abs(told_s - held_s) > 1 + 0.01 * held_s) {
    recording.warnings.push_back("its time stamps span " + rounded(told_s) + " s, its samples " + rounded(held_s) +
                                 " s; samples count");
  }
  if (rows.cut) recording.warnings.push_back("the last line is cut off and left out");
  if (rows.first_stamp.size() >= 19 && rows.first_stamp[10] == ' ' && seconds_of(rows.first_stamp)) {
    recording.start = printable(rows.first_stamp, 23);
    recording.start[10] = 'T';
  }
  for (const Event& event : rows.events) {
    const std::size_t place = event.row < places.size() ? places[event.row] : samples;
    recording.annotations.push_back({static_cast<double>(place) / rate_hz, std::nullopt, event.text});
  }

  std::vector<std::string> names = device->names, types;
  make_unique(names);
  for (const std::string& name : names) {
    const std::string plain = lower_case(name).starts_with("raw_") ? name.substr(4) : name;
    types.push_back(lower_case(name).starts_with("exg") ? "exg" : type_of_label(plain));
  }
  Crop crop(input.name, options);
  for (const std::size_t i : wanted_channels(input, names, types, options)) {
    Channel channel;
    channel.name = names[i];
    channel.type = types[i];
    channel.unit = "uV";  // of all these programs
    channel.kind = DataKind::biosignal;
    channel.rate_hz = rate_hz;
    channel.samples.assign(samples, kMissing);
    for (std::size_t row = 0; row < places.size(); ++row) channel.samples[places[row]] = rows.signals[i][row];
    crop.apply(channel);
    recording.channels.push_back(std::move(channel));
  }
  crop.finish(recording);
  return recording;
}

}  // namespace envoi::signal
