// Reading and conditioning in one step.
#include "input.hpp"

#include "command.hpp"
#include "envoi/signal.hpp"

namespace envoi::command {

Recording read_input(const std::string& path, const ReadOptions& input, const Conditioning& conditioning, bool quiet) {
  Recording recording = read(path, input);
  std::size_t said = 0;
  const auto say_warnings = [&] {
    for (; said < recording.warnings.size(); ++said)
      if (!quiet) warn(recording.name + ": " + recording.warnings[said]);
  };
  say_warnings();  // before what may throw
  condition(recording, conditioning);
  say_warnings();
  return recording;
}

}  // namespace envoi::command
