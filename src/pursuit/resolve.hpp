// Defaults filled in and options judged, for one channel; then the grid they ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "atoms/grid.hpp"
#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi::pursuit {

struct Window {
  std::int64_t begin = 0, size = 0;   // samples
  double owns_from = 0, owns_to = 0;  // samples of the channel: centres in [from, to) are this window's
};

struct Resolved {
  PursuitOptions options;  // every default filled in
  std::vector<Window> windows;
  std::int64_t window = 0;   // samples of a full one
  std::int64_t skipped = 0;  // samples at the end that no window covers
};

// Throws Error: bad_argument for options that cannot be met, bad_file for a channel too short to analyse.
Resolved resolve(const Channel& channel, const PursuitOptions& options);

// Grid of the resolved options for segments of `samples`. Throws Error (bad_argument) if it has no atom, or over 1e10
// without `force`.
atoms::Grid grid_for(const Channel& channel, const PursuitOptions& resolved, std::int64_t samples,
                     bool limit_size = true);

}  // namespace envoi::pursuit
