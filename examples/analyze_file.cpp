// Twenty chirplets of each window of one channel of a recording, and the result as a file.
#include <cstdio>
#include <envoi/envoi.hpp>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: analyze_file RECORDING CHANNEL RESULT.json\n");
    return 2;
  }
  try {
    const envoi::Recording recording = envoi::read(argv[1]);

    envoi::PursuitOptions options;
    options.band_hz = {0.5, 40.0};
    options.stop.atoms = 20;
    const envoi::Channel& channel = recording.channel(argv[2]);
    const envoi::Decomposition found = envoi::decompose(channel, options);

    for (const envoi::Chirplet& atom : found.atoms) {
      std::printf("%8.3f s  %6.2f Hz  %6.3f s  %+8.2f Hz/s  peak %.4g %s\n", atom.time_s, atom.frequency_hz,
                  atom.duration_s, atom.chirp_rate_hz_per_s, atom.peak, channel.unit.c_str());
    }
    envoi::write_result(argv[3], found);
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == envoi::ErrorKind::bad_argument ? 2 : 3;
  }
  return 0;
}
