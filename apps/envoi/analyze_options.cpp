// Options of `analyze`: declaration, help and meaning.
#include "analyze_options.hpp"

#include "command.hpp"
#include "envoi/results.hpp"
#include "numbers.hpp"
#include "results/names.hpp"
#include "source_signal.hpp"

namespace envoi::command {
namespace {

template <class E, std::size_t N>
void take_word(const std::optional<std::string>& text, const char* option, const results::Names<E, N>& names, E& to) {
  if (!text) return;
  const auto value = results::value_of(names, *text);
  if (!value) {
    std::string known;
    for (const auto& [v, name] : names) known += (known.empty() ? "" : ", ") + std::string(name);
    usage_error(std::string(option) + ": '" + one_line(*text) + "' is not known; there are: " + known);
  }
  to = *value;
}

template <class T, class F>
void take(const std::optional<std::string>& text, const char* option, F parse, T& to) {
  if (text) to = parse(*text, option);
}

double share(std::string_view text, const std::string& option) {
  const double value = parse_number(text, option);
  if (!(value > 0 && value < 1))
    usage_error(option + ": '" + one_line(std::string(text)) + "' must lie between 0 and 1");
  return value;
}

std::string as_it_is(const std::string& text, const char*) { return text; }

// A run's options as they were resolved, back to what a person would have typed.
AnalyzeOptions options_of(const std::string& path) {
  const Decomposition result = read_result(path);
  AnalyzeOptions out{of_result(result.input), result.conditioning, result.events, result.options, {}};
  if (out.pursuit.whole || out.pursuit.whole_signal) out.pursuit.window_s.reset(), out.pursuit.hop_s.reset();
  if (!out.events.empty()) out.pursuit.window_s.reset(), out.pursuit.hop_s.reset();  // found again in each file
  return out;
}

// Lists parted by commas, given once or more often; they replace those of --like.
void take_lists(const std::vector<std::string>& lists, const std::string& option, std::vector<std::string>& to) {
  if (!lists.empty()) to.clear();
  for (const std::string& list : lists)
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      if (comma == at) usage_error(option + ": an empty name in '" + one_line(list) + "'");
      to.push_back(list.substr(at, comma - at));
      at = comma + 1;
    }
}

void take_input(const AnalyzeArguments& a, ReadOptions& input) {
  take(a.format, "--format", as_it_is, input.format);
  take(a.rate, "--rate", parse_positive, input.rate_hz);
  if (a.rate) input.rate_is_fallback = false;
  take(a.unit, "--unit", as_it_is, input.unit);
  take(a.raw_channels, "--raw-channels", parse_count, input.raw_channels);
  take(a.column, "--column", as_it_is, input.column);
  take(a.time_column, "--time-column", as_it_is, input.time_column);
  take(a.from, "--from", parse_number, input.from_s);
  take(a.to, "--to", parse_number, input.to_s);
  if (input.from_s && input.to_s && !(*input.from_s < *input.to_s))
    usage_error("--from is not before --to; nothing lies between them");
  take_lists(a.channels, "--channels", input.channels);
  take_lists(a.exclude, "--exclude", input.exclude);
  take_lists(a.types, "--types", input.types);
  take(a.dataset, "--dataset", as_it_is, input.dataset);
  take(a.stream, "--stream", as_it_is, input.stream);
  if (a.keep_bad_spans) input.bad_spans_missing = false;
}

void take_conditioning(const AnalyzeArguments& a, Conditioning& c) {
  take(a.reference, "--reference", as_it_is, c.reference);
  if (a.reference && a.reference->find_first_not_of(' ') == std::string::npos)
    usage_error("--reference: an empty name; give average or channels, or leave it out");
  take_lists(a.bipolar, "--bipolar", c.bipolar);
  take(a.high_pass, "--high-pass", parse_positive, c.high_pass_hz);
  take(a.low_pass, "--low-pass", parse_positive, c.low_pass_hz);
  if (c.high_pass_hz && c.low_pass_hz && *c.high_pass_hz >= *c.low_pass_hz)
    usage_error("--high-pass is not below --low-pass; nothing would pass");
  std::vector<std::string> notches;
  take_lists(a.notch, "--notch", notches);
  if (!notches.empty()) c.notch_hz.clear();
  for (const std::string& notch : notches) c.notch_hz.push_back(parse_positive(notch, "--notch"));
  take(a.resample, "--resample", parse_positive, c.resample_hz);
}

void take_atoms(const AnalyzeArguments& a, PursuitOptions& o) {
  const bool ranges = a.band || a.durations || a.chirp_rates || a.max_loss || a.gabor;
  if (a.grid) {
    o.band_hz.reset(), o.durations_s.reset(), o.chirp_rates_hz_per_s.reset();
    o.gabor = false;
    o.grid = parse_grid(*a.grid, "--grid");
    o.phase = *a.grid == "act" ? Phase::fixed : Phase::solved;
  } else if (ranges) {
    o.grid.reset();
  }
  take(a.band, "--band", parse_range, o.band_hz);
  if (o.band_hz && a.band && o.band_hz->low == o.band_hz->high) usage_error("--band: '" + *a.band + "' is empty");
  take(a.durations, "--durations", parse_range, o.durations_s);
  if (a.durations && !(o.durations_s->low > 0)) usage_error("--durations: both must be above 0");
  take(a.chirp_rates, "--chirp-rates", parse_range, o.chirp_rates_hz_per_s);
  take(a.max_loss, "--max-loss", share, o.max_loss);
  if (a.gabor) o.gabor = true;
  take_word(a.phase, "--phase", results::kPhases, o.phase);
}

void take_windows(const AnalyzeArguments& a, PursuitOptions& o) {
  if (a.whole) {
    if (a.window || a.hop) usage_error("--whole knows no windows; leave out --window and --hop");
    o.window_s.reset(), o.hop_s.reset();
    o.whole = false, o.whole_signal = true;
    o.stop.atoms.reset(), o.stop.snr_db.reset(), o.stop.energy_left_share.reset();  // of --like; given ones are refused
  }
  if (a.window) {
    if (o.whole_signal) o.stop.density_per_s.reset();
    o.whole_signal = false;
    o.window_s.reset(), o.hop_s.reset();
    o.whole = *a.window == "whole";
    if (!o.whole) o.window_s = parse_positive(*a.window, "--window");
  }
  if (a.hop && o.whole) usage_error("--hop has no meaning with --window whole");
  take(a.hop, "--hop", parse_positive, o.hop_s);
  if (o.hop_s && o.window_s && *o.hop_s > *o.window_s)
    usage_error("--hop is longer than --window, which would leave samples out");
}

void take_events(const AnalyzeArguments& a, AnalyzeOptions& out) {
  if (!a.events && (a.window || a.whole)) out.events = {};  // those of --like
  take(a.events, "--events", as_it_is, out.events.text);
  if (a.events && a.events->empty()) usage_error("--events: an empty name");
  if (out.events.empty() && (a.before || a.after)) usage_error("--before and --after need --events NAME");
  if (out.events.empty()) return;
  if (a.window || a.hop || a.whole)
    usage_error("--events lays the windows itself; leave out --window, --hop and --whole");
  take(a.before, "--before", parse_number, out.events.before_s);
  take(a.after, "--after", parse_number, out.events.after_s);
  if (!(out.events.before_s + out.events.after_s > 0))
    usage_error("--events needs --before S and --after S, how much of the signal about each event; together above 0");
  PursuitOptions& o = out.pursuit;
  o.whole = o.whole_signal = false;
  o.hop_s.reset(), o.stop.density_per_s.reset();
  o.window_s = out.events.before_s + out.events.after_s;
}

}  // namespace

void AnalyzeArguments::declare(CLI::App& c) {
  const auto option = [&c](const char* group, const char* name, auto& field, const char* value, const char* help) {
    return c.add_option(name, field, help)->group(group)->option_text(value);
  };
  const auto flag = [&c](const char* group, const char* name, bool& field, const char* help) {
    c.add_flag(name, field, help)->group(group);
  };
  const char* g = "Input";
  option(g, "--format", format, "NAME",
         "edf, bdf, brainvision, xdf, hdf5, mat, wav, flac, text, npy, f32, f64 (else by content and ending)");
  option(g, "-r,--rate", rate, "HZ", "sampling rate, where the file does not carry it");
  option(g, "--unit", unit, "NAME", "unit of the samples (uV), where the file does not name it");
  option(g, "--raw-channels", raw_channels, "N", "f32, f64: so many channels, interleaved (default: 1)");
  option(g, "--column", column, "NAME|N", "text: the column to take, by name or from 1");
  option(g, "--time-column", time_column, "NAME|N", "text: the column of times");
  option(g, "-c,--channels", channels, "LIST", "names, globs (Fp*), numbers and ranges (1-4), commas between")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  const auto list = [&](const char* name, std::vector<std::string>& field, const char* help) {
    option(g, name, field, "LIST", help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  list("--exclude", exclude, "bad channels, in the same forms, left out of these");
  list("--types", types, "channels of these types alone (eeg,eog)");
  option(g, "--dataset", dataset, "PATH", "HDF5, MATLAB: the data set or variable");
  option(g, "--stream", stream, "NAME", "XDF: the stream, by name, type or number");
  flag(g, "--keep-bad-spans", keep_bad_spans, "samples under annotations that begin with BAD_ count too");
  option(g, "--from", from, "S", "from this time on");
  option(g, "--to", to, "S", "up to this time");
  g = "Conditioning, in this order; filters have no phase and leave what is missing as it is";
  option(g, "--reference", reference, "NAMES", "average, or the channels whose mean is taken off (A1,A2)");
  list("--bipolar", bipolar, "differences instead of the channels (F3-C3,C3-P3)");
  option(g, "--high-pass", high_pass, "HZ", "Butterworth of order 4, run forward and backward (-6 dB there)");
  option(g, "--low-pass", low_pass, "HZ", "the same; with --high-pass a band-pass");
  list("--notch", notch, "these frequencies out (50,100); width: a thirtieth");
  option(g, "--resample", resample, "HZ", "to another rate");
  option(g, "--detrend", detrend, "WORD", "mean (default), linear or none, in each window");
  option(g, "--missing", missing, "WORD", "windows with missing samples: reject (default), or weight 0");
  g = "Atoms sought";
  option(g, "-b,--band", band, "LO:HI", "Hz");
  option(g, "-d,--durations", durations, "LO:HI", "s, standard deviation of the envelope");
  option(g, "--chirp-rates", chirp_rates, "LO:HI", "Hz/s");
  option(g, "--max-loss", max_loss, "SHARE", "the grid keeps all but so much of any atom's energy (0.1)");
  flag(g, "--gabor", gabor, "chirp rate 0 alone");
  option(g, "--grid", grid, "AXES", "tc=A:B:STEP,fc=..,lnDt=..,c=.. (s or with smp samples, Hz, ln s, Hz/s), or act");
  option(g, "--phase", phase, "WORD", "solved (default), or fixed at 0 (the default of --grid act)");
  g = "Stop, whichever comes first";
  option(g, "-n,--atoms", atoms, "N", "atoms a window and channel");
  option(g, "--snr", snr, "DB", "after the first atom that reaches it");
  option(g, "--energy-left", energy_left, "SHARE", "after the first atom that leaves at most so much");
  option(g, "--noise", noise, "P",
         "when the next atom could be white noise, at this alarm rate (coloured is not white)");
  option(g, "--threshold", threshold, "ENERGY",
         "before the first atom with less energy, in the channel's unit squared");
  option(g, "--density", density, "N", "--whole: at most so many atoms a second");
  g = "Method";
  option(g, "-m,--method", method, "WORD", "mp (default), omp or joint");
  flag(g, "--no-refine", no_refine, "leave the atoms on the grid");
  option(g, "-w,--window", window, "S|whole", "length of a window");
  option(g, "--hop", hop, "S", "from window to window (default: the window)");
  option(g, "--events", events, "NAME",
         "windows about the annotations of that text (or glob), one each, and nowhere else");
  option(g, "--before", before, "S", "--events: from so long before each");
  option(g, "--after", after, "S", "--events: to so long after each");
  flag(g, "--whole", whole, "no windows: atoms of the whole recording, wherever they lie");
  option(g, "--across", across, "WORD",
         "channels: independent (default); joint: one time, frequency, duration and chirp rate for all; joint-phase: "
         "one phase as well");
  g = "Running";
  option(g, "-t,--threads", threads, "N", "default: all processors; the result does not depend on it");
  option(g, "--device", device, "NAME", "auto (default), cpu, cuda or cuda:I");
  option(g, "--precision", precision, "WORD", "exact (fp32 screen, winners certified in fp64; default) or double");
  flag(g, "--force", force, "search grids of more than 1e10 atoms");
  option(g, "--like", like, "RESULT", "repeat the options of that run; those on the line come first");
}

AnalyzeOptions resolve(const AnalyzeArguments& a) {
  AnalyzeOptions out;
  if (a.like) out = options_of(*a.like);
  PursuitOptions& o = out.pursuit;
  take_input(a, out.input);
  take_conditioning(a, out.conditioning);
  take_atoms(a, o);
  take_windows(a, o);
  take_events(a, out);
  take_word(a.detrend, "--detrend", results::kDetrends, o.detrend);
  take_word(a.missing, "--missing", results::kMissing, o.missing);
  take(a.atoms, "--atoms", parse_count, o.stop.atoms);
  take(a.snr, "--snr", parse_number, o.stop.snr_db);
  take(a.energy_left, "--energy-left", share, o.stop.energy_left_share);
  take(a.noise, "--noise", share, o.stop.noise_p);
  take(a.threshold, "--threshold", parse_positive, o.stop.threshold);
  take(a.density, "--density", parse_positive, o.stop.density_per_s);
  take_word(a.across, "--across", results::kChannels, o.channels);
  take_word(a.method, "--method", results::kMethods, o.method);
  if (a.no_refine) o.refine = false;
  if (a.threads) {
    const std::size_t count = parse_count(*a.threads, "--threads");
    if (count > 1024) usage_error("--threads: " + *a.threads + " is more than 1024");
    o.threads = static_cast<unsigned>(count);
  }
  take(a.device, "--device", as_it_is, o.device);
  take_word(a.precision, "--precision", results::kPrecisions, o.precision);
  o.force = a.force;
  return out;
}

}  // namespace envoi::command
