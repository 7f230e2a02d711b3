// The SQLite book of matching pursuit: one row an atom. A book of ours adds to the atoms the columns
// chirp_Hz_per_s and kept, and beside them what the format has no place for; readers of plain books do not notice.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/foreign.hpp"
#include "results/json_text.hpp"
#include "results/measure.hpp"
#include "results/parse.hpp"
#include "results/sqlite.hpp"
#include "signal/shared.hpp"

namespace envoi::results {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr const char* kHead = "envoi.decomposition";  // row of metadata: the first line of our NDJSON
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 40;
constexpr std::int64_t kMostChannels = 1 << 20;
constexpr double kMostForPeak = 1 << 14;  // samples around an atom's centre

// A book's envelope is exp(-pi (t / scale)^2).
const double kScaleOfDuration = std::sqrt(2 * std::numbers::pi);

constexpr const char* kTables =
    "CREATE TABLE metadata (param TEXT PRIMARY KEY,value TEXT NOT NULL);"
    "CREATE TABLE atoms (segment_id INTEGER NOT NULL,channel_id INTEGER NOT NULL,iteration UNSIGNED INTEGER NOT NULL,"
    "amplitude REAL NOT NULL,energy REAL NOT NULL,envelope TEXT NOT NULL,f_Hz REAL,phase REAL,scale_s REAL,t0_s REAL,"
    "t0_abs_s REAL,chirp_Hz_per_s REAL,kept INTEGER,PRIMARY KEY (segment_id, channel_id, iteration));"
    "CREATE TABLE segments (segment_id INTEGER PRIMARY KEY,sample_count UNSIGNED INTEGER NOT NULL,"
    "segment_length_s REAL NOT NULL,segment_offset_s REAL NOT NULL);"
    "CREATE TABLE samples (segment_id INTEGER NOT NULL,channel_id INTEGER NOT NULL,samples_float32 BLOB NOT NULL,"
    "PRIMARY KEY (segment_id, channel_id));"
    "CREATE TABLE envoi_segments (segment_id INTEGER NOT NULL,channel_id INTEGER NOT NULL,description TEXT NOT NULL,"
    "PRIMARY KEY (segment_id, channel_id));";

// --- Writing ---------------------------------------------------------------------------------------------------------

// A stretch of time that channels share; the last number tells equal stretches of one channel apart.
struct Stretch {
  double start_s;
  std::size_t samples;
  std::size_t copy;
  auto operator<=>(const Stretch&) const = default;
};

std::vector<Stretch> stretches_of(const Decomposition& result) {
  std::vector<Stretch> out;
  std::map<std::pair<std::size_t, std::pair<double, std::size_t>>, std::size_t> seen;
  for (const Segment& s : result.segments)
    out.push_back({s.start_s, s.samples, seen[{s.channel, {s.start_s, s.samples}}]++});
  return out;
}

// Big-endian single precision, a missing sample NaN.
std::string samples_blob(const Channel& channel, const Segment& segment) {
  const double first = std::round((segment.start_s - channel.start_s) * channel.rate_hz);
  std::string bytes;
  for (std::size_t i = 0; i < segment.samples; ++i) {
    const double at = first + static_cast<double>(i);
    const bool there = at >= 0 && at < static_cast<double>(channel.samples.size());
    const float sample = there ? static_cast<float>(channel.samples[static_cast<std::size_t>(at)])
                               : std::numeric_limits<float>::quiet_NaN();
    const auto word = std::bit_cast<std::uint32_t>(sample);
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xFF);
  }
  return bytes;
}

double book_rate(const Decomposition& result, const std::string& name) {
  if (result.channels.empty()) signal::bad_argument(name, "the result has no channel; there is nothing to write");
  const double rate = result.channels.front().rate_hz;
  for (const AnalysedChannel& channel : result.channels)
    if (channel.rate_hz != rate)
      signal::bad_argument(name, "a book holds one rate, and this result has channels at " + signal::rounded(rate) +
                                     " and " + signal::rounded(channel.rate_hz) +
                                     " Hz; analyse them apart, or write .json");
  return rate;
}

}  // namespace

bool is_book(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string book_bytes(const Decomposition& result, std::span<const Channel> signal, const std::string& name) {
  const double rate = book_rate(result, name);
  const std::vector<Stretch> stretch = stretches_of(result);
  std::map<Stretch, std::int64_t> ids;
  for (const Stretch& s : stretch) ids[s] = 0;
  std::int64_t count = 0;
  for (auto& [s, id] : ids) id = count++;

  Database book(name);
  book.run("BEGIN");
  book.run(kTables);
  Statement metadata(book, "INSERT INTO metadata VALUES (?1, ?2)");
  const auto note = [&](std::string_view key, const std::string& value) {
    metadata.bind(1, key).bind(2, std::string_view(value)).insert();
  };
  note("version", "1.0.0");
  note("channel_count", std::to_string(result.channels.size()));
  note("sampling_frequency_Hz", number_text(rate));
  note("segment_count", std::to_string(count));

  Statement segments(book, "INSERT INTO segments VALUES (?1, ?2, ?3, ?4)");
  for (const auto& [s, id] : ids)
    segments.bind(1, id)
        .bind(2, static_cast<std::int64_t>(s.samples))
        .bind(3, static_cast<double>(s.samples) / rate)
        .bind(4, s.start_s)
        .insert();

  // What a book has no place for, in the words of our NDJSON, without the atoms.
  Decomposition bare = result;
  bare.atoms.clear();
  for (Segment& s : bare.segments) s.first_atom = s.atom_count = 0;
  const std::string lines = to_ndjson(bare);
  std::size_t at = lines.find('\n');
  note(kHead, lines.substr(0, at++));

  Statement descriptions(book, "INSERT INTO envoi_segments VALUES (?1, ?2, ?3)");
  Statement atoms(book, "INSERT INTO atoms VALUES (?1, ?2, ?3, ?4, ?5, 'gauss', ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
  Statement samples(book, "INSERT INTO samples VALUES (?1, ?2, ?3)");
  for (std::size_t i = 0; i < result.segments.size(); ++i) {
    const Segment& segment = result.segments[i];
    const std::int64_t id = ids.at(stretch[i]);
    const auto channel = static_cast<std::int64_t>(segment.channel);
    const std::size_t end = lines.find('\n', at);
    descriptions.bind(1, id).bind(2, channel).bind(3, std::string_view(lines).substr(at, end - at)).insert();
    at = end + 1;
    std::int64_t iteration = 0;
    for (const Chirplet& atom : result.atoms_of(segment)) {
      const double energy = std::isfinite(atom.energy) ? atom.energy : measure(atom, segment, rate).energy;
      atoms.bind(1, id).bind(2, channel).bind(3, iteration++).bind(4, atom.amplitude).bind(5, energy / rate);
      atoms.bind(6, atom.frequency_hz).bind(7, atom.phase_rad).bind(8, kScaleOfDuration * atom.duration_s);
      atoms.bind(9, atom.time_s - segment.start_s).bind(10, atom.time_s).bind(11, atom.chirp_rate_hz_per_s);
      atoms.bind(12, std::int64_t{atom.kept}).insert();
    }
    const std::string& channel_name = result.channels.at(segment.channel).name;
    const auto with_name = [&](const Channel& c) { return c.name == channel_name && c.rate_hz == rate; };
    const auto found = std::find_if(signal.begin(), signal.end(), with_name);
    if (found == signal.end()) continue;
    const std::string blob = samples_blob(*found, segment);
    samples.bind(1, id).bind(2, channel).bind_blob(3, blob).insert();
  }
  book.run("COMMIT");
  return book.bytes();
}

// --- Reading ---------------------------------------------------------------------------------------------------------

namespace {

using Place = std::pair<std::int64_t, std::int64_t>;  // channel, segment

void require_columns(Database& book, const char* table, std::initializer_list<const char*> wanted) {
  if (!book.has_table(table))
    book.fail(std::string("an SQLite database without a table '") + table + "'; it is no book of matching pursuit");
  const std::vector<std::string> there = book.columns(table);
  for (const char* column : wanted)
    if (std::find(there.begin(), there.end(), column) == there.end())
      book.fail(std::string("table ") + table + " has no column '" + column + "'; it is no book of matching pursuit");
}

bool has_column(Database& book, const char* table, const char* column) {
  const std::vector<std::string> there = book.columns(table);
  return std::find(there.begin(), there.end(), column) != there.end();
}

std::optional<std::string> metadata_of(Database& book, const char* key) {
  Statement row(book, "SELECT value FROM metadata WHERE param = ?1");
  row.bind(1, std::string_view(key));
  return row.step() ? row.text(0) : std::nullopt;
}

double metadata_number(Database& book, const char* key) {
  const auto text = metadata_of(book, key);
  const auto value = signal::parse_number(text.value_or(""));
  if (!value || !(*value > 0) || !std::isfinite(*value))
    book.fail(std::string("table metadata: '") + key + "' is " +
              (text ? "'" + signal::printable(*text) + "'" : "not there") + ", but should be a number above 0");
  return *value;
}

struct BookSegment {
  double start_s;
  std::size_t samples;
};

std::map<std::int64_t, BookSegment> read_stretches(Database& book) {
  std::map<std::int64_t, BookSegment> out;
  Statement rows(book, "SELECT segment_id, sample_count, segment_offset_s FROM segments");
  while (rows.step()) {
    const auto id = rows.integer(0), samples = rows.integer(1);
    const auto start = rows.number(2);
    const std::string where = "table segments, segment " + (id ? std::to_string(*id) : "?") + ": ";
    if (!id) book.fail(where + "segment_id is no whole number");
    if (!samples || *samples < 0 || static_cast<std::uint64_t>(*samples) > kMostSamples)
      book.fail(where + "sample_count is no number of samples");
    if (!start) book.fail(where + "segment_offset_s is no finite number");
    if (!out.emplace(*id, BookSegment{*start, static_cast<std::size_t>(*samples)}).second)
      book.fail(where + "is there twice");
  }
  return out;
}

bool is_ours(Database& book) { return book.has_table("envoi_segments") && metadata_of(book, kHead).has_value(); }

// Our own additions, or what a plain book says of channels and segments. Atoms are left out; `index` tells where each
// channel's part of a segment is.
Decomposition read_frame(Database& book, const std::string& name, double rate, std::map<Place, std::size_t>& index) {
  const auto stretches = read_stretches(book);
  const double channels = metadata_number(book, "channel_count");
  if (channels != std::floor(channels) || channels > static_cast<double>(kMostChannels))
    book.fail("table metadata: 'channel_count' is " + signal::rounded(channels) + ", which cannot be right");

  if (is_ours(book)) {
    std::string text = *metadata_of(book, kHead);
    std::vector<Place> places;
    Statement rows(book, "SELECT channel_id, segment_id, description FROM envoi_segments ORDER BY 1, 2");
    while (rows.step()) {
      const auto channel = rows.integer(0), segment = rows.integer(1);
      const auto description = rows.text(2);
      if (!channel || !segment || !description || description->find('\n') != std::string::npos)
        book.fail("table envoi_segments, row " + std::to_string(places.size() + 1) + ": is damaged");
      places.emplace_back(*channel, *segment);
      text += "\n" + *description;
    }
    Decomposition out = parse(text, name + ": table envoi_segments");
    const auto contradict = [&](const std::string& what) {
      book.fail("its tables contradict each other: " + what + "; the file was changed by another program");
    };
    if (static_cast<double>(out.channels.size()) != channels) contradict("the number of channels");
    for (const AnalysedChannel& channel : out.channels)
      if (channel.rate_hz != rate) contradict("the rate of channel '" + signal::printable(channel.name) + "'");
    if (out.segments.size() != places.size() || !out.atoms.empty()) contradict("the number of segments");
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = stretches.find(places[i].second);
      const Segment& s = out.segments[i];
      if (at == stretches.end() || at->second.start_s != s.start_s || at->second.samples != s.samples ||
          static_cast<std::int64_t>(s.channel) != places[i].first)
        contradict("segment " + std::to_string(places[i].second) + " of channel " + std::to_string(places[i].first));
      index[places[i]] = i;
    }
    return out;
  }

  Decomposition out;
  out.source.name = name;
  out.source.format = "book";
  out.rate_hz = rate;
  out.options.gabor = true;
  if (channels * static_cast<double>(stretches.size()) > 1e8)
    book.fail(signal::rounded(channels) + " channels of " + std::to_string(stretches.size()) +
              " segments cannot be right");
  std::vector<std::pair<std::int64_t, BookSegment>> by_time(stretches.begin(), stretches.end());
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const auto& a, const auto& b) { return a.second.start_s < b.second.start_s; });
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(channels); ++c) {
    out.channels.push_back({std::to_string(c + 1), "", rate, 0});
    for (const auto& [id, stretch] : by_time) {
      Segment segment;
      segment.channel = static_cast<std::size_t>(c);
      segment.start_s = stretch.start_s;
      segment.samples = stretch.samples;
      segment.energy = segment.in_band_share = segment.energy_left_share = segment.snr_db = kUndetermined;
      index[{c, id}] = out.segments.size();
      out.segments.push_back(segment);
    }
  }
  return out;
}

// The energy of what was analysed, where the book kept it.
void read_energies(Database& book, Decomposition& result, const std::map<Place, std::size_t>& index) {
  if (!book.has_table("samples") || !has_column(book, "samples", "samples_float32")) return;
  Statement rows(book, "SELECT channel_id, segment_id, samples_float32 FROM samples");
  while (rows.step()) {
    const auto channel = rows.integer(0), id = rows.integer(1);
    const auto blob = rows.blob(2);
    const auto at = channel && id ? index.find({*channel, *id}) : index.end();
    if (at == index.end() || !blob) book.fail("table samples: a row belongs to no segment, or holds no samples");
    Segment& segment = result.segments[at->second];
    if (blob->size() != 4 * segment.samples)
      book.fail("table samples, segment " + std::to_string(*id) + ", channel " + std::to_string(*channel) + ": has " +
                std::to_string(blob->size()) + " bytes for " + std::to_string(segment.samples) + " samples");
    double energy = 0;
    for (std::size_t i = 0; i < blob->size(); i += 4) {
      std::uint32_t word = 0;
      for (std::size_t j = 0; j < 4; ++j) word = word << 8 | static_cast<unsigned char>((*blob)[i + j]);
      const double sample = std::bit_cast<float>(word);
      energy += sample * sample;
    }
    if (std::isfinite(energy)) segment.energy = energy;
  }
}

}  // namespace

Decomposition read_book(std::string bytes, const std::string& name) {
  Database book(std::move(bytes), name);
  require_columns(book, "metadata", {"param", "value"});
  require_columns(book, "segments", {"segment_id", "sample_count", "segment_offset_s"});
  require_columns(
      book, "atoms",
      {"segment_id", "channel_id", "iteration", "amplitude", "energy", "envelope", "f_Hz", "phase", "scale_s", "t0_s"});
  const double rate = metadata_number(book, "sampling_frequency_Hz");
  if (const auto version = metadata_of(book, "version"); version && !version->starts_with("1."))
    book.fail("table metadata: version is '" + signal::printable(*version) +
              "'; this program reads books of version 1");
  std::map<Place, std::size_t> index;
  Decomposition out = read_frame(book, name, rate, index);
  const bool ours = is_ours(book);

  const bool with_time = has_column(book, "atoms", "t0_abs_s");
  const bool with_chirp = has_column(book, "atoms", "chirp_Hz_per_s");
  const bool with_kept = has_column(book, "atoms", "kept");
  Statement rows(book,
                 std::string("SELECT channel_id, segment_id, iteration, amplitude, energy, envelope, f_Hz, phase, ") +
                     "scale_s, t0_s, " + (with_time ? "t0_abs_s, " : "NULL, ") +
                     (with_chirp ? "chirp_Hz_per_s, " : "NULL, ") + (with_kept ? "kept" : "NULL") +
                     " FROM atoms ORDER BY 1, 2, 3");
  std::vector<std::vector<Chirplet>> found(out.segments.size());
  std::map<std::string, std::size_t> left_out;
  while (rows.step()) {
    const auto channel = rows.integer(0), id = rows.integer(1), iteration = rows.integer(2);
    const auto word = [](const auto& value) { return value ? std::to_string(*value) : std::string("?"); };
    const auto fail = [&](const std::string& what) {
      book.fail("table atoms, segment " + word(id) + ", channel " + word(channel) + ", iteration " + word(iteration) +
                ": " + what);
    };
    const auto at = channel && id ? index.find({*channel, *id}) : index.end();
    if (at == index.end()) fail("there is no such segment of such a channel");
    const std::string envelope = rows.text(5).value_or("");
    if (envelope != "gauss") {
      ++left_out[signal::printable(envelope)];
      continue;
    }
    const auto number = [&](int column, const char* what) {
      const auto value = rows.number(column);
      if (!value) fail(std::string(what) + " is no finite number");
      return *value;
    };
    const Segment& segment = out.segments[at->second];
    Chirplet atom;
    atom.amplitude = number(3, "amplitude");
    atom.energy = number(4, "energy") * rate;
    atom.frequency_hz = number(6, "f_Hz");
    atom.phase_rad = number(7, "phase");
    atom.duration_s = number(8, "scale_s") / kScaleOfDuration;
    atom.time_s = segment.start_s + number(9, "t0_s");
    atom.chirp_rate_hz_per_s = rows.number(11).value_or(0);
    if (!(atom.duration_s > 0)) fail("scale_s should be above 0");
    if (!(atom.energy >= 0) || !std::isfinite(atom.energy)) fail("energy cannot be right");
    if (const auto time = rows.number(10)) {
      if (std::abs(*time - atom.time_s) > 1 / rate) fail("t0_s and t0_abs_s contradict each other");
      atom.time_s = *time;
    }
    if (std::abs(atom.phase_rad) > std::numbers::pi)
      atom.phase_rad = std::remainder(atom.phase_rad, 2 * std::numbers::pi);
    atom.peak = measure(atom, segment, rate, kMostForPeak).peak;
    atom.energy_share = atom.energy_left_share = kUndetermined;
    atom.kept = rows.integer(12).value_or(1) != 0;
    found[at->second].push_back(atom);
  }
  if (!ours) read_energies(book, out, index);
  if (!ours && !with_kept) {
    const std::size_t each = out.segments.size() / out.channels.size();
    for (std::size_t first = 0; each > 0 && first < found.size(); first += each) {
      const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(first + each);
      std::vector<std::vector<Chirplet>> atoms(found.begin() + from, found.begin() + to);
      mark_kept({out.segments.begin() + from, out.segments.begin() + to}, atoms, rate);
      std::move(atoms.begin(), atoms.end(), found.begin() + from);
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    out.segments[i].first_atom = out.atoms.size();
    out.segments[i].atom_count = found[i].size();
    out.atoms.insert(out.atoms.end(), found[i].begin(), found[i].end());
  }
  for (const auto& [envelope, count] : left_out)
    out.warnings.push_back(std::to_string(count) + " atoms with the envelope '" + envelope +
                           "' are left out; chirplets have a Gaussian one");
  return out;
}

}  // namespace envoi::results
