// MPI counts in int: long messages go in pieces.
#include "ranks.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace envoi::command {
namespace {

constexpr int kLength = 1, kBytes = 2;  // tags
constexpr std::size_t kPiece = std::size_t{1} << 30;

// Most libraries wait by spinning, which takes a processor from the ranks that compute.
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

template <class Move>
void in_pieces(std::size_t bytes, const Move& move) {
  for (std::size_t at = 0; at < bytes; at += kPiece) move(at, static_cast<int>(std::min(kPiece, bytes - at)));
}

}  // namespace

Ranks::Ranks(int* argc, char*** argv) {
  int given = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_host_);
  MPI_Comm_free(&host);
}

Ranks::~Ranks() { MPI_Finalize(); }

void Ranks::send(int to, const std::string& bytes) const {
  const std::uint64_t length = bytes.size();
  MPI_Send(&length, 1, MPI_UINT64_T, to, kLength, MPI_COMM_WORLD);
  in_pieces(bytes.size(), [&](std::size_t at, int count) {
    MPI_Send(bytes.data() + at, count, MPI_BYTE, to, kBytes, MPI_COMM_WORLD);
  });
}

std::string Ranks::receive(int from) const {
  std::uint64_t length = 0;
  int there = 0;
  for (;;) {
    MPI_Iprobe(from, kLength, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there != 0) break;
    rest();
  }
  MPI_Recv(&length, 1, MPI_UINT64_T, from, kLength, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::string bytes(length, '\0');
  in_pieces(bytes.size(), [&](std::size_t at, int count) {
    MPI_Recv(bytes.data() + at, count, MPI_BYTE, from, kBytes, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  return bytes;
}

std::optional<int> Ranks::waiting() const {
  int there = 0;
  MPI_Status status{};
  MPI_Iprobe(MPI_ANY_SOURCE, kLength, MPI_COMM_WORLD, &there, &status);
  return there != 0 ? std::optional(status.MPI_SOURCE) : std::nullopt;
}

int Ranks::largest(int value) const {
  int out = value, done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) rest();
  return out;
}

void Ranks::abort(int code) const {
  MPI_Abort(MPI_COMM_WORLD, code);
  ::_exit(code);
}

}  // namespace envoi::command
