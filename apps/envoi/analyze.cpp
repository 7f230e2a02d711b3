// envoi analyze: recordings in, chirplets out.
#include "analyze.hpp"

#include <algorithm>
#include <memory>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "core/thread_pool.hpp"
#include "files.hpp"
#include "numbers.hpp"
#include "plan.hpp"

namespace envoi::command {
namespace {

std::string replaced(std::string text, const std::string& word, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += with.size())
    text.replace(at, word.size(), with);
  return text;
}

int run_plan(const Job& job) {
  int worst = kDone;
  for (const std::string& path : job.files) {
    std::string text;
    try {
      AnalyzeOptions own = job.options;
      const Recording recording = prepare_input(path, own, job.quiet);
      text = plan_text(recording, own.pursuit);
    } catch (...) {
      worst = worse(worst, report_current_exception(path));
    }
    print(text);
  }
  return worst;
}

// Outputs of the files of this run; names are compared over those of all shards.
void add_outputs(Job& job, const AnalyzeLine& line, const std::vector<std::string>& all, Shard shard) {
  const auto of_shard = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> out;
    for (const std::string& pattern : patterns)
      out.push_back(replaced(pattern, "{shard}", std::to_string(shard.index)));
    return out;
  };
  std::vector<std::string> patterns;
  job.json = line.json;
  for (const std::string& pattern : line.outputs) {
    if (pattern == "-") {
      job.json = true;
      continue;
    }
    const bool own = pattern.ends_with('/') || pattern.find("{name}") != std::string::npos;
    if (shard.count > 1 && !own && pattern.find("{shard}") == std::string::npos)
      usage_error(pattern + ": would be the output of every shard; put {shard} into it, or {name}");
    patterns.push_back(pattern);
  }
  if (job.resume && patterns.empty()) usage_error("--resume needs -o FILE; finished parts are kept in FILE.partial");
  for (const std::string& report : line.reports) {
    if (!report.ends_with(".html")) usage_error("--report: '" + one_line(report) + "' must end in .html");
    patterns.push_back(report);
  }
  if (job.json && all.size() > 1)
    usage_error("--json holds one result, and there are " + std::to_string(all.size()) +
                " inputs; use -o '{name}.json' or -o all.tsv");
  OutputPaths taken;
  job.outputs = std::make_unique<Outputs>(of_shard(patterns), all, taken, &job.files);
  job.annotations = std::make_unique<AnnotationOutputs>(line.rules, of_shard(line.annotations), all, taken);
  if (job.resume)
    for (const std::string& file : job.files) taken.require(PartialFile{job.outputs->first(file)}.path());
  if (line.log) taken.require(*line.log);
  if (job.json || job.outputs->empty()) core::AtomicFile::check("-");
}

}  // namespace

Job make_job(const AnalyzeLine& line) {
  Job job;
  job.options = resolve(line.options);
  job.quiet = line.quiet, job.verbose = line.verbose, job.resume = line.resume;
  const std::vector<std::string> all = input_files(line.files, line.files_from);
  const Shard shard = line.shard ? parse_shard(*line.shard) : Shard{};
  if (line.shard && all.front() == "-") usage_error("-: standard input cannot be shared out by --shard");
  job.files = shard_of(all, shard);
  const std::size_t jobs = line.jobs ? parse_count(*line.jobs, "--jobs") : 1;
  if (jobs > 1024) usage_error("--jobs: " + *line.jobs + " is more than 1024");
  job.at_once = static_cast<unsigned>(std::clamp<std::size_t>(job.files.size(), 1, jobs));
  job.options.pursuit.threads = std::max(1u, core::thread_count(job.options.pursuit.threads) / job.at_once);
  if (line.plan) return job;
  add_outputs(job, line, all, shard);
  if (line.log) Inputs(all).require_other(*line.log);
  job.log = std::make_unique<RunLog>(line.log);
  if (job.files.empty())
    say("envoi: shard " + *line.shard + " of " + std::to_string(all.size()) + " files holds none; nothing to do");
  return job;
}

int analyze_here(const AnalyzeLine& line) {
  Job job = make_job(line);
  return line.plan ? run_plan(job) : run_batch(job);
}

void add_analyze(CLI::App& app, Run& run) { add_analyze(app, run, analyze_here); }

void add_analyze(CLI::App& app, Run& run, std::function<int(const AnalyzeLine&)> how) {
  auto arguments = std::make_shared<AnalyzeLine>();
  CLI::App* c = app.add_subcommand("analyze", "Recordings to chirplets")->alias("analyse");
  c->add_option("FILE", arguments->files,
                "EDF, BDF, WAV, FLAC, text, .npy, raw and more; patterns ('night*/*.edf') too; - is standard input");
  arguments->options.declare(*c);
  const char* g = "Running";
  c->add_flag("--plan", arguments->plan, "say what it would cost, and stop")->group(g);
  c->add_flag("-q,--quiet", arguments->quiet, "no progress and no warnings")->group(g);
  c->add_flag("-v,--verbose", arguments->verbose, "a line on each file")->group(g);
  c->add_option("--log", arguments->log, "append time, host, threads, duration and status of each file")
      ->group(g)
      ->option_text("FILE");
  g = "Many files";
  c->add_option("--files-from", arguments->files_from,
                "paths, a line each, beside or instead of FILE; - is standard input")
      ->group(g)
      ->option_text("LIST");
  c->add_option("-j,--jobs", arguments->jobs, "so many files at a time; they share the threads (default: 1)")
      ->group(g)
      ->option_text("N");
  c->add_option("--shard", arguments->shard,
                "the I-th of N runs that share the files: of the sorted list I, I+N, ...; {shard} in -o becomes I")
      ->group(g)
      ->option_text("I/N");
  c->add_flag(
       "--resume", arguments->resume,
       "keep finished parts in FILE.partial beside -o FILE until the outputs are written, and continue from there "
       "what an interrupted run of the same line left")
      ->group("Running");
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
      "  envoi analyze *.edf -o results/ -o all.tsv --jobs 4 --resume\n"
      "  envoi analyze 'corpus/*.edf' -o results/ --shard $SLURM_ARRAY_TASK_ID/100\n"
      "  envoi analyze night.edf --annotate 'spindle: 11-16 Hz, 0.5-2 s, peak > 10 uV' --annotations spindles.edf\n"
      "  envoi analyze other.edf --like night.json -o other.json");
  c->callback([arguments, how, &run] { run = [arguments, how] { return how(*arguments); }; });
}

}  // namespace envoi::command
