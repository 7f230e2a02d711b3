// envoi convert: a result from one format into another.
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
  std::string result;
  std::vector<std::string> outputs;
  std::string signal;
  bool force = false;
};

int run_convert(const Arguments& arguments) {
  OutputPaths taken;
  for (const std::string& output : arguments.outputs) {
    if (!is_result_ending(output)) usage_error(output + ": " + result_endings() + "; the ending chooses");
    require_different(output, arguments.result);
    if (!arguments.signal.empty()) require_different(output, arguments.signal);
    taken.require(output);
    core::AtomicFile::check(output);
  }
  Decomposition result;
  try {
    result = read_result(arguments.result);
  } catch (...) {
    return report_current_exception(arguments.result);
  }
  // What a result of ours says was said when it was made.
  if (result.program.version.empty())
    for (const std::string& warning : result.warnings) warn(result.source.name + ": " + warning);
  std::vector<Channel> signal;
  if (!arguments.signal.empty()) signal = read_source(arguments.signal, result, arguments.force).channels;
  for (const std::string& output : arguments.outputs) write_result(output, result, signal);
  return kDone;
}

}  // namespace

void add_convert(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("convert", "Results from one format into another");
  c->add_option("RESULT", arguments->result,
                "a result in any format but .tsv, told by its content; - is standard input")
      ->required();
  c->add_option("OUT", arguments->outputs, "one or more; .json .ndjson .tsv .db .book .act.json, - is JSON")
      ->required();
  c->add_option("--signal", arguments->signal, "the recording that was analysed; a book (.db) holds its samples then")
      ->option_text("FILE");
  c->add_flag("--force", arguments->force, "take --signal although it is another file than the result's");
  c->footer(
      "Formats of other programs: .db and .book are the SQLite book of matching pursuit that Svarog reads, .act.json "
      "is\n"
      "ACT-lib's (one channel, atoms of phase 0). What a format cannot hold is refused, or stands in its "
      "documentation.\n"
      "Examples:\n"
      "  envoi convert night.json night.db\n"
      "  envoi convert book.db atoms.tsv\n"
      "  envoi analyze eeg.txt --rate 256 --grid act -o - | envoi convert - eeg.act.json");
  c->callback([arguments, &run] { run = [arguments] { return run_convert(*arguments); }; });
}

}  // namespace envoi::command
