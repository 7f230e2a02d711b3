// envoi reconstruct: the signal that a result stands for.
#include <algorithm>
#include <cmath>
#include <memory>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "outputs.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::string result;
  std::vector<std::string> outputs, channels;
};

// The channels of those names (none: all) that have samples. They go into one file, so they must have one rate.
std::vector<Channel> chosen(std::vector<Channel> channels, const std::vector<std::string>& names) {
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
    if (c.rate_hz != out.front().rate_hz)
      usage_error("channels of different rates do not go into one file; choose with --channel from: " + known);
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

int run_reconstruct(const Arguments& arguments) {
  const std::vector<std::string> outputs =
      arguments.outputs.empty() ? std::vector<std::string>{"-"} : arguments.outputs;
  for (const std::string& output : outputs) {
    const auto ends = [&](const char* ending) { return output.ends_with(ending); };
    if (output != "-" && !ends(".npy") && !ends(".wav") && !ends(".txt") && !ends(".csv") && !ends(".tsv"))
      usage_error(output + ": signals are written as .npy, .wav, .txt, .csv or .tsv; the ending chooses");
    require_different(output, arguments.result);
    core::AtomicFile::check(output);
  }
  std::vector<Channel> channels;
  try {
    channels = reconstruct(read_result(arguments.result));
  } catch (...) {
    return report_current_exception(arguments.result);
  }
  channels = chosen(std::move(channels), arguments.channels);
  if (channels.empty())
    throw Error(ErrorKind::bad_file, arguments.result + ": holds no segment of these channels, so there is no signal");
  align(channels);
  for (const std::string& output : outputs) write_signal(output, channels);
  return kDone;
}

}  // namespace

void add_reconstruct(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("reconstruct", "Chirplets to signal");
  c->add_option("RESULT", arguments->result, "JSON or NDJSON of `envoi analyze`; - is standard input")->required();
  c->add_option("-o,--output", arguments->outputs, "repeatable; .npy .wav .txt .csv .tsv, - (default) is text")
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("-c,--channel", arguments->channels, "repeatable; that channel alone (needed where rates differ)")
      ->option_text("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->footer(
      "The signal is trend and atoms over the windows that were analysed; NaN elsewhere (0 in .wav).\n"
      "Example:\n"
      "  envoi reconstruct night.json -c Cz -o cz.npy");
  c->callback([arguments, &run] { run = [arguments] { return run_reconstruct(*arguments); }; });
}

}  // namespace envoi::command
