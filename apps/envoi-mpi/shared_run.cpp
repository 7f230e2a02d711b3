// Ranks above 0 ask, compute and report. On rank 0 the main thread answers them while a second one computes; what comes
// back goes through the same Batch as in a run without MPI, so that the outputs are the same bytes.
#include "shared_run.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "core/thread_pool.hpp"
#include "envoi/results.hpp"
#include "results/parse.hpp"
#include "tasks.hpp"

namespace envoi::command {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of this rank, where the line says nothing: the processors that it is bound to, or its share of the host's.
unsigned own_threads(const Ranks& ranks) {
  unsigned count = core::thread_count(0);
#if defined(__linux__)
  cpu_set_t bound;
  if (::sched_getaffinity(0, sizeof bound, &bound) == 0) {
    const auto few = static_cast<unsigned>(CPU_COUNT(&bound));
    if (few < count && few > 0) return few;
  }
#endif
  return std::max(1u, count / static_cast<unsigned>(ranks.on_this_host()));
}

// The file of a task as analyze_file wants it. `partial`: of the file's output, or empty.
FileAnalysis file_of(const Task& task, const std::string& path, const std::string& partial,
                     const AnalyzeOptions& options, bool quiet, std::map<std::string, std::string>& parts) {
  FileAnalysis file;
  file.path = path;
  file.options = options;
  file.progress = false;
  file.whole_recording = false;
  file.quiet = quiet || task.shares > 1;  // what divided files say is said when they are put together
  if (!partial.empty()) file.partial = PartialFile{partial, task.shares > 1 ? task.share + 1 : 0};
  if (task.shares > 1) {
    file.parts.wanted = [task](std::size_t part) { return part % task.shares == task.share; };
    file.told = [&parts](const std::string& name, const std::string& bytes) { parts[name] = bytes; };
  }
  return file;
}

Report do_task(const Task& task, const FileAnalysis& file, std::map<std::string, std::string>& parts) {
  Report report;
  report.task = task;
  const auto start = Clock::now();
  try {
    const Analysed analysed = analyze_file(file);
    if (task.shares > 1)
      report.parts = std::move(parts);
    else
      report.json = to_json(analysed.result);
  } catch (...) {
    const Failure failure = current_failure(file.path);
    report.status = failure.status == kDone ? kFault : failure.status;
    report.failure = failure.line;
  }
  report.seconds = seconds_since(start);
  return report;
}

// Rank 0.
class Leader {
 public:
  Leader(const Ranks& ranks, Job& job) : ranks_(ranks), job_(job), batch_(job), files_(job.files.size()) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& path : job.files) {
      std::error_code failed;
      const std::uintmax_t size = std::filesystem::file_size(path, failed);
      sizes.push_back(failed ? 0 : size);
    }
    for (const Task& task : tasks_of(sizes, static_cast<std::size_t>(ranks.size()))) tasks_.push_back(task);
  }

  int run() {
    std::thread own([this] { compute(); });
    try {
      serve();
    } catch (...) {
      ranks_.abort(report_current_exception());
    }
    {
      const std::lock_guard lock(mutex_);
      served_ = true;
    }
    more_.notify_one();
    own.join();
    if (fault_) std::rethrow_exception(fault_);
    return batch_.finish();
  }

 private:
  struct FileState {
    std::uint64_t shares_done = 0;
    bool failed = false;
    double seconds = 0;
    std::map<std::string, std::string> parts;
  };

  std::optional<Task> next() {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty() || fault_) return std::nullopt;
    const Task task = tasks_.front();
    tasks_.pop_front();
    return task;
  }
  std::string partial(const Task& task) const { return job_.resume ? job_.outputs->first(job_.files[task.file]) : ""; }

  // Answers the other ranks until all have been told that there is nothing left.
  void serve() {
    for (int left = ranks_.size() - 1; left > 0;) {
      const std::optional<int> from = ranks_.waiting();
      if (!from) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      const std::string bytes = ranks_.receive(*from);
      // The next task first: the rank need not wait until its report is dealt with.
      if (const std::optional<Task> task = next()) {
        ranks_.send(*from, to_bytes(*task) + job_.files[task->file] + '\0' + partial(*task));
      } else {
        ranks_.send(*from, "");
        --left;
      }
      if (bytes.empty()) continue;
      {
        const std::lock_guard lock(mutex_);
        reports_.push_back(report_of(bytes));
      }
      more_.notify_one();
    }
  }

  // Rank 0's own share of the work; reports come before tasks.
  void compute() {
    for (;;) {
      std::optional<Report> report;
      {
        std::unique_lock lock(mutex_);
        more_.wait(lock, [this] { return served_ || !reports_.empty() || (!tasks_.empty() && !fault_); });
        if (!reports_.empty()) {
          report = std::move(reports_.front());
          reports_.pop_front();
        } else if (served_ && (tasks_.empty() || fault_)) {
          return;
        }
      }
      if (!report) {
        const std::optional<Task> task = next();
        if (!task) continue;
        std::map<std::string, std::string> parts;
        report = do_task(*task, file_of(*task, job_.files[task->file], partial(*task), job_.options, job_.quiet, parts),
                         parts);
      }
      try {
        take(std::move(*report));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!fault_) fault_ = std::current_exception();
      }
    }
  }

  void take(Report report) {
    const std::size_t i = report.task.file;
    FileState& file = files_[i];
    file.seconds += report.seconds;
    ++file.shares_done;
    if (file.failed) return;
    if (report.status != kDone) {
      file.failed = true;
      return batch_.failed(i, static_cast<int>(report.status), report.failure, file.seconds);
    }
    file.parts.merge(report.parts);
    if (file.shares_done < report.task.shares) return;
    Analysed analysed;
    try {
      if (report.task.shares > 1) {
        FileAnalysis whole = job_.file(i);
        whole.progress = false;
        whole.partial.reset();
        whole.parts.recall = [&file](const std::string& name) {
          const auto known = file.parts.find(name);
          return known == file.parts.end() ? std::nullopt : std::optional(known->second);
        };
        analysed = analyze_file(whole);
      } else {
        analysed.result = results::parse(report.json, job_.files[i]);
        AnalyzeOptions options = job_.options;
        if (job_.outputs->needs_samples()) analysed.recording = prepare_input(job_.files[i], options, true);
      }
    } catch (...) {
      file.failed = true;
      return batch_.failed(i, file.seconds);
    }
    file.parts.clear();
    batch_.succeeded(i, analysed, file.seconds);
  }

  const Ranks& ranks_;
  Job& job_;
  Batch batch_;
  std::vector<FileState> files_;
  std::mutex mutex_;  // of what follows
  std::condition_variable more_;
  std::deque<Task> tasks_;
  std::deque<Report> reports_;
  bool served_ = false;  // no report will come any more
  std::exception_ptr fault_;
};

// Ranks above 0.
void follow(const Ranks& ranks, const AnalyzeOptions& options, bool quiet) {
  std::string report;  // none yet
  for (;;) {
    ranks.send(0, report);
    const std::string message = ranks.receive(0);
    if (message.empty()) return;
    const Task task = task_of(message);
    const std::size_t at = sizeof(Task), end = message.find('\0', at);
    std::map<std::string, std::string> parts;
    report = to_bytes(do_task(
        task, file_of(task, message.substr(at, end - at), message.substr(end + 1), options, quiet, parts), parts));
  }
}

}  // namespace

int analyze_shared(const Ranks& ranks, const AnalyzeLine& line) {
  if (ranks.size() == 1) return analyze_here(line);
  const bool leads = ranks.rank() == 0;
  AnalyzeLine own = line;
  if (!own.options.threads && std::getenv("ENVOI_THREADS") == nullptr)
    own.options.threads = std::to_string(own_threads(ranks));
  Job job;
  int status = kDone;
  bool nothing = false;
  if (leads) {
    try {
      if (line.jobs) usage_error("--jobs: with MPI every rank takes a file at a time; leave it out");
      if (std::find(line.files.begin(), line.files.end(), "-") != line.files.end())
        usage_error("-: standard input cannot be shared by several processes; name a file");
      if (line.plan) {
        status = analyze_here(line);
        nothing = true;
      } else {
        job = make_job(own);
        job.at_once = static_cast<unsigned>(ranks.size());
        nothing = job.files.empty();
      }
    } catch (...) {
      status = report_current_exception();
      nothing = true;
    }
  }
  if (ranks.largest(nothing ? 1 : 0) != 0) return ranks.largest(status);
  if (!leads) {
    try {
      job.options = resolve(own.options);
    } catch (...) {
      status = report_current_exception();
    }
  }
  if (const int worst = ranks.largest(status); worst != kDone) return worst;
  try {
    if (leads)
      status = Leader(ranks, job).run();
    else
      follow(ranks, job.options, line.quiet);
  } catch (...) {
    // All have been told that there is nothing left, or this is a rank that cannot go on.
    status = report_current_exception();
    if (!leads) ranks.abort(status);
  }
  return ranks.largest(status);
}

}  // namespace envoi::command
