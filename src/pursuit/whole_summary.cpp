// What is said of a whole recording once its stretches are done.
#include <algorithm>
#include <cmath>
#include <map>

#include "pursuit/whole.hpp"

namespace envoi::pursuit {

void summarise_whole(const Channel& channel, const PursuitOptions& options, const Layout& layout, const Detrended& data,
                     const std::vector<const StretchRecord*>& records, const atoms::Limits& limits,
                     core::ThreadPool& pool, const std::function<void()>& poll, std::vector<double>& residual,
                     SegmentResult& out) {
  Segment& segment = out.segment;
  struct Entry {
    const Take* take;
    std::int64_t stretch;
    std::size_t within;
  };
  std::vector<std::vector<Term>> terms(records.size());
  std::vector<Entry> order;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const StretchRecord& record = *records[i];
    for (std::size_t k = 0; k < record.takes.size(); ++k) {
      terms[i].push_back(record.takes[k].term);
      order.push_back({&record.takes[k], static_cast<std::int64_t>(i), k});
    }
  }
  std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
    if (a.take->rank != b.take->rank) return a.take->rank > b.take->rank;
    return a.take->round != b.take->round ? a.take->round < b.take->round : a.stretch < b.stretch;
  });
  const bool refit = options.method != Method::mp;
  if (refit) {
    refit_whole(layout, data, options, limits, pool, poll, residual, terms);
  }

  std::vector<std::vector<TermErrors>> errors(records.size());
  pool.run(records.size(), [&](std::size_t i, unsigned) {
    const std::int64_t from = layout.from(static_cast<std::int64_t>(i)), to = layout.to(static_cast<std::int64_t>(i));
    const std::vector<double> rest(residual.begin() + from, residual.begin() + to);
    std::vector<double> value = rest;
    const atoms::Samples samples{value.data(), data.missing ? data.weight.data() + from : nullptr, to - from};
    for (Term term : terms[i]) {
      term.atom.sample -= from;
      atoms::add_atom(term.atom, term.alpha, 1, value.data(), samples.size);
      errors[i].push_back(standard_errors(samples, options.phase == Phase::fixed, false, {term})[0]);
      value = rest;
    }
  });

  double left = data.energy;
  std::vector<double> rest;  // with refitted atoms, what the first ones leave
  if (refit) rest = data.value;
  for (const Entry& entry : order) {
    const auto i = static_cast<std::size_t>(entry.stretch);
    const Term& term = terms[i][entry.within];
    double gain = entry.take->gain;
    if (refit) {
      gain = 0;
      atoms::for_each_sample<double>(term.atom, atoms::support(term.atom, layout.samples),
                                     [&](std::int64_t k, double, std::complex<double> g) {
                                       const auto n = static_cast<std::size_t>(term.atom.sample + k);
                                       if (data.missing && data.weight[n] == 0) return;
                                       const double m = term.alpha.real() * g.real() - term.alpha.imag() * g.imag();
                                       gain += m * (2 * rest[n] - m);
                                       rest[n] -= m;
                                     });
    }
    left -= gain;
    out.atoms.push_back(describe(channel, 0, data, term, errors[i][entry.within]));
    Chirplet& atom = out.atoms.back();
    if (!refit) atom.energy_share = std::ldexp(atom.energy, -2 * data.exponent) / data.energy;
    atom.energy_left_share = std::max(0.0, left / data.energy);
    segment.certificate.survivors.push_back(entry.take->survivors);
    segment.certificate.bound = std::max(segment.certificate.bound, entry.take->bound);
  }
  segment.atom_count = out.atoms.size();
  judge_rebuilt(data, channel.rate_hz, out.atoms, segment);
  // The reason that most stretches give; at equal numbers the first in the order of the enumeration.
  std::map<StopReason, std::size_t> reasons;
  for (const StretchRecord* record : records) ++reasons[record->reason];
  segment.stop_reason = std::max_element(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->first;
}

}  // namespace envoi::pursuit
