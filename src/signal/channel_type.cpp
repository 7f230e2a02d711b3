// What a channel records, from what its file calls it: the prefixes of EDF+ labels, words that stand in labels, and the
// names of electrodes of the extended 10-20 system (10-10 and 10-5).
#include "channel_type.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "shared.hpp"

namespace envoi::signal {
namespace {

struct Word {
  std::string_view word;
  std::string_view type;
};

constexpr std::array kWords = {
    Word{"eeg", "eeg"},        Word{"eog", "eog"},           Word{"heog", "eog"},     Word{"veog", "eog"},
    Word{"loc", "eog"},        Word{"roc", "eog"},           Word{"emg", "emg"},      Word{"chin", "emg"},
    Word{"ecg", "ecg"},        Word{"ekg", "ecg"},           Word{"resp", "resp"},    Word{"respiration", "resp"},
    Word{"thorax", "resp"},    Word{"abdomen", "resp"},      Word{"airflow", "resp"}, Word{"ecog", "ecog"},
    Word{"seeg", "seeg"},      Word{"meg", "meg"},           Word{"sao2", "spo2"},    Word{"spo2", "spo2"},
    Word{"ppg", "ppg"},        Word{"pleth", "ppg"},         Word{"gsr", "eda"},      Word{"eda", "eda"},
    Word{"temp", "temp"},      Word{"temperature", "temp"},  Word{"sound", "audio"},  Word{"audio", "audio"},
    Word{"acc", "acc"},        Word{"accelerometer", "acc"}, Word{"gyro", "gyro"},    Word{"aux", "misc"},
    Word{"gyroscope", "gyro"}, Word{"misc", "misc"},         Word{"trig", "stim"},    Word{"trigger", "stim"},
    Word{"status", "stim"},    Word{"stim", "stim"},         Word{"markers", "stim"},
};

// "Fp1", "AFF5h", "POz", "M1": letters of the 10-5 system, then z or a number up to 10 and perhaps an h.
bool is_electrode(std::string_view name) {
  constexpr std::array<std::string_view, 30> kRows = {
      "n",  "fp",  "afp", "af",  "aff", "f", "ff", "fc", "fcc", "c",   "cc", "cp", "ccp", "cpp", "p",
      "pp", "ppo", "po",  "poo", "o",   "i", "oi", "t",  "ft",  "ftt", "tt", "tp", "ttp", "tpp", "fft"};
  const std::string text = lower_case(name);
  std::size_t letters = 0;
  while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
  std::string_view row = std::string_view(text).substr(0, letters);
  std::string_view rest = std::string_view(text).substr(letters);
  if (rest.empty()) {
    if (!row.ends_with('z')) return false;
    row.remove_suffix(1);
    return std::find(kRows.begin(), kRows.end(), row) != kRows.end();
  }
  if (rest.ends_with('h')) rest.remove_suffix(1);
  const auto number = parse_integer(rest);
  if (!number || *number < 1 || *number > 10) return false;
  if ((row == "a" || row == "m") && *number <= 2) return true;  // ears and mastoids
  return std::find(kRows.begin(), kRows.end(), row) != kRows.end();
}

std::string_view lookup(std::string_view word) {
  for (const Word& known : kWords) {
    if (known.word == word) return known.type;
  }
  return {};
}

}  // namespace

std::string type_of_word(std::string_view word) {
  const std::string text = lower_case(trimmed(to_utf8(word)));
  const std::string_view known = lookup(text);
  return known.empty() ? printable(text, 24) : std::string(known);
}

std::string type_of_label(std::string_view label) {
  // Words parted by blanks, points and dashes; a trailing number belongs to the word ("EMG1").
  const std::string text = lower_case(label);
  std::string first;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" .-_/:", at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (first.empty()) first = word;
    while (word.size() > 2 && std::isdigit(static_cast<unsigned char>(word.back()))) word.pop_back();
    const std::string_view type = lookup(word);
    if (!type.empty()) return std::string(type);
  }
  // "Fp1", "C3-A2", "Fpz.": the first word is the electrode.
  return is_electrode(first) ? "eeg" : "";
}

bool is_biosemi_electrode(std::string_view label) {
  if (label.size() < 2 || label.size() > 3 || label[0] < 'A' || label[0] > 'H') return false;
  const auto number = parse_integer(label.substr(1));
  return number && *number >= 1 && *number <= 32;
}

double volts_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kVolts = {
      {{"V", 1}, {"mV", 1e-3}, {"uV", 1e-6}, {"nV", 1e-9}, {"volt", 1}, {"volts", 1}}};
  for (const auto& [name, volts] : kVolts) {
    if (name == unit) return volts;
  }
  return 0;
}

bool is_voltage(std::string_view unit) { return volts_of(unit) > 0; }

}  // namespace envoi::signal
