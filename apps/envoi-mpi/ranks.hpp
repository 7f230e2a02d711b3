// The processes of a run by MPI, and bytes between them. MPI is called from the main thread alone.
#pragma once

#include <optional>
#include <string>

namespace envoi::command {

class Ranks {
 public:
  Ranks(int* argc, char*** argv);  // begins MPI
  ~Ranks();                        // ends it
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int on_this_host() const { return on_host_; }

  // Any length.
  void send(int to, const std::string& bytes) const;
  std::string receive(int from) const;
  std::optional<int> waiting() const;  // a rank whose bytes have come, if any

  int largest(int value) const;  // of all ranks

  [[noreturn]] void abort(int code) const;  // of all ranks, where nothing else is left

 private:
  int rank_ = 0, size_ = 1, on_host_ = 1;
};

}  // namespace envoi::command
