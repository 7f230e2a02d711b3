// The options of `analyze` that bear on the result: as typed, and as what the library takes.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "envoi/events.hpp"
#include "envoi/options.hpp"

namespace envoi::command {

// As typed; unset where the line says nothing, so that --like can fill in.
struct AnalyzeArguments {
  std::optional<std::string> format, rate, unit, raw_channels, column, time_column, from, to;
  std::vector<std::string> channels, exclude, types;
  std::optional<std::string> dataset, stream;
  bool keep_bad_spans = false;
  std::optional<std::string> detrend, missing;
  std::optional<std::string> reference, high_pass, low_pass, resample;
  std::vector<std::string> bipolar, notch;
  std::optional<std::string> events, before, after;
  std::optional<std::string> band, durations, chirp_rates, max_loss, grid, phase;
  bool gabor = false;
  std::optional<std::string> atoms, snr, energy_left, noise, threshold, density;
  std::optional<std::string> method;
  bool no_refine = false;
  std::optional<std::string> window, hop, across;
  bool whole = false;
  std::optional<std::string> threads, device, precision;
  bool force = false;
  std::optional<std::string> like;

  void declare(CLI::App& command);
};

struct AnalyzeOptions {
  ReadOptions input;
  Conditioning conditioning;
  Events events;
  PursuitOptions pursuit;
  std::vector<EventWindow> event_windows;  // of the recording at hand
};

// Reads the file of --like, if any, then lays the options of the line over it.
// Throws Error (bad_argument that names the option; bad_file: --like).
AnalyzeOptions resolve(const AnalyzeArguments& arguments);

}  // namespace envoi::command
