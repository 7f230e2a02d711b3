// envoi search: the best atoms of a stored dictionary for signals.
#include "envoi/search.hpp"

#include <memory>
#include <optional>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "core/thread_pool.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "numbers.hpp"
#include "outputs.hpp"
#include "progress.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::string dictionary, signals;
  std::string k = "1", precision = "exact";
  std::optional<std::string> threads;
  std::vector<std::string> outputs;
  bool normalize = false, json = false, quiet = false;
};

SearchOptions options_of(const Arguments& arguments) {
  SearchOptions options;
  options.k = parse_count(arguments.k, "-k");
  options.normalize = arguments.normalize;
  if (arguments.precision == "double") {
    options.precision = Precision::double_;
  } else if (arguments.precision != "exact") {
    usage_error("--precision: '" + one_line(arguments.precision) + "' is not known; there are: exact, double");
  }
  if (arguments.threads) {
    const std::size_t count = parse_count(*arguments.threads, "--threads");
    if (count > 1024) usage_error("--threads: " + *arguments.threads + " is more than 1024");
    options.threads = static_cast<unsigned>(count);
  }
  core::thread_count(options.threads);  // says what is wrong with ENVOI_THREADS
  return options;
}

void check_outputs(const Arguments& arguments) {
  for (const std::string& path : arguments.outputs) {
    if (path != "-" && !path.ends_with(".json") && !path.ends_with(".ndjson") && !path.ends_with(".tsv"))
      usage_error(path + ": results are written as .json, .ndjson or .tsv; the ending chooses");
    require_different(path, arguments.dictionary);
    require_different(path, arguments.signals);
    core::AtomicFile::check(path);
  }
  if (arguments.outputs.empty() || arguments.json) core::AtomicFile::check("-");
}

int run_search(const Arguments& arguments) {
  SearchOptions options = options_of(arguments);
  if (arguments.dictionary == "-" && arguments.signals == "-")
    usage_error("-: standard input is the dictionary or the signals, not both");
  check_outputs(arguments);

  const Dictionary dictionary = open_dictionary(arguments.dictionary);
  const SignalRows signals = read_signal_rows(arguments.signals);
  if (signals.samples != dictionary.samples())
    throw Error(ErrorKind::bad_file, signals.name + ": the signals have " + std::to_string(signals.samples) +
                                         " samples, the atoms of " + one_line(arguments.dictionary) + " have " +
                                         std::to_string(dictionary.samples()) +
                                         "; rows of both files must be of one length");
  if (options.k > dictionary.atoms())
    usage_error("-k " + arguments.k + " is more than the " + std::to_string(dictionary.atoms()) + " atoms of " +
                one_line(arguments.dictionary));

  SearchResult result;
  {
    ProgressLine line(arguments.dictionary, !arguments.quiet);
    if (line.shown())
      options.progress = [&line](const SearchProgress& progress) {
        line.update(static_cast<double>(progress.atoms_done) / static_cast<double>(progress.atoms));
        return true;
      };
    result = search(dictionary, std::span<const double>(signals.values), options);
  }
  bool json = arguments.json;
  for (const std::string& path : arguments.outputs) {
    if (path == "-")
      json = true;
    else
      write_result(path, result);
  }
  if (json)
    print(to_json(result));
  else if (arguments.outputs.empty())
    print(to_table(result));
  return kDone;
}

}  // namespace

void add_search(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("search", "The best atoms of any stored dictionary");
  c->add_option("DICT", arguments->dictionary, ".npy, atoms x samples; may be larger than memory")->required();
  c->add_option("SIGNALS", arguments->signals, ".npy, signals x samples, or one signal; - is standard input")
      ->required();
  c->add_option("-k,--best", arguments->k, "atoms for each signal, best first (1)")->option_text("N");
  c->add_flag("--normalize", arguments->normalize, "divide each score by its atom's norm");
  const char* g = "Running";
  c->add_option("-t,--threads", arguments->threads, "default: all processors; the result does not depend on it")
      ->group(g)
      ->option_text("N");
  c->add_option("--precision", arguments->precision,
                "exact (low-precision screen, certified in fp64; default) or double (no screen)")
      ->group(g)
      ->option_text("WORD");
  c->add_flag("-q,--quiet", arguments->quiet, "no progress")->group(g);
  g = "Output (default: a table)";
  c->add_option("-o,--output", arguments->outputs, "repeatable; .json .ndjson .tsv")
      ->group(g)
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_flag("--json", arguments->json, "JSON on standard output, and nothing else there")->group(g);
  c->footer(
      "A score is the signed product of atom and signal in fp64; the best has the largest magnitude, the lowest index\n"
      "where magnitudes agree to 1e-12. Atoms and signals are rows, counted from 0: f4, f8 or whole numbers, in any "
      "byte\n"
      "order, by rows or (slower) by columns.\n"
      "Examples:\n"
      "  envoi search atoms.npy signals.npy\n"
      "  envoi search atoms.npy signals.npy -k 10 --normalize -o best.tsv");
  c->callback([arguments, &run] { run = [arguments] { return run_search(*arguments); }; });
}

}  // namespace envoi::command
