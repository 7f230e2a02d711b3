// Prints what envoi::read made of a file, a line a fact, for scripts that compare it with other programs.
#include <cstdio>
#include <string>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"

int main(int argc, char** argv) {
  envoi::ReadOptions options;
  if (argc == 3) options.rate_hz = std::stod(argv[2]);
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: dump_recording FILE [RATE]\n");
    return 2;
  }
  try {
    const envoi::Recording recording = envoi::read(argv[1], options);
    std::printf("format\t%s\nstart\t%s\nsha256\t%s\n", recording.format.c_str(), recording.start.c_str(),
                recording.sha256.c_str());
    for (const std::string& warning : recording.warnings) std::printf("warning\t%s\n", warning.c_str());
    for (const envoi::Annotation& a : recording.annotations) {
      std::printf("annotation\t%.17g\t%.17g\t%s\n", a.onset_s, a.duration_s.value_or(-1), a.text.c_str());
    }
    for (const envoi::Channel& c : recording.channels) {
      std::printf("channel\t%s\t%s\t%.17g\t%.17g\t%zu\n", c.name.c_str(), c.unit.c_str(), c.rate_hz, c.start_s,
                  c.samples.size());
      for (const double sample : c.samples) std::printf("%.17g\n", sample);
    }
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}
