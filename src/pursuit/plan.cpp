// What a run would cost, and on what it would run.
#include "pursuit/plan.hpp"

#include <cmath>
#include <sstream>

#include "core/isa.hpp"
#include "core/processor.hpp"
#include "core/thread_pool.hpp"
#include "envoi/pursuit.hpp"
#include "pursuit/resolve.hpp"
#include "pursuit/search.hpp"
#include "pursuit/whole.hpp"

namespace envoi {

GridSummary pursuit::summarise(const atoms::Grid& grid, double rate) {
  GridSummary out{grid.size, grid.max_loss, {}};
  for (const atoms::Block& block : grid.blocks)
    out.scales.push_back({std::exp(block.ln_duration) / rate, block.size()});
  return out;
}

namespace {

std::string describe(const pursuit::SearchWay& way) {
  std::ostringstream text;
  text.precision(3);
  if (way.transform > 0) {
    text << "Fourier transforms of " << way.transform << " points";
    if (way.both_signs) text << ", one for each pair of chirp rates +c, -c";
  } else {
    text << "products with cosines";
    if (way.durations > 1)
      text << " of " << way.basis_windows << " basis windows for " << way.durations << " durations";
    if (way.rows < way.depth) text << ", " << way.depth << " samples a side folded to " << way.rows;
  }
  text << "; " << way.operations * 1e-9 << " G operations";
  return text.str();
}

}  // namespace

Plan plan(const Channel& channel, const PursuitOptions& options) {
  const pursuit::Resolved resolved = pursuit::resolve(channel, options);
  const atoms::Grid grid = resolved.options.whole_signal
                               ? pursuit::whole_grid(channel, resolved.options, false)
                               : pursuit::grid_for(channel, resolved.options, resolved.window, false);
  const pursuit::SearchCost cost = pursuit::search_cost(grid, resolved.options.precision);
  const unsigned threads = core::thread_count(options.threads);
  Plan out;
  out.options = resolved.options;
  out.grid = pursuit::summarise(grid, channel.rate_hz);
  out.samples_per_segment = static_cast<std::uint64_t>(resolved.window);
  out.segments = resolved.windows.size();
  out.operations_per_search = cost.operations;
  for (const pursuit::SearchWay& way : cost.ways) out.search.push_back({way.durations, describe(way)});
  out.memory_bytes = cost.table_bytes + threads * cost.scratch_bytes;
  // In a whole-signal pursuit an atom lies before two stretches, of which each is searched again.
  const double searches =
      resolved.options.whole_signal
          ? 2 * *resolved.options.stop.density_per_s * static_cast<double>(channel.samples.size()) / channel.rate_hz
          : static_cast<double>(out.segments) * static_cast<double>(*resolved.options.stop.atoms) + 1;
  // A search reaches about 0.4 of the rate; refinement and what follows take about a millisecond.
  out.expected_seconds = searches * (cost.operations / (0.4 * pursuit::multiply_add_rate()) + 1e-3) / threads;
  return out;
}

std::vector<DeviceInfo> devices() { return {{"cpu", core::describe_processor()}}; }

std::string isa_name() { return core::isa().name; }
std::string version() { return ENVOI_VERSION; }

}  // namespace envoi
