// Workers that share out numbered tasks. Which worker takes which task is free, so tasks write only what is theirs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace envoi::core {

// Not for use from several threads at once, nor from inside a task.
class ThreadPool {
 public:
  // Throws Error (out_of_memory) if the system refuses so many threads.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // Runs task(i, worker) for i in [0, count), the caller being worker 0. Rethrows the first exception, after which
  // tasks not yet begun are left out.
  void run(std::size_t count, const std::function<void(std::size_t, unsigned)>& task);

 private:
  void join();
  void work(unsigned worker);
  void drain(unsigned worker);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(std::size_t, unsigned)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> generation_{0};
  std::atomic<unsigned> busy_{0};
  std::atomic<bool> stop_{false};
  bool spin_ = false;  // there is a processor for each worker
  std::exception_ptr failure_;
};

// The number of threads to use: `asked`, else ENVOI_THREADS, else the processors there are.
unsigned thread_count(unsigned asked);

}  // namespace envoi::core
