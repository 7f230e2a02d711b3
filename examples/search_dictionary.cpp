// The best atoms of a dictionary in memory for a few signals, certified.
#include <cstdio>
#include <envoi/envoi.hpp>
#include <random>
#include <vector>

int main() {
  constexpr std::size_t kAtoms = 20000, kSamples = 256;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> atoms(kAtoms * kSamples);
  for (float& value : atoms) value = normal(generator);
  // Two signals, one after the other: atoms 17 and 4242 in noise.
  std::vector<double> signals;
  for (const std::size_t hidden : {17, 4242})
    for (std::size_t n = 0; n < kSamples; ++n)
      signals.push_back(2.0 * atoms[hidden * kSamples + n] + normal(generator));

  const envoi::Dictionary dictionary(atoms.data(), kAtoms, kSamples);
  envoi::SearchResult found;
  try {
    found = envoi::search(dictionary, signals, {.k = 3});
  } catch (const envoi::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  for (const envoi::SignalMatches& signal : found.signals) {
    for (const envoi::Match& match : signal.best)
      std::printf("atom %llu  %.3f\n", static_cast<unsigned long long>(match.index), match.score);
    std::printf("  %llu atoms scored again in fp64\n", static_cast<unsigned long long>(signal.certificate.survivors));
  }
  return found.signals[0].best[0].index == 17 && found.signals[1].best[0].index == 4242 ? 0 : 1;
}
