// Writes what envoi::read made of a file with envoi::write_signal, for scripts that compare it with other programs.
#include <cstdio>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: write_recording IN OUT\n");
    return 2;
  }
  try {
    const envoi::Recording recording = envoi::read(argv[1]);
    envoi::write_signal(argv[2], recording.channels, {recording.start, recording.annotations});
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}
