// Hands the line to a subcommand and turns what comes back into an exit code.
#include "program.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "command.hpp"
#include "commit.hpp"
#include "envoi/pursuit.hpp"
#include "signal/hdf5.hpp"

namespace envoi::command {
namespace {

// Insertions, deletions and replacements that turn one word into the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string closest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known)
    if (const std::size_t d = distance(word, candidate); d < least) least = d, best = candidate;
  return best;
}

const CLI::App* chosen(const CLI::App& app) {
  const auto used = app.get_subcommands();
  return used.empty() ? &app : used.front();
}

std::string usage_fault(const CLI::App& app, const CLI::ParseError& fault) {
  const CLI::App* at = chosen(app);
  const std::string help = app.get_name() + (at == &app ? "" : " " + at->get_name()) + " --help";
  std::string line = fault.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr) {
    const auto extras = app.remaining(true);
    const std::string word = extras.empty() ? "" : extras.front().substr(0, extras.front().find('='));
    const bool option = word.size() > 1 && word[0] == '-';
    std::vector<std::string> known;
    if (option) {
      for (const CLI::Option* o : at->get_options())
        for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
    } else {
      for (const CLI::App* sub : app.get_subcommands(nullptr)) known.push_back(sub->get_name());
    }
    line = (option ? "unknown option '" : at == &app ? "unknown command '" : "unexpected argument '") + word + "'";
    if (const std::string hint = closest(word, known); !hint.empty() && (option || at == &app))
      line += "; did you mean " + hint + "?";
  }
  return "envoi: " + line + " (see " + help + ")";
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  const auto print_once = [&](const std::string& text) {
    if (program.speaks) print(text);
    return kDone;
  };
  CLI::App app("Takes signals apart into chirplets: adaptive matching pursuit with continuous parameters.",
               program.name);
  app.set_version_flag("--version", "envoi " + version() + " (commit " + kCommit + ")");
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  app.footer(
      "Examples:\n"
      "  envoi demo                                      see it work on half a minute of made EEG\n"
      "  envoi analyze night.edf                         chirplets of every channel, as a table\n"
      "  envoi analyze night.edf --channels Cz -o cz.json --band 0.5:40 --atoms 20\n"
      "  envoi analyze samples.txt --rate 200            one value a line\n"
      "  envoi reconstruct cz.json -o model.npy          the signal these chirplets stand for\n"
      "  envoi search atoms.npy signals.npy -k 3         the best atoms of a stored dictionary\n"
      "\n"
      "Numbers take SI endings: 20k, 1.5M, 50m, 10u. '-' is standard input or output.\n"
      "Exit status: 0 done, 2 bad usage, 3 bad input, 4 device, 130 interrupted, 1 a fault of the program.");
  signal::leave_hdf5_open_at_exit();
  Run chosen_run;
  add_analyze(app, chosen_run, program.analyze);
  add_reconstruct(app, chosen_run);
  add_convert(app, chosen_run);
  add_plot(app, chosen_run);
  add_search(app, chosen_run);
  add_synth(app, chosen_run);
  add_demo(app, chosen_run);
  add_devices(app, chosen_run);
  add_bench(app, chosen_run);
  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      const CLI::App* of = chosen(app);
      return print_once(of == &app ? app.help() : of->help(program.name));
    } catch (const CLI::CallForVersion& version_text) {
      return print_once(std::string(version_text.what()) + "\n");
    } catch (const CLI::ParseError& fault) {
      if (program.speaks) say(usage_fault(app, fault));
      return kUsage;
    }
    if (!chosen_run) return print_once(app.help());
    if (!program.speaks && !app.got_subcommand("analyze")) return kDone;
    return chosen_run();
  } catch (...) {
    return report_current_exception();
  }
}

}  // namespace envoi::command
