// Reading and conditioning in one step.
#include "input.hpp"

#include "command.hpp"
#include "envoi/signal.hpp"

namespace envoi::command {

Recording read_input(const std::string& path, const ReadOptions& input, const Conditioning& conditioning, bool quiet) {
  Recording recording = read(path, input, conditioning);
  if (!quiet)
    for (const std::string& warning : recording.warnings) warn(recording.name + ": " + warning);
  return recording;
}

}  // namespace envoi::command
