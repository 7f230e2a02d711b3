// Results of a dictionary search as JSON, NDJSON, TSV and a table.
#include <algorithm>
#include <cmath>

#include "core/atomic_file.hpp"
#include "envoi/error.hpp"
#include "envoi/results.hpp"
#include "results/json_text.hpp"
#include "results/quantity.hpp"

namespace envoi {
namespace {

using results::JsonText;

constexpr std::size_t kMostRows = 200;

void add_head(JsonText& json, const SearchResult& result) {
  json.add("format", "envoi.search");
  json.add("version", std::uint64_t{1});
  json.line(2);
  json.open("program", '{');
  json.add("version", result.program.version);
  json.add("device", result.program.device);
  json.add("isa", result.program.isa);
  json.close('}');
  json.line(2);
  json.add("atoms", result.atoms);
  json.add("samples", static_cast<std::uint64_t>(result.samples));
  json.add("normalized", result.normalized);
}

void add_signal(JsonText& json, const SignalMatches& signal) {
  json.open("best", '[');
  for (const Match& match : signal.best) {
    json.open("", '{');
    json.add("index", match.index);
    json.add("score", match.score);
    json.close('}');
  }
  json.close(']');
  json.open("certificate", '{');
  json.add("precision", signal.certificate.precision);
  json.add("bound", signal.certificate.bound);
  json.add("survivors", signal.certificate.survivors);
  json.close('}');
}

}  // namespace

std::string to_json(const SearchResult& result) {
  JsonText json(true);
  json.open("", '{');
  json.line(2);
  add_head(json, result);
  json.line(2);
  json.open("signals", '[');
  for (const SignalMatches& signal : result.signals) {
    json.line(4);
    json.open("", '{');
    add_signal(json, signal);
    json.close('}');
  }
  json.line(2);
  json.close(']');
  json.line(0);
  json.close('}');
  return json.take() + "\n";
}

std::string to_ndjson(const SearchResult& result) {
  JsonText head(false);
  head.open("", '{');
  add_head(head, result);
  head.close('}');
  std::string text = head.take() + "\n";
  for (std::size_t s = 0; s < result.signals.size(); ++s) {
    JsonText line(false);
    line.open("", '{');
    line.add("signal", static_cast<std::uint64_t>(s));
    add_signal(line, result.signals[s]);
    line.close('}');
    text += line.take() + "\n";
  }
  return text;
}

std::string to_tsv(const SearchResult& result) {
  std::string text = "signal\torder\tindex\tscore\n";
  for (std::size_t s = 0; s < result.signals.size(); ++s) {
    std::size_t order = 0;
    for (const Match& match : result.signals[s].best) {
      text += std::to_string(s) + "\t" + std::to_string(++order) + "\t" + std::to_string(match.index) + "\t" +
              results::number_text(match.score) + "\n";
    }
  }
  return text;
}

std::string to_table(const SearchResult& result) {
  const std::size_t signals = result.signals.size();
  std::string text = std::to_string(signals) + (signals == 1 ? " signal, " : " signals, ") +
                     std::to_string(result.atoms) + (result.atoms == 1 ? " atom of " : " atoms of ") +
                     std::to_string(result.samples) + " samples" + (result.normalized ? ", scores over norms" : "") +
                     "; counted from 0\n\n";
  std::vector<std::vector<std::string>> rows = {{"signal", "atom", "score", "screen", "scored again"}};
  std::size_t total = 0;
  for (std::size_t s = 0; s < signals; ++s) {
    for (std::size_t i = 0; i < result.signals[s].best.size(); ++i, ++total) {
      if (rows.size() > kMostRows) continue;
      const MatchCertificate& certificate = result.signals[s].certificate;
      const Match& match = result.signals[s].best[i];
      char score[40];
      std::snprintf(score, sizeof score, "%.9g", match.score);
      rows.push_back({i == 0 ? std::to_string(s) : "", std::to_string(match.index), score,
                      i == 0 ? certificate.precision : "", i == 0 ? std::to_string(certificate.survivors) : ""});
    }
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += std::string(2 + widths[c] - row[c].size(), ' ') + row[c];
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  if (total > kMostRows) {
    text += "\n" + std::to_string(total - kMostRows) +
            " more atoms are not shown; -o FILE.json or FILE.tsv holds them all\n";
  }
  return text;
}

void write_result(const std::string& path, const SearchResult& result) {
  std::string text;
  if (path == "-" || path.ends_with(".json")) {
    text = to_json(result);
  } else if (path.ends_with(".ndjson")) {
    text = to_ndjson(result);
  } else if (path.ends_with(".tsv")) {
    text = to_tsv(result);
  } else {
    throw Error(ErrorKind::bad_argument, path + ": results are written as .json, .ndjson or .tsv");
  }
  core::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace envoi
