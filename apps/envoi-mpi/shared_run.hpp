// `analyze` by several processes: rank 0 hands out tasks, takes part itself, and writes all outputs.
#pragma once

#include "analyze.hpp"
#include "ranks.hpp"

namespace envoi::command {

// On every rank, with the same line. Returns the same exit code on all.
int analyze_shared(const Ranks& ranks, const AnalyzeLine& line);

}  // namespace envoi::command
