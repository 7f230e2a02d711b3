// Files shared out among threads, and what is said and written of each.
#include "batch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "command.hpp"
#include "core/thread_pool.hpp"
#include "envoi/results.hpp"
#include "results/quantity.hpp"

namespace envoi::command {
namespace {

void verbose_line(const std::string& path, const Decomposition& result, double seconds) {
  double signal = 0;
  for (const Segment& s : result.segments)
    signal += static_cast<double>(s.samples) / result.channels.at(s.channel).rate_hz;
  char text[200];
  std::snprintf(text, sizeof text, " in %.3g s (%.3g x real time), %s", seconds, seconds > 0 ? signal / seconds : 0.0,
                result.program.isa.c_str());
  say("envoi: " + path + ": " + results::counted(result.channels.size(), "channel") + ", " +
      results::counted(result.segments.size(), "segment") + ", " + results::counted(result.atoms.size(), "atom") +
      text);
}

}  // namespace

int worse(int a, int b) {
  const auto rank = [](int code) { return code == kFault ? 5 : code == kInterrupted ? 6 : code; };
  return rank(a) >= rank(b) ? a : b;
}

FileAnalysis Job::file(std::size_t i) const {
  FileAnalysis out;
  out.path = files.at(i);
  out.options = options;
  out.quiet = quiet;
  out.progress = at_once == 1;
  out.whole_recording = outputs->needs_samples() || !annotations->empty();
  if (resume) out.partial = PartialFile{outputs->first(out.path), 0};
  out.check = [this](const Recording& recording) { annotations->check(recording); };
  return out;
}

Batch::Batch(Job& job)
    : job_(job),
      status_(job.files.size(), -1),
      texts_(job.files.size()),
      line_(std::to_string(job.files.size()) + " files", !job.quiet && job.at_once > 1) {}

void Batch::succeeded(std::size_t i, const Analysed& analysed, double seconds) {
  const std::string& path = job_.files[i];
  const Decomposition& result = analysed.result;
  std::string text;
  try {
    job_.outputs->write(path, result, analysed.recording);
    job_.annotations->write(path, result, job_.quiet);
    if (job_.json)
      text = to_json(result);
    else if (job_.outputs->empty())
      text = (i > 0 ? "\n" : "") + to_table(result, standard_output_columns());
  } catch (...) {
    return failed(i, seconds);
  }
  job_.log->add(path, kDone, seconds, core::thread_count(job_.options.pursuit.threads), &result);
  if (job_.verbose) verbose_line(path, result, seconds);
  done(i, kDone, std::move(text));
}

void Batch::failed(std::size_t i, double seconds) {
  const Failure failure = current_failure(job_.files[i]);
  failed(i, failure.status, failure.line, seconds);
}

void Batch::failed(std::size_t i, int status, const std::string& message, double seconds) {
  if (!message.empty()) say(message);
  job_.log->add(job_.files[i], status, seconds, core::thread_count(job_.options.pursuit.threads), nullptr);
  done(i, status, "");
}

void Batch::done(std::size_t i, int status, std::string text) {
  const std::lock_guard lock(mutex_);
  status_[i] = status;
  texts_[i] = std::move(text);
  ++done_;
  for (; printed_ < texts_.size() && status_[printed_] >= 0; ++printed_) print(std::exchange(texts_[printed_], ""));
  line_.update(static_cast<double>(done_) / static_cast<double>(status_.size()));
}

int Batch::finish() {
  job_.outputs->finish(job_.files);
  if (job_.resume)
    for (std::size_t i = 0; i < job_.files.size(); ++i)
      if (status_[i] == kDone) remove_partial_files(job_.outputs->first(job_.files[i]));
  int worst = kDone;
  std::size_t count = 0;
  std::string list;
  for (std::size_t i = 0; i < status_.size(); ++i) {
    if (status_[i] == kDone) continue;
    worst = worse(worst, status_[i]);
    list += (count++ == 0 ? "" : ", ") + job_.files[i];
  }
  if (count > 0 && job_.files.size() > 1)
    say("envoi: " + std::to_string(count) + " of " + std::to_string(job_.files.size()) + " files failed: " + list);
  return worst;
}

int run_batch(Job& job) {
  using Clock = std::chrono::steady_clock;
  Batch batch(job);
  core::ThreadPool pool(static_cast<unsigned>(std::clamp<std::size_t>(job.files.size(), 1, job.at_once)));
  pool.run(job.files.size(), [&](std::size_t i, unsigned) {
    const auto start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    Analysed analysed;
    try {
      analysed = analyze_file(job.file(i));
    } catch (...) {
      return batch.failed(i, seconds());
    }
    batch.succeeded(i, analysed, seconds());
  });
  return batch.finish();
}

}  // namespace envoi::command
