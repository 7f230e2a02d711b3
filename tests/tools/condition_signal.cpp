// Prints what envoi::condition made of a file, a sample a line, for scripts that compare it with other programs.
#include <cstdio>
#include <string>

#include "envoi/error.hpp"
#include "envoi/signal.hpp"

int main(int argc, char** argv) {
  envoi::ReadOptions input;
  envoi::Conditioning conditioning;
  if (argc < 3) {
    std::fprintf(stderr, "usage: condition_signal FILE RATE [high=HZ] [low=HZ] [notch=HZ]... [rate=HZ]\n");
    return 2;
  }
  input.rate_hz = std::stod(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string key = text.substr(0, text.find('='));
    const double value = std::stod(text.substr(text.find('=') + 1));
    if (key == "high") conditioning.high_pass_hz = value;
    if (key == "low") conditioning.low_pass_hz = value;
    if (key == "notch") conditioning.notch_hz.push_back(value);
    if (key == "rate") conditioning.resample_hz = value;
  }
  try {
    envoi::Recording recording = envoi::read(argv[1], input);
    envoi::condition(recording, conditioning);
    for (const double sample : recording.channels.at(0).samples) std::printf("%.17g\n", sample);
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}
