// What a run says of its grid.
#pragma once

#include "atoms/grid.hpp"
#include "envoi/decomposition.hpp"

namespace envoi::pursuit {

GridSummary summarise(const atoms::Grid& grid, double rate_hz);

}  // namespace envoi::pursuit
