// envoi plot: a result as a picture of its time-frequency map, or as a page for a browser.
#include <memory>

#include "command.hpp"
#include "core/atomic_file.hpp"
#include "envoi/results.hpp"
#include "envoi/signal.hpp"
#include "numbers.hpp"
#include "outputs.hpp"
#include "source_signal.hpp"

namespace envoi::command {
namespace {

struct Arguments {
  std::string result;
  std::vector<std::string> outputs;
  std::string signal, channel, colors = "cividis";
  std::optional<std::string> from, to, band, size, range;
  bool ellipses = false;
};

bool is_page(const std::string& output) { return output.ends_with(".html"); }

MapOptions map_options(const Arguments& arguments) {
  MapOptions options;
  options.channel = arguments.channel;
  options.colors = arguments.colors;
  options.ellipses = arguments.ellipses;
  if (arguments.from) options.from_s = parse_number(*arguments.from, "--from");
  if (arguments.to) options.to_s = parse_number(*arguments.to, "--to");
  if (arguments.band) options.band_hz = parse_range(*arguments.band, "--band");
  if (arguments.range) options.range_db = parse_positive(*arguments.range, "--range");
  if (arguments.size) {
    const std::size_t by = arguments.size->find_first_of("xX");
    if (by == std::string::npos)
      usage_error("--size: '" + one_line(*arguments.size) + "' is not WIDTHxHEIGHT, such as 1200x600");
    const auto side = [&](const std::string& text) {
      return static_cast<unsigned>(std::min<std::size_t>(parse_count(text, "--size"), 1000000));
    };
    options.width = side(arguments.size->substr(0, by));
    options.height = side(arguments.size->substr(by + 1));
  }
  return options;
}

// The recording that the result was made from, read and conditioned as it was then.
Recording recording_of(const std::string& path, const Decomposition& result) {
  Recording recording = read(path, of_result(result.input), result.conditioning);
  if (!result.source.sha256.empty() && !recording.sha256.empty() && result.source.sha256 != recording.sha256)
    throw Error(ErrorKind::bad_file, path + ": is not the file that this result was made from (" + result.source.name +
                                         ", SHA-256 " + result.source.sha256.substr(0, 12) + "...)");
  return recording;
}

int run_plot(const Arguments& arguments) {
  bool pages = false;
  for (const std::string& output : arguments.outputs) {
    if (!is_page(output) && !output.ends_with(".png") && !output.ends_with(".svg"))
      usage_error(output + ": pictures are written as .png or .svg, pages as .html; the ending chooses");
    pages = pages || is_page(output);
    require_different(output, arguments.result);
    if (!arguments.signal.empty()) require_different(output, arguments.signal);
    core::AtomicFile::check(output);
    if (is_page(output)) require_report_page(output);
  }
  if (!arguments.signal.empty() && !pages)
    usage_error("--signal is for pages (.html); pictures of the map are drawn from the atoms alone");
  const MapOptions options = map_options(arguments);
  Decomposition result;
  try {
    result = read_result(arguments.result);
  } catch (...) {
    return report_current_exception(arguments.result);
  }
  Recording recording;
  if (!arguments.signal.empty()) recording = recording_of(arguments.signal, result);
  for (const std::string& output : arguments.outputs) {
    if (is_page(output))
      write_report(output, recording, result);
    else if (write_map(output, result, options) == 0)
      say("envoi: " + output + ": no atom lies in the times and frequencies drawn");
  }
  return kDone;
}

}  // namespace

void add_plot(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("plot", "Chirplets to a picture, or to a page for a browser");
  c->add_option("RESULT", arguments->result, "what `envoi analyze` wrote; - is standard input")->required();
  c->add_option("-o,--output", arguments->outputs, "repeatable; .png and .svg hold the map, .html is a page")
      ->option_text("FILE")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c->add_option("--signal", arguments->signal, "pages: the file that was analysed, for its samples")
      ->option_text("FILE");
  const char* g = "Pictures";
  const auto option = [&](const char* name, auto& field, const char* value, const char* help) {
    c->add_option(name, field, help)->group(g)->option_text(value);
  };
  option("-c,--channel", arguments->channel, "NAME", "default: the first");
  option("--from", arguments->from, "S", "from this time on");
  option("--to", arguments->to, "S", "up to this time");
  option("-b,--band", arguments->band, "LO:HI",
         "Hz; default: the band that was searched, from 0 if it begins below a tenth of its end");
  option("--size", arguments->size, "WxH", "pixels (1200x600)");
  option("--range", arguments->range, "DB", "from the largest density down (40)");
  option("--cmap", arguments->colors, "NAME", "cividis (default), viridis, magma or gray");
  c->add_flag("--ellipses", arguments->ellipses, "outline the 40 strongest atoms in view and draw their slopes")
      ->group(g);
  c->footer(
      "Examples:\n"
      "  envoi plot night.json -o night.png --channel Cz --from 600 --to 660 --ellipses\n"
      "  envoi plot night.json -o night.html --signal night.edf");
  c->callback([arguments, &run] { run = [arguments] { return run_plot(*arguments); }; });
}

}  // namespace envoi::command
