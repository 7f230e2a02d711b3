// Look-ups on plain recordings.
#include "envoi/recording.hpp"

#include "envoi/error.hpp"

namespace envoi {

const Channel& Recording::channel(std::string_view wanted) const {
  std::string names;
  for (const Channel& c : channels) {
    if (c.name == wanted) return c;
    names += (names.empty() ? "" : ", ") + c.name;
  }
  throw Error(ErrorKind::bad_argument,
              name + ": no channel '" + std::string(wanted) + "'; there are: " + (names.empty() ? "none" : names));
}

}  // namespace envoi
