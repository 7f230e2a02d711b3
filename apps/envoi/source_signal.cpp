// The recording behind a result: reading options and conditioning come from the result, its SHA-256 decides.
#include "source_signal.hpp"

#include "command.hpp"
#include "envoi/signal.hpp"

namespace envoi::command {

Recording read_source(const std::string& path, const Decomposition& result, bool force) {
  Recording recording = read(path, result.input);
  for (const std::string& warning : recording.warnings) warn(recording.name + ": " + warning);
  if (result.source.sha256.empty()) {
    warn(recording.name + ": the result does not say which file it came from, so this one cannot be checked");
  } else if (recording.sha256 != result.source.sha256 && !force) {
    throw Error(ErrorKind::bad_file, path + ": is not the file that was analysed (" + one_line(result.source.name) +
                                         ", SHA-256 " + result.source.sha256.substr(0, 12) + "..., this one " +
                                         recording.sha256.substr(0, 12) + "...); --force takes it all the same");
  }
  if (!result.conditioning.empty()) condition(recording, result.conditioning);
  return recording;
}

}  // namespace envoi::command
