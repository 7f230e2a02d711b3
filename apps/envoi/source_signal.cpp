// The recording behind a result: reading options and conditioning come from the result, its SHA-256 decides.
#include "source_signal.hpp"

#include "command.hpp"
#include "envoi/signal.hpp"
#include "signal/bytes.hpp"

namespace envoi::command {

ReadOptions of_result(ReadOptions input) {
  input.rate_is_fallback = true;
  return input;
}

Recording read_source(const std::string& path, const Decomposition& result, bool force) {
  const std::string& wanted = result.source.sha256;
  const auto require_same = [&](const std::string& sha256) {
    if (wanted.empty() || sha256 == wanted || force) return;
    throw Error(ErrorKind::bad_file, path + ": is not the file that was analysed (" + one_line(result.source.name) +
                                         ", SHA-256 " + wanted.substr(0, 12) + "..., this one " + sha256.substr(0, 12) +
                                         "...); --force takes it all the same");
  };
  Recording recording;
  try {
    recording = read(path, of_result(result.input), result.conditioning);
  } catch (const Error&) {
    // Whatever was wrong with it, that it is another file comes first.
    if (path != "-") require_same(signal::sha256_hex(signal::FileBytes(path).view()));
    throw;
  }
  for (const std::string& warning : recording.warnings) warn(recording.name + ": " + warning);
  if (wanted.empty())
    warn(recording.name + ": the result does not say which file it came from, so this one cannot be checked");
  else
    require_same(recording.sha256);
  return recording;
}

}  // namespace envoi::command
