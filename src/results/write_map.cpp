// The picture of a time-frequency map: what is in view, axes, colour bar, title, ellipses.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/canvas.hpp"
#include "results/map.hpp"
#include "signal/shared.hpp"

namespace envoi {
namespace {

using results::Align;
using results::Canvas;
using results::Color;
using results::MapView;
using results::Point;
using results::Stroke;

constexpr unsigned kLeastWidth = 320, kLeastHeight = 240, kMostSide = 10000;
constexpr std::size_t kMostEllipses = 40;
constexpr double kThinnestOutline = 4, kThinnestSlope = 10;  // pixels
constexpr double kLeft = 76, kRight = 108, kTop = 44, kBottom = 58;
constexpr const char* kInk = "#1d2126";
constexpr const char* kMuted = "#59626d";

[[noreturn]] void bad(const std::string& what) { throw Error(ErrorKind::bad_argument, what); }

std::size_t channel_index(const Decomposition& result, const std::string& name) {
  if (result.channels.empty()) bad(result.source.name + ": the result has no channel to draw");
  std::string known;
  for (std::size_t i = 0; i < result.channels.size(); ++i) {
    if (name.empty() || result.channels[i].name == name) return i;
    known += (known.empty() ? "" : ", ") + result.channels[i].name;
  }
  bad("there is no channel '" + signal::printable(name) + "'; there are: " + signal::printable(known, 400));
}

// The stretch that the channel's segments cover, and the band that was searched or else what its atoms fill.
MapView view_of(const Decomposition& result, std::size_t channel, const std::vector<const Chirplet*>& atoms,
                const MapOptions& options) {
  const double rate = result.channels[channel].rate_hz;
  MapView view;
  double start = INFINITY, end = -INFINITY;
  for (const Segment& segment : result.segments) {
    if (segment.channel != channel) continue;
    start = std::min(start, segment.start_s);
    end = std::max(end, segment.start_s + static_cast<double>(segment.samples) / rate);
  }
  if (start < end && ((options.from_s && *options.from_s >= end) || (options.to_s && *options.to_s <= start)))
    bad("nothing lies between the times to be drawn; this channel's result goes from " + signal::rounded(start, 12) +
        " s to " + signal::rounded(end, 12) + " s");
  if (options.band_hz && options.band_hz->low >= rate / 2)
    bad("nothing lies in the band to be drawn; at " + signal::rounded(rate, 12) + " Hz frequencies go up to " +
        signal::rounded(rate / 2, 12) + " Hz");
  view.from_s = options.from_s.value_or(start <= end ? start : 0);
  view.to_s = options.to_s.value_or(start < end ? end : view.from_s + 1);
  Range band{0, rate / 2};
  if (options.band_hz)
    band = *options.band_hz;
  else if (result.options.band_hz)
    band = *result.options.band_hz;
  else if (!atoms.empty()) {
    band = {rate / 2, 0};
    for (const Chirplet* atom : atoms) {
      const double spread = 1 / (std::numbers::pi * atom->duration_s);
      band.low = std::max(0.0, std::min(band.low, atom->frequency_hz - spread));
      band.high = std::min(rate / 2, std::max(band.high, atom->frequency_hz + spread));
    }
  }
  if (!options.band_hz && band.low < 0.1 * band.high) band.low = 0;
  view.low_hz = band.low, view.high_hz = band.high;
  if (!(view.from_s < view.to_s)) bad("nothing lies between the times to be drawn; choose an end after the start");
  if (!(view.low_hz < view.high_hz)) bad("the band to be drawn is empty; choose one whose end is above its start");
  return view;
}

struct Unit {
  double factor;
  const char* name;
};

Unit time_unit(double span_s) {
  if (span_s < 2e-3) return {1e-6, "µs"};
  if (span_s < 2) return {1e-3, "ms"};
  if (span_s > 900) return {60, "min"};
  return {1, "s"};
}

Unit frequency_unit(double high_hz) {
  if (high_hz >= 2e6) return {1e6, "MHz"};
  if (high_hz >= 2e3) return {1e3, "kHz"};
  return {1, "Hz"};
}

struct Picture {
  MapView view;
  double width, height;  // of the map
  double top_db = 0, range_db = 40;

  double x(double time_s) const { return kLeft + width * (time_s - view.from_s) / (view.to_s - view.from_s); }
  double y(double frequency_hz) const {
    return kTop + height * (1 - (frequency_hz - view.low_hz) / (view.high_hz - view.low_hz));
  }
};

void draw_map(Canvas& canvas, Picture& picture, const std::vector<const Chirplet*>& atoms, double rate,
              const std::array<Color, 256>& colors) {
  const auto [map, unit] = results::density_map(atoms, rate, picture.view);
  const double most = map.empty() ? 0.0 : static_cast<double>(*std::max_element(map.begin(), map.end()));
  const double top = 10 * std::log10(most);  // -infinity where there is nothing
  const double bottom = top - picture.range_db;
  picture.top_db = top + 10 * std::log10(unit);
  const std::size_t columns = picture.view.columns, rows = picture.view.rows;
  std::vector<Color> pixels(map.size(), colors[0]);
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) {
      const double value = map[(rows - 1 - y) * columns + x];
      if (!(value > 0)) continue;
      const double level = std::clamp((10 * std::log10(value) - bottom) / picture.range_db, 0.0, 1.0);
      pixels[y * columns + x] = colors[static_cast<std::size_t>(std::lround(255 * level))];
    }
  canvas.image({kLeft, kTop}, picture.width, picture.height, pixels, columns);
}

// The atoms that reach into the picture: their ridge within two durations of the centre, and its width.
std::vector<const Chirplet*> in_view(const MapView& view, const std::vector<const Chirplet*>& atoms) {
  std::vector<const Chirplet*> out;
  for (const Chirplet* atom : atoms) {
    const double t = 2 * atom->duration_s;
    const double f = std::abs(atom->chirp_rate_hz_per_s) * t + 1 / (std::numbers::pi * atom->duration_s);
    if (atom->time_s + t > view.from_s && atom->time_s - t < view.to_s && atom->frequency_hz + f > view.low_hz &&
        atom->frequency_hz - f < view.high_hz)
      out.push_back(atom);
  }
  return out;
}

// Where the atom's map has fallen to 1/e, and f = fc + c (t - tc) for one duration either way. What is too thin on the
// picture for three lines beside each other has its outline alone, or a single line along it.
void draw_ellipse(Canvas& canvas, const Picture& p, const Chirplet& atom, const Stroke& stroke) {
  const Point low{kLeft, kTop}, high{kLeft + p.width, kTop + p.height},
      centre{p.x(atom.time_s), p.y(atom.frequency_hz)};
  const double d = atom.duration_s, c = atom.chirp_rate_hz_per_s;
  const double right = p.x(atom.time_s + d) - centre.x, down = p.y(atom.frequency_hz + c * d) - centre.y;
  const double across = p.y(atom.frequency_hz + 1 / (2 * std::numbers::pi * d)) - centre.y;
  const auto at = [&](double angle) {
    return Point{centre.x + right * std::cos(angle), centre.y + down * std::cos(angle) + across * std::sin(angle)};
  };
  // Angle of the end of the long axis; that of the short one is a quarter of a turn further.
  const double axis = std::atan2(2 * down * across, right * right + down * down - across * across) / 2;
  const Point side = at(axis + std::numbers::pi / 2);
  const double width = 2 * std::hypot(side.x - centre.x, side.y - centre.y);
  if (width < kThinnestOutline) return canvas.line({at(axis), at(axis + std::numbers::pi)}, stroke, low, high);
  std::vector<Point> points;
  constexpr int kPoints = 48;
  for (int k = 0; k <= kPoints; ++k) points.push_back(at(2 * std::numbers::pi * k / kPoints));
  canvas.line(points, stroke, low, high);
  if (width >= kThinnestSlope) canvas.line({at(0), at(std::numbers::pi)}, stroke, low, high);
}

// Of the strongest atoms, the weaker the fainter, so that many do not hide the map.
void draw_ellipses(Canvas& canvas, const Picture& p, std::vector<const Chirplet*> atoms, const std::string& color) {
  std::stable_sort(atoms.begin(), atoms.end(), [](auto* a, auto* b) { return a->energy > b->energy; });
  atoms.resize(std::min(atoms.size(), kMostEllipses));
  for (std::size_t i = atoms.size(); i-- > 0;) {
    const double below_db = 10 * std::log10(atoms[0]->energy / atoms[i]->energy);
    const double fade = std::isfinite(below_db) ? std::clamp(below_db / p.range_db, 0.0, 1.0) : 1;
    draw_ellipse(canvas, p, *atoms[i], {color, 1, 0.95 - 0.65 * fade});
  }
}

void draw_axes(Canvas& canvas, const Picture& p, double page_width, double page_height) {
  const MapView& view = p.view;
  const Point low{0, 0}, high{page_width, page_height};
  const double right = kLeft + p.width, bottom = kTop + p.height;
  canvas.line({{kLeft, kTop}, {right, kTop}, {right, bottom}, {kLeft, bottom}, {kLeft, kTop}}, {kMuted, 1, 1}, low,
              high);
  const double span = view.to_s - view.from_s;
  // Times far from 0 (GPS, say) count from a whole second.
  const bool far = std::abs(view.from_s) > 1e4 && std::abs(view.from_s) > 20 * span;
  const double origin = far ? std::floor(view.from_s) : 0;
  const Unit time = far && span < 2 ? Unit{1, "s"} : time_unit(span);
  const std::vector<double> times = results::ticks((view.from_s - origin) / time.factor,
                                                   (view.to_s - origin) / time.factor, static_cast<int>(p.width / 90));
  const std::vector<std::string> time_texts = results::tick_texts(times);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double x = p.x(times[i] * time.factor + origin);
    canvas.line({{x, bottom}, {x, bottom + 5}}, {kMuted, 1, 1}, low, high);
    canvas.text({x, bottom + 16}, time_texts[i], 12, Align::middle, kInk, false, false);
  }
  const std::string since = far ? " after " + signal::rounded(origin, 15) + " s" : "";
  canvas.text({kLeft + p.width / 2, bottom + 39}, "Time" + since + " (" + time.name + ")", 13, Align::middle, kInk,
              false, false);

  const Unit frequency = frequency_unit(view.high_hz);
  const std::vector<double> frequencies =
      results::ticks(view.low_hz / frequency.factor, view.high_hz / frequency.factor, static_cast<int>(p.height / 55));
  const std::vector<std::string> frequency_texts = results::tick_texts(frequencies);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double y = p.y(frequencies[i] * frequency.factor);
    canvas.line({{kLeft - 5, y}, {kLeft, y}}, {kMuted, 1, 1}, low, high);
    canvas.text({kLeft - 9, y}, frequency_texts[i], 12, Align::end, kInk, false, false);
  }
  canvas.text({20, kTop + p.height / 2}, std::string("Frequency (") + frequency.name + ")", 13, Align::middle, kInk,
              false, true);
}

void draw_color_bar(Canvas& canvas, const Picture& p, const std::array<Color, 256>& colors, const std::string& unit,
                    double page_width) {
  constexpr double kWidth = 14;
  const double left = kLeft + p.width + 18;
  const std::vector<Color> pixels(colors.rbegin(), colors.rend());
  canvas.image({left, kTop}, kWidth, p.height, pixels, 1);
  const std::string shown = unit.starts_with("uV") ? "µV" + unit.substr(2) : unit;
  std::vector<double> levels;
  const double bottom_db = p.top_db - p.range_db;
  if (std::isfinite(p.top_db)) levels = results::ticks(bottom_db, p.top_db, static_cast<int>(p.height / 55));
  const std::vector<std::string> texts = results::tick_texts(levels);
  constexpr double kDigit = 7.7;  // pixels
  std::size_t digits = 0;
  for (const std::string& text : texts) digits = std::max(digits, text.size() - (text.starts_with("−") ? 2 : 0));
  const double title = left + kWidth + 7 + kDigit * static_cast<double>(digits) + 16;
  canvas.text({std::min(title, page_width - 12), kTop + p.height / 2},
              shown.empty() ? "Power density (dB re 1/Hz, no unit)" : "Power density (dB re 1 " + shown + "²/Hz)", 13,
              Align::middle, kInk, false, true);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double y = kTop + p.height * (1 - (levels[i] - bottom_db) / p.range_db);
    canvas.text({left + kWidth + 7, y}, texts[i], 12, Align::start, kInk, false, false);
  }
}

}  // namespace

std::size_t write_map(const std::string& path, const Decomposition& result, const MapOptions& options) {
  const bool svg = path.ends_with(".svg");
  if (!svg && !path.ends_with(".png")) bad(path + ": maps are written as .png or .svg; the ending chooses");
  if (options.width < kLeastWidth || options.height < kLeastHeight || options.width > kMostSide ||
      options.height > kMostSide)
    bad("a map of " + std::to_string(options.width) + " x " + std::to_string(options.height) +
        " pixels cannot be drawn; from 320 x 240 to 10000 x 10000 can");
  if (!(options.range_db > 0) || !std::isfinite(options.range_db)) bad("the range of a map must be above 0 dB");
  const auto colors = results::color_table(options.colors);
  if (!colors)
    bad("'" + signal::printable(options.colors) + "' is no colour map; there are: cividis, viridis, magma, gray");
  const std::size_t channel = channel_index(result, options.channel);
  const AnalysedChannel& analysed = result.channels[channel];

  std::vector<const Chirplet*> atoms;
  for (const Segment& segment : result.segments)
    if (segment.channel == channel)
      for (const Chirplet& atom : result.atoms_of(segment))
        if (atom.kept) atoms.push_back(&atom);

  Picture picture{view_of(result, channel, atoms, options), options.width - kLeft - kRight,
                  options.height - kTop - kBottom};
  picture.range_db = options.range_db;
  picture.view.columns = static_cast<std::size_t>(picture.width);
  picture.view.rows = static_cast<std::size_t>(picture.height);

  std::string title = result.source.name.empty() ? "Recording in memory" : result.source.name;
  if (!analysed.name.empty()) title += " – " + analysed.name;
  title = signal::printable(title, 200);
  const auto canvas = svg ? results::svg_canvas(options.width, options.height, title)
                          : results::png_canvas(options.width, options.height);
  canvas->fill({0, 0}, options.width, options.height, "#ffffff");
  draw_map(*canvas, picture, atoms, analysed.rate_hz, *colors);
  const std::vector<const Chirplet*> shown = in_view(picture.view, atoms);
  if (options.ellipses) draw_ellipses(*canvas, picture, shown, options.colors == "gray" ? "#b04a00" : "#ffffff");
  draw_axes(*canvas, picture, options.width, options.height);
  draw_color_bar(*canvas, picture, *colors, analysed.unit, options.width);
  canvas->text({kLeft, 22}, title, 15, Align::start, kInk, true, false);

  core::AtomicFile file(path);
  file.write(canvas->bytes());
  file.commit();
  return shown.size();
}

}  // namespace envoi
