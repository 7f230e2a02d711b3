// Workers that share out numbered tasks.
#include "core/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "envoi/error.hpp"

namespace envoi::core {
namespace {

// The next job often follows within microseconds, sooner than a sleeping thread wakes: look for it for a while first.
template <class Ready>
bool soon(bool spin, const Ready& ready) {
  constexpr auto kWhile = std::chrono::microseconds(60);
  if (!spin) return ready();
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() - start < kWhile);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads) : spin_(threads <= std::thread::hardware_concurrency()) {
  try {
    for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::exception&) {
    const std::size_t started = workers_.size();
    join();
    throw Error(ErrorKind::out_of_memory, "only " + std::to_string(started + 1) + " of " + std::to_string(threads) +
                                              " threads could be started; use a smaller --threads");
  }
}

ThreadPool::~ThreadPool() { join(); }

void ThreadPool::join() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::drain(unsigned worker) {
  for (std::size_t i; (i = next_.fetch_add(1)) < count_;) {
    try {
      (*task_)(i, worker);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
  }
}

void ThreadPool::work(unsigned worker) {
  std::size_t seen = 0;
  for (;;) {
    const auto called = [&] { return stop_ || generation_ != seen; };
    if (!soon(spin_, called)) {
      std::unique_lock lock(mutex_);
      start_.wait(lock, called);
    }
    if (stop_) return;
    seen = generation_;
    drain(worker);
    if (--busy_ == 0) {
      const std::lock_guard lock(mutex_);  // not between the caller's look and its sleep
      done_.notify_one();
    }
  }
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t, unsigned)>& task) {
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    next_ = 0;
    failure_ = nullptr;
    busy_ = static_cast<unsigned>(workers_.size());
    ++generation_;
  }
  start_.notify_all();
  drain(0);
  const auto done = [&] { return busy_ == 0; };
  if (!soon(spin_, done)) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }
  if (failure_) std::rethrow_exception(failure_);
}

unsigned thread_count(unsigned asked) {
  constexpr unsigned kMost = 1024;
  if (asked > kMost) throw Error(ErrorKind::bad_argument, "at most 1024 threads; use a smaller --threads");
  if (asked > 0) return asked;
  if (const char* text = std::getenv("ENVOI_THREADS"); text && *text) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value < 1 || value > static_cast<long>(kMost)) {
      throw Error(ErrorKind::bad_argument,
                  "ENVOI_THREADS is '" + std::string(text) + "'; set it to a whole number from 1 to 1024");
    }
    return static_cast<unsigned>(value);
  }
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMost);
}

}  // namespace envoi::core
