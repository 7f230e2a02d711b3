// envoi analyze: recordings in, chirplets out.
#include <chrono>
#include <memory>
#include <set>

#include "analyze_options.hpp"
#include "annotation_outputs.hpp"
#include "command.hpp"
#include "core/atomic_file.hpp"
#include "core/thread_pool.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/results.hpp"
#include "input.hpp"
#include "outputs.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "run_log.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::vector<std::string> files;
  AnalyzeArguments options;
  std::vector<std::string> outputs, reports;
  std::vector<std::string> rules, annotations;
  std::optional<std::string> log;
  bool json = false, plan = false, quiet = false, verbose = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// How bad an exit code is, of several files'.
int worse(int a, int b) {
  const auto rank = [](int code) { return code == kFault ? 5 : code == kInterrupted ? 6 : code; };
  return rank(a) >= rank(b) ? a : b;
}

// Reads and conditions; with events, lays the windows about those of this recording.
Recording prepare(const std::string& path, AnalyzeOptions& options, bool quiet) {
  Recording recording = read_input(path, options.input, options.conditioning, quiet);
  if (options.events.empty()) return recording;
  const std::size_t said = recording.warnings.size();
  options.pursuit.starts_s = event_starts(recording, options.events);
  for (std::size_t i = said; i < recording.warnings.size(); ++i)
    if (!quiet) warn(recording.name + ": " + recording.warnings[i]);
  return recording;
}

// `recording` becomes what was analysed.
Decomposition analyze(const std::string& path, AnalyzeOptions options, const Arguments& arguments,
                      const AnnotationOutputs& annotations, Recording& recording) {
  recording = prepare(path, options, arguments.quiet);
  annotations.check(recording);
  ProgressLine line(recording.name, !arguments.quiet);
  if (line.shown())
    options.pursuit.progress = [&line](const Progress& progress) {
      line.update(progress);
      return true;
    };
  Decomposition result = decompose(recording, options.pursuit);
  result.input = options.input;
  result.conditioning = options.conditioning;
  result.events = options.events;
  if (!arguments.quiet)
    for (const std::string& warning : result.warnings) warn(recording.name + ": " + warning);
  result.warnings.insert(result.warnings.begin(), recording.warnings.begin(), recording.warnings.end());
  return result;
}

void verbose_line(const std::string& path, const Decomposition& result, double seconds) {
  double signal = 0;
  for (const Segment& s : result.segments)
    signal += static_cast<double>(s.samples) / result.channels.at(s.channel).rate_hz;
  char text[200];
  std::snprintf(text, sizeof text, "%zu channels, %zu segments, %zu atoms in %.3g s (%.3g x real time), %s",
                result.channels.size(), result.segments.size(), result.atoms.size(), seconds,
                seconds > 0 ? signal / seconds : 0.0, result.program.isa.c_str());
  say("envoi: " + path + ": " + text);
}

int run_plan(const Arguments& arguments, const AnalyzeOptions& options) {
  int worst = kDone;
  for (const std::string& path : arguments.files) {
    std::string text;
    try {
      AnalyzeOptions own = options;
      const Recording recording = prepare(path, own, arguments.quiet);
      text = plan_text(recording, own.pursuit);
    } catch (...) {
      worst = worse(worst, report_current_exception(path));
    }
    print(text);
  }
  return worst;
}

int run_analyze(const Arguments& arguments) {
  const AnalyzeOptions options = resolve(arguments.options);
  const std::vector<std::string>& files = arguments.files;
  if (std::set<std::string>(files.begin(), files.end()).count("-") > 0 && files.size() > 1)
    usage_error("-: standard input goes alone, without other files");
  if (arguments.plan) return run_plan(arguments, options);

  std::vector<std::string> patterns;
  bool json = arguments.json;
  for (const std::string& pattern : arguments.outputs)
    (pattern == "-" ? json = true : (patterns.push_back(pattern), true));
  for (const std::string& report : arguments.reports) {
    if (!report.ends_with(".html")) usage_error("--report: '" + one_line(report) + "' must end in .html");
    patterns.push_back(report);
  }
  if (json && files.size() > 1)
    usage_error("--json holds one result, and there are " + std::to_string(files.size()) +
                " inputs; use -o '{name}.json' or -o all.tsv");
  Outputs outputs(patterns, files);
  const AnnotationOutputs annotations(arguments.rules, arguments.annotations, files);
  if (json || outputs.empty()) core::AtomicFile::check("-");
  if (arguments.log)
    for (const std::string& file : files) require_different(*arguments.log, file);
  RunLog log(arguments.log);
  const unsigned threads = core::thread_count(options.pursuit.threads);

  int worst = kDone;
  std::vector<std::string> failed;
  for (const std::string& path : files) {
    const auto start = std::chrono::steady_clock::now();
    std::string text;
    int status = kDone;
    try {
      Recording recording;
      const Decomposition result = analyze(path, options, arguments, annotations, recording);
      outputs.write(path, result, recording);
      annotations.write(path, result);
      if (json)
        text = to_json(result);
      else if (outputs.empty())
        text = (files.size() > 1 && path != files.front() ? "\n" : "") + to_table(result, standard_output_columns());
      log.add(path, kDone, seconds_since(start), threads, &result);
      if (arguments.verbose) verbose_line(path, result, seconds_since(start));
    } catch (...) {
      status = report_current_exception(path);
      log.add(path, status, seconds_since(start), threads, nullptr);
      failed.push_back(path);
    }
    worst = worse(worst, status);
    print(text);
  }
  outputs.finish();
  if (!failed.empty() && files.size() > 1) {
    std::string list;
    for (const std::string& path : failed) list += (list.empty() ? "" : ", ") + path;
    say("envoi: " + std::to_string(failed.size()) + " of " + std::to_string(files.size()) + " files failed: " + list);
  }
  return worst;
}

}  // namespace

void add_analyze(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("analyze", "Recordings to chirplets")->alias("analyse");
  c->add_option("FILE", arguments->files, "EDF, BDF, WAV, FLAC, text, .npy, raw; - is standard input")->required();
  arguments->options.declare(*c);
  const char* g = "Running";
  c->add_flag("--plan", arguments->plan, "say what it would cost, and stop")->group(g);
  c->add_flag("-q,--quiet", arguments->quiet, "no progress and no warnings")->group(g);
  c->add_flag("-v,--verbose", arguments->verbose, "a line on each file")->group(g);
  c->add_option("--log", arguments->log, "append time, host, threads, duration and status of each file")
      ->group(g)
      ->option_text("FILE");
  g = "Output (default: a table)";
  c->add_option(
       "-o,--output", arguments->outputs,
       "repeatable; .json .ndjson .tsv .db .act.json. For several inputs: {name} in it, a folder/, or one .tsv")
      ->group(g)
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("--report", arguments->reports, "a page for a browser: .html, complete in itself")
      ->group(g)
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_flag("--json", arguments->json, "JSON on standard output, and nothing else there")
      ->group(g)
      ->excludes("--plan");
  g = "Atoms to annotations";
  c->add_option(
       "--annotate", arguments->rules,
       "repeatable; 'NAME: 11-16 Hz, 0.5-2 s, peak > 10 uV, > 5 %, -3..3 Hz/s, channel C*': what an atom must "
       "be, all of it. s is the full width at half maximum (2.355 times the duration), % of the window's energy")
      ->group(g)
      ->option_text("RULE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("--annotations", arguments->annotations,
                "repeatable, {name} for several inputs; .edf (EDF+), .tsv, .txt (labels of Audacity, Sonic Visualiser)")
      ->group(g)
      ->option_text("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->footer(
      "Examples:\n"
      "  envoi analyze night.edf --channels 'C3,C4' --band 0.5:40 --window 4 -o night.json\n"
      "  envoi analyze samples.txt --rate 200 --window whole --atoms 15\n"
      "  envoi analyze call.wav --band 8k:70k --durations 100u:2m\n"
      "  envoi analyze *.edf -o results/ -o all.tsv\n"
      "  envoi analyze night.edf --annotate 'spindle: 11-16 Hz, 0.5-2 s, peak > 10 uV' --annotations spindles.edf\n"
      "  envoi analyze other.edf --like night.json -o other.json");
  c->callback([arguments, &run] { run = [arguments] { return run_analyze(*arguments); }; });
}

}  // namespace envoi::command
