// Re-referencing, filters and resampling of a recording in memory.
#include "envoi/error.hpp"
#include "envoi/signal.hpp"

namespace envoi {

void condition(Recording&, const Conditioning& conditioning) {
  if (!conditioning.empty()) throw Error(ErrorKind::bad_argument, "this build cannot filter");
}

}  // namespace envoi
