// Atoms of the whole-signal pursuit fitted together: each stretch's own with those of its neighbours held, even
// stretches and odd ones in turn, until they stay where they are.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "pursuit/whole.hpp"

namespace envoi::pursuit {
namespace {

constexpr double kSettled = 1e-9;  // change of an amplitude, or gain of a joint fit, that counts as none
constexpr int kMostSweeps = 100;

double energy_of_slice(const std::vector<double>& x) {
  double energy = 0;
  for (const double v : x) energy += v * v;
  return energy;
}

}  // namespace

void refit_whole(const Layout& layout, const Detrended& data, const PursuitOptions& options,
                 const atoms::Limits& limits, core::ThreadPool& pool, const std::function<void()>& poll,
                 std::vector<double>& residual, std::vector<std::vector<Term>>& terms) {
  const bool fixed = options.phase == Phase::fixed, joint = options.method == Method::joint;
  const double slack = std::exp(limits.high[atoms::kLnDuration]);
  std::vector<char> stale(terms.size(), 1), moved(terms.size(), 0);

  const auto refit = [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t begin = layout.begin(at), end = layout.end(at), from = layout.from(at), to = layout.to(at);
    std::vector<double> value(residual.begin() + from, residual.begin() + to), left, after;
    const double before = energy_of_slice(value);
    const atoms::Samples samples{value.data(), data.missing ? data.weight.data() + from : nullptr, to - from};
    std::vector<Term> own = terms[i];
    for (Term& term : own) {
      term.atom.sample -= from;
      atoms::add_atom(term.atom, term.alpha, 1, value.data(), samples.size);
    }
    if (data.missing) {
      for (std::int64_t n = from; n < to; ++n) {
        if (data.weight[static_cast<std::size_t>(n)] == 0) value[static_cast<std::size_t>(n - from)] = 0;
      }
    }
    if (joint) {
      atoms::Limits within = limits;
      within.low[atoms::kCentre] = std::max(0.0, static_cast<double>(begin - from) - slack);
      within.high[atoms::kCentre] =
          std::min(static_cast<double>(to - from - 1), static_cast<double>(end - from - 1) + slack);
      fit_jointly(samples, within, fixed, own);
    } else {
      solve_amplitudes(samples, fixed, own, left);
    }
    const double now = residual_of(samples, own, after);
    if (!(now <= before)) return false;  // rounding: they were the best already
    double largest = 0, change = 0;
    for (std::size_t k = 0; k < own.size(); ++k) {
      largest = std::max(largest, std::abs(own[k].alpha));
      change = std::max(change, std::abs(own[k].alpha - terms[i][k].alpha));
    }
    std::copy(after.begin(), after.end(), residual.begin() + from);
    for (Term& term : own) term.atom.sample += from;
    terms[i] = std::move(own);
    return joint ? before - now > kSettled * before : change > kSettled * largest;
  };
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool any = false;
    for (const std::size_t parity : {0u, 1u}) {
      std::vector<std::size_t> at;
      for (std::size_t i = parity; i < terms.size(); i += 2) {
        if (stale[i] && !terms[i].empty()) at.push_back(i);
      }
      pool.run(at.size(), [&](std::size_t n, unsigned) {
        poll();
        moved[at[n]] = refit(at[n]);
      });
      for (const std::size_t i : at) {
        stale[i] = 0;
        if (!moved[i]) continue;
        any = true;
        // Its neighbours must look again; itself only when they have moved.
        if (i > 0) stale[i - 1] = 1;
        if (i + 1 < terms.size()) stale[i + 1] = 1;
        if (joint) stale[i] = 1;
      }
    }
    if (!any) return;
  }
}

}  // namespace envoi::pursuit
