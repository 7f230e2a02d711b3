// envoi reconstruct: the signal that a result stands for.
#include <algorithm>
#include <cmath>
#include <memory>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "outputs.hpp"
#include "source_signal.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::string result, signal;
  std::vector<std::string> outputs, channels;
  bool residual = false, force = false;
};

bool is_edf(const std::string& path) { return path.ends_with(".edf") || path.ends_with(".bdf"); }

// The channels of those names (none: all) that have samples. Into one file go channels of one rate, but for EDF.
std::vector<Channel> chosen(std::vector<Channel> channels, const std::vector<std::string>& names, bool one_rate) {
  std::vector<Channel> out;
  std::string known;
  for (const Channel& c : channels) known += (known.empty() ? "" : ", ") + c.name;
  for (const std::string& name : names) {
    const auto at = std::find_if(channels.begin(), channels.end(), [&](const Channel& c) { return c.name == name; });
    if (at == channels.end())
      usage_error("--channel: there is no channel '" + one_line(name) + "'; there are: " + known);
    out.push_back(*at);
  }
  if (names.empty()) out = std::move(channels);
  std::erase_if(out, [](const Channel& c) { return c.samples.empty(); });
  for (const Channel& c : out)
    if (one_rate && c.rate_hz != out.front().rate_hz)
      usage_error("channels of different rates go into one file only as .edf or .bdf; choose with --channel from: " +
                  known);
  return out;
}

// To one stretch of time, NaN where a channel has nothing.
void align(std::vector<Channel>& channels) {
  double start = channels.front().start_s, end = start;
  for (const Channel& c : channels) {
    start = std::min(start, c.start_s);
    end = std::max(end, c.start_s + static_cast<double>(c.samples.size()) / c.rate_hz);
  }
  for (Channel& c : channels) {
    const auto before = static_cast<std::size_t>(std::round((c.start_s - start) * c.rate_hz));
    const auto length = static_cast<std::size_t>(std::round((end - start) * c.rate_hz));
    c.samples.insert(c.samples.begin(), before, kUndetermined);
    c.samples.resize(std::max(length, c.samples.size()), kUndetermined);
    c.start_s = start;
  }
}

// What the recording has beside what was found: samples of the recording minus the model, NaN outside of it.
void subtract_from(const Recording& recording, std::vector<Channel>& models) {
  for (Channel& model : models) {
    const Channel& channel = recording.channel(model.name);
    if (channel.rate_hz != model.rate_hz)
      throw Error(ErrorKind::bad_file, recording.name + ": channel '" + one_line(model.name) +
                                           "' has another rate than in the result; it is not what was analysed");
    const auto shift = static_cast<std::ptrdiff_t>(std::llround((model.start_s - channel.start_s) * model.rate_hz));
    for (std::size_t i = 0; i < model.samples.size(); ++i) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + shift;
      const bool there = at >= 0 && at < static_cast<std::ptrdiff_t>(channel.samples.size());
      model.samples[i] = there ? channel.samples[static_cast<std::size_t>(at)] - model.samples[i] : kUndetermined;
    }
  }
}

int run_reconstruct(const Arguments& arguments) {
  const std::vector<std::string> outputs =
      arguments.outputs.empty() ? std::vector<std::string>{"-"} : arguments.outputs;
  OutputPaths taken;
  for (const std::string& output : outputs) {
    const auto ends = [&](const char* ending) { return output.ends_with(ending); };
    if (output != "-" && !is_edf(output) && !ends(".npy") && !ends(".wav") && !ends(".txt") && !ends(".csv") &&
        !ends(".tsv"))
      usage_error(output + ": signals are written as .edf, .bdf, .npy, .wav, .txt, .csv or .tsv; the ending chooses");
    require_different(output, arguments.result);
    if (!arguments.signal.empty()) require_different(output, arguments.signal);
    taken.require(output);
    core::AtomicFile::check(output);
  }
  if (!arguments.signal.empty() && !arguments.residual && std::none_of(outputs.begin(), outputs.end(), is_edf))
    usage_error("--signal is for --residual, and for the annotations that .edf and .bdf take along");
  Decomposition result;
  std::vector<Channel> channels;
  try {
    result = read_result(arguments.result);
    channels = reconstruct(result);
  } catch (...) {
    return report_current_exception(arguments.result);
  }
  channels = chosen(std::move(channels), arguments.channels, !std::all_of(outputs.begin(), outputs.end(), is_edf));
  if (channels.empty())
    throw Error(ErrorKind::bad_file, arguments.result + ": holds no segment of these channels, so there is no signal");
  SignalNotes notes{result.source.start, {}};
  if (!arguments.signal.empty()) {
    Recording recording = read_source(arguments.signal, result, arguments.force);
    if (arguments.residual) subtract_from(recording, channels);
    notes.annotations = std::move(recording.annotations);
  }
  align(channels);
  for (const std::string& output : outputs) write_signal(output, channels, notes);
  return kDone;
}

}  // namespace

void add_reconstruct(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("reconstruct", "Chirplets to signal");
  c->add_option("RESULT", arguments->result,
                "a result of `envoi analyze`, a book or ACT-lib's JSON; - is standard input")
      ->required();
  c->add_option("-o,--output", arguments->outputs,
                "repeatable; .edf .bdf .npy .wav .txt .csv .tsv, - (default) is text")
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("-c,--channel", arguments->channels, "repeatable; that channel alone (needed where rates differ)")
      ->option_text("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* signal = c->add_option("--signal", arguments->signal,
                                      "the recording that was analysed, for --residual and for the annotations that "
                                      ".edf and .bdf take along")
                            ->option_text("FILE");
  c->add_flag("--residual", arguments->residual, "the recording minus what was found")->needs(signal);
  c->add_flag("--force", arguments->force, "take --signal although it is another file than the result's");
  c->footer(
      "The signal is trend and atoms over the windows that were analysed; NaN elsewhere (0 in .wav, .edf and .bdf).\n"
      "The residual is of the recording as it was analysed: same channels, stretch, filters and rate.\n"
      "Examples:\n"
      "  envoi reconstruct night.json -c Cz -o cz.npy\n"
      "  envoi reconstruct night.json --signal night.edf --residual -o rest.edf");
  c->callback([arguments, &run] { run = [arguments] { return run_reconstruct(*arguments); }; });
}

}  // namespace envoi::command
