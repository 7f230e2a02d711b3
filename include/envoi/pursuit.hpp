// Matching pursuit with chirplets whose parameters are continuous: search, refine, subtract, repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "envoi/decomposition.hpp"
#include "envoi/export.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi {

// Takes a channel, or every channel of a recording, apart.
// Thread safety: may be called from several threads at once. Deterministic: the same input and options give the same
// bits on the same instruction set, whatever `threads` is.
// Throws Error: bad_argument (an option that cannot be met), numerical (infinite samples), out_of_memory,
// no_device, cancelled (the progress callback returned false).
ENVOI_API Decomposition decompose(const Channel& channel, const PursuitOptions& options = {});
ENVOI_API Decomposition decompose(const Recording& recording, const PursuitOptions& options = {});

// Sentences about atoms that have the longest or shortest duration that was sought, where these are many: they say that
// the range is too narrow, not how long those atoms are.
ENVOI_API std::vector<std::string> limit_warnings(const Decomposition& result);

// What a run would cost, without running it.
struct Plan {
  PursuitOptions options;  // resolved: every default filled in
  GridSummary grid;
  std::uint64_t samples_per_segment = 0;
  std::uint64_t segments = 0;
  double operations_per_search = 0;  // floating-point operations
  // How the scales are searched, in their order: so many together, and in what way.
  struct Search {
    std::uint64_t scales = 0;
    std::string way;
  };
  std::vector<Search> search;
  double memory_bytes = 0;      // for tables and scratch, the recording not counted
  double expected_seconds = 0;  // the whole run, on this machine, if every segment takes all its atoms
};

// Throws Error (bad_argument) as decompose would, except for the limit of 1e10 atoms.
ENVOI_API Plan plan(const Channel& channel, const PursuitOptions& options = {});

struct DeviceInfo {
  std::string name;    // "cpu"
  std::string detail;  // processor name, instruction set chosen and why
};
ENVOI_API std::vector<DeviceInfo> devices();
ENVOI_API std::string isa_name();  // instruction set in use: "avx2", "avx3", "sse4", "neon", ...
ENVOI_API std::string version();   // "0.1.0"

}  // namespace envoi
