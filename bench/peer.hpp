// What rows that stand beside OpenBLAS's share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench.hpp"

namespace bench {

std::vector<unsigned> thread_counts();  // one, and all processors
std::string threads_text(unsigned threads);

// Reads so many bytes with so many threads, as a sum of words.
void read_all(const void* data, std::size_t bytes, unsigned threads);

// Times of ours and the peer's, and their ratio.
Row& against_peer(Row& row, const Paired& times, unsigned threads, const std::string& calls = "sgemv+isamax");

// Every core type that OpenBLAS might have been told to use here: the best is the peer. Its idle threads are made to
// sleep at once, or they would spin on our time.
Rows ask_beside_peer(const std::string& question);

}  // namespace bench
