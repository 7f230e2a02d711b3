// Least squares over several atoms: amplitudes alone, all parameters, and their standard errors.
#include "pursuit/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "pursuit/refine.hpp"

namespace envoi::pursuit {

using atoms::Atom;
using atoms::kCentre;
using atoms::kChirpRate;
using atoms::kFrequency;
using atoms::kLnDuration;
using atoms::kParameters;
using atoms::Limits;
using atoms::Samples;
using std::complex;

double residual_of(const Samples& samples, const std::vector<Term>& terms, std::vector<double>& residual) {
  residual.assign(samples.value, samples.value + samples.size);
  for (const Term& term : terms) atoms::add_atom(term.atom, term.alpha, -1, residual.data(), samples.size);
  double energy = 0;
  for (std::int64_t n = 0; n < samples.size; ++n) {
    double& r = residual[static_cast<std::size_t>(n)];
    if (samples.weight && samples.weight[n] == 0) r = 0;
    energy += r * r;
  }
  return energy;
}

namespace {

// A column that is zero outside [begin, begin + value.size()).
struct Column {
  std::int64_t begin = 0;
  std::vector<double> value;
  std::int64_t end() const { return begin + static_cast<std::int64_t>(value.size()); }
};

// Eight sums side by side, added up in a fixed order.
double dot(const double* a, const double* b, std::int64_t size) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t n = 0;
  for (; n + kSums <= size; n += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) sums[k] += a[n + k] * b[n + k];
  }
  for (; n < size; ++n) sums[0] += a[n] * b[n];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
double dot(const Column& a, const Column& b) {
  const std::int64_t begin = std::max(a.begin, b.begin), end = std::min(a.end(), b.end());
  if (begin >= end) return 0;
  return dot(a.value.data() + (begin - a.begin), b.value.data() + (begin - b.begin), end - begin);
}
double dot(const Column& a, const double* x) { return dot(a.value.data(), x + a.begin, a.end() - a.begin); }
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return dot(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
}

// Re(factor(u) g) for each of the factors given, as columns; weights applied.
template <std::size_t count, class Factors>
std::array<Column, count> columns(const Samples& samples, const Atom& atom, Factors&& factors) {
  const atoms::Support range = atoms::support(atom, samples.size);
  std::array<Column, count> out;
  for (Column& column : out) {
    column.begin = atom.sample + range.begin;
    column.value.assign(static_cast<std::size_t>(range.end - range.begin), 0.0);
  }
  atoms::for_each_sample<double>(atom, range, [&](std::int64_t k, double u, complex<double> g) {
    if (samples.weight && samples.weight[atom.sample + k] == 0) return;
    const std::array<complex<double>, count> factor = factors(u);
    for (std::size_t i = 0; i < count; ++i) {
      out[i].value[static_cast<std::size_t>(k - range.begin)] =
          factor[i].real() * g.real() - factor[i].imag() * g.imag();
    }
  });
  return out;
}

// The derivatives of Re(alpha g): four parameters, then Re alpha and Im alpha.
std::array<Column, 6> jacobian(const Samples& samples, const Term& term) {
  const auto L = atoms::log_derivatives<double>(term.atom);
  const complex<double> alpha = term.alpha;
  return columns<6>(samples, term.atom, [&](double u) {
    std::array<complex<double>, 6> f;
    for (int i = 0; i < kParameters; ++i) {
      const double re = L[i][0].real() + u * (L[i][1].real() + u * L[i][2].real());
      const double im = L[i][0].imag() + u * (L[i][1].imag() + u * L[i][2].imag());
      f[i] = {alpha.real() * re - alpha.imag() * im, alpha.real() * im + alpha.imag() * re};
    }
    f[4] = 1.0;
    f[5] = {0, 1};
    return f;
  });
}

// e^{-i psi}: Re(e^{-i psi} g) is the stronger quadrature, Re(i e^{-i psi} g) the weaker, and they are orthogonal.
complex<double> axis(const atoms::Moments<double>& m) { return std::polar(1.0, -std::arg(m.s[0]) / 2); }
bool is_parallel(const atoms::Moments<double>& m) {
  return !(m.p[0] - std::abs(m.s[0]) >= atoms::kParallelGap * m.p[0]);
}

// Takes the weaker quadrature away where it counts as parallel: it would carry a huge amplitude for a tiny gain.
void settle(const Samples& samples, Term& term) {
  const auto m = atoms::moments<double, 1>(samples, term.atom);
  if (!is_parallel(m)) return;
  const complex<double> turn = axis(m);
  term.alpha = turn * (term.alpha * std::conj(turn)).real();
}

// Symmetric positive definite system of any size, row-major, in place.
bool cholesky(std::vector<double>& a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i != j) {
        a[i * n + j] = sum / a[j * n + j];
      } else if (sum > 0) {
        a[i * n + i] = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  return true;
}
void cholesky_solve(const std::vector<double>& a, std::size_t n, double* b) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

// J'J, and J'r if a residual is given; `per_term` columns a term.
void normal_equations(const std::vector<Column>& columns, const double* residual, std::vector<double>& matrix,
                      std::vector<double>& right) {
  const std::size_t n = columns.size();
  matrix.assign(n * n, 0.0);
  right.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (residual) right[i] = dot(columns[i], residual);
    for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] = matrix[j * n + i] = dot(columns[i], columns[j]);
  }
}

std::vector<Column> all_columns(const Samples& samples, const std::vector<Term>& terms, int per_term) {
  std::vector<Column> out;
  for (const Term& term : terms) {
    auto six = jacobian(samples, term);
    for (int i = 0; i < per_term; ++i) out.push_back(std::move(six[static_cast<std::size_t>(i)]));
  }
  return out;
}

}  // namespace

void solve_amplitudes(const Samples& samples, bool phase_fixed, std::vector<Term>& terms, std::vector<double>& left) {
  constexpr double kDependent = 1e-6;
  const std::size_t per_term = phase_fixed ? 1 : 2, count = terms.size() * per_term;
  const auto size = static_cast<std::size_t>(samples.size);
  std::vector<std::vector<double>> basis(count);  // orthonormal; empty where dependent
  std::vector<std::vector<double>> upper(count);  // column j = sum_i upper[j][i] basis[i]
  std::vector<double> projection(count, 0.0), residual(samples.value, samples.value + samples.size);
  if (samples.weight) {
    for (std::size_t n = 0; n < size; ++n) residual[n] *= samples.weight[n] != 0 ? 1 : 0;
  }
  std::vector<complex<double>> turns(terms.size());
  left.clear();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    // Along the axes of the atom's quadratures, the stronger first.
    const auto m = atoms::moments<double, 1>(samples, terms[t].atom);
    const bool parallel = !phase_fixed && is_parallel(m);
    turns[t] = phase_fixed ? complex<double>(1) : axis(m);
    const auto pair = columns<2>(samples, terms[t].atom, [&](double) {
      return std::array<complex<double>, 2>{turns[t], turns[t] * complex<double>(0, 1)};
    });
    for (std::size_t h = 0; h < per_term; ++h) {
      const std::size_t j = t * per_term + h;
      std::vector<double> q(size, 0.0);
      std::copy(pair[h].value.begin(), pair[h].value.end(), q.begin() + pair[h].begin);
      const double before = dot(q, q);
      upper[j].assign(j + 1, 0.0);
      if (h == 1 && parallel) continue;
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t i = 0; i < j; ++i) {
          if (basis[i].empty()) continue;
          const double part = dot(q, basis[i]);
          upper[j][i] += part;
          for (std::size_t n = 0; n < size; ++n) q[n] -= part * basis[i][n];
        }
      }
      const double after = dot(q, q);
      if (!(after > kDependent * before)) continue;
      const double norm = std::sqrt(after);
      upper[j][j] = norm;
      for (double& x : q) x /= norm;
      projection[j] = dot(q, residual);
      for (std::size_t n = 0; n < size; ++n) residual[n] -= projection[j] * q[n];
      basis[j] = std::move(q);
    }
    left.push_back(dot(residual, residual));
  }
  std::vector<double> solution(count, 0.0);
  for (std::size_t j = count; j-- > 0;) {
    if (basis[j].empty()) continue;
    double sum = projection[j];
    for (std::size_t k = j + 1; k < count; ++k) sum -= upper[k][j] * solution[k];
    solution[j] = sum / upper[j][j];
  }
  for (std::size_t t = 0; t < terms.size(); ++t) {
    terms[t].alpha = turns[t] * complex<double>(solution[t * per_term], phase_fixed ? 0.0 : solution[t * per_term + 1]);
  }
}

double fit_jointly(const Samples& samples, const Limits& limits, bool phase_fixed, std::vector<Term>& terms,
                   int most_steps) {
  constexpr double kSettled = 1e-10;
  const int per_term = phase_fixed ? 5 : 6;
  std::vector<double> residual, trial_residual, matrix, right;
  double energy = residual_of(samples, terms, residual);
  if (terms.empty()) return energy;
  double damping = 1e-4;
  int quiet = 0;
  for (int step = 0; step < most_steps && energy > 0; ++step) {
    const std::vector<Column> jacobians = all_columns(samples, terms, per_term);
    normal_equations(jacobians, residual.data(), matrix, right);
    const std::size_t n = jacobians.size();
    bool moved = false;
    for (int attempt = 0; attempt < 12 && !moved; ++attempt) {
      std::vector<double> factor = matrix, move = right;
      for (std::size_t i = 0; i < n; ++i) factor[i * n + i] = matrix[i * n + i] * (1 + damping) + 1e-300;
      if (!cholesky(factor, n)) {
        damping *= 10;
        continue;
      }
      cholesky_solve(factor, n, move.data());
      std::vector<Term> trial = terms;
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const double* m = move.data() + t * static_cast<std::size_t>(per_term);
        Atom& atom = trial[t].atom;
        const double d = atom.duration();
        atom.move_to(atom.sample, atom.offset + std::clamp(m[kCentre], -2 * d, 2 * d));
        atom.frequency += m[kFrequency];
        atom.ln_duration += std::clamp(m[kLnDuration], -1.0, 1.0);
        atom.chirp_rate += m[kChirpRate];
        atom = clamp(atom, limits);
        trial[t].alpha += complex<double>(m[4], phase_fixed ? 0 : m[5]);
        if (!phase_fixed) settle(samples, trial[t]);
      }
      const double there = residual_of(samples, trial, trial_residual);
      if (there < energy) {
        quiet = energy - there <= kSettled * energy ? quiet + 1 : 0;
        energy = there;
        terms = std::move(trial);
        residual.swap(trial_residual);
        damping = std::max(damping / 5, 1e-12);
        moved = true;
      } else {
        damping = std::max(damping * 4, 1e-8);
      }
    }
    if (!moved || quiet >= 2) break;
  }
  return energy;
}

namespace {

// How much two atoms share, from their envelopes and ridges alone: near enough to have been one atom's two halves.
bool neighbours(const Atom& a, const Atom& b) {
  const double da = a.duration(), db = b.duration(), t = b.centre() - a.centre();
  if (std::abs(t) > 2 * (da + db)) return false;
  const double middle = t / 2;
  const double gap = (b.frequency - b.chirp_rate * middle) - (a.frequency + a.chirp_rate * middle);
  return std::abs(gap) < 1 / std::min(da, db);
}

// Starts for two atoms where one stood: apart in time along the ridge, shorter, above and below it.
std::vector<std::array<Atom, 2>> splits(const Atom& atom) {
  std::vector<std::array<Atom, 2>> out;
  const double d = atom.duration();
  for (const double apart : {0.45, 0.8, 1.2}) {
    for (const double shrink : {0.5, 0.75, 1.0}) {
      for (const double off_ridge : {-0.25, -0.1, 0.0, 0.1, 0.25}) {
        std::array<Atom, 2> pair{atom, atom};
        for (int side = 0; side < 2; ++side) {
          const double sign = side ? 1 : -1;
          pair[static_cast<std::size_t>(side)].move_to(atom.sample, atom.offset + sign * apart * d);
          pair[static_cast<std::size_t>(side)].frequency += sign * (atom.chirp_rate * apart * d + off_ridge / d);
          pair[static_cast<std::size_t>(side)].ln_duration += std::log(shrink);
        }
        out.push_back(pair);
      }
    }
  }
  return out;
}

}  // namespace

void fit_thoroughly(const Samples& samples, const Limits& limits, bool phase_fixed, const FindAtom& search,
                    double noise_gain, std::vector<Term>& terms) {
  constexpr int kMostRounds = 8, kFirstSteps = 12;
  constexpr std::size_t kPromising = 10;
  constexpr double kSplitGain = 4;  // variances, for a single pair
  std::vector<double> residual, left;
  double energy = fit_jointly(samples, limits, phase_fixed, terms);
  double present = static_cast<double>(samples.size);
  if (samples.weight) present = std::accumulate(samples.weight, samples.weight + samples.size, 0.0);
  // A change of one atom must gain more than fitting noise with its parameters would.
  auto worth = [&](double now, double gain) {
    return now < energy * (1 - 1e-6) && energy - now > gain * energy / present;
  };
  auto keep = [&](std::vector<Term>&& trial, double now, double gain) {
    if (!worth(now, gain)) return false;
    terms = std::move(trial);
    energy = now;
    return true;
  };
  for (int round = 0; round < kMostRounds && energy > 0; ++round) {
    bool gained = false;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      std::vector<Term> trial = terms;
      trial.erase(trial.begin() + static_cast<std::ptrdiff_t>(i));
      fit_jointly(samples, limits, phase_fixed, trial);
      residual_of(samples, trial, residual);
      Term found;
      if (!search(residual, found)) continue;
      trial.insert(trial.begin() + static_cast<std::ptrdiff_t>(i), found);
      const double now = fit_jointly(samples, limits, phase_fixed, trial);
      gained |= keep(std::move(trial), now, noise_gain);
    }
    // Two neighbours may be one atom astride two true ones and a patch: merge them, split the merged one. The more
    // pairs are tried, the more a change must gain to be more than chance.
    double pairs = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) pairs += neighbours(terms[i].atom, terms[j].atom);
    }
    const double split_gain = kSplitGain * (1 + 2 * std::log(std::max(pairs, 1.0)));
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        if (!neighbours(terms[i].atom, terms[j].atom)) continue;
        std::vector<Term> others = terms;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        residual_of(samples, others, residual);
        Term merged;
        if (!search(residual, merged)) continue;
        const Samples alone{residual.data(), samples.weight, samples.size};
        // A few steps from every start; the most promising ones to their end, by the fit of the two alone.
        std::vector<std::pair<double, std::vector<Term>>> starts;
        for (const auto& pair : splits(merged.atom)) {
          std::vector<Term> two{{clamp(pair[0], limits), {}}, {clamp(pair[1], limits), {}}};
          solve_amplitudes(alone, phase_fixed, two, left);
          const double now = fit_jointly(alone, limits, phase_fixed, two, kFirstSteps);
          starts.emplace_back(now, std::move(two));
        }
        std::stable_sort(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<Term> best;
        double best_left = std::numeric_limits<double>::max();
        for (std::size_t k = 0; k < kPromising; ++k) {
          const double now = fit_jointly(alone, limits, phase_fixed, starts[k].second);
          if (now < best_left) best_left = now, best = starts[k].second;
        }
        if (best.empty()) continue;
        std::vector<Term> trial = terms;
        trial[i] = best[0], trial[j] = best[1];
        const double now = fit_jointly(samples, limits, phase_fixed, trial);
        gained |= keep(std::move(trial), now, split_gain);
      }
    }
    if (!gained) break;
  }
}

std::vector<TermErrors> standard_errors(const Samples& samples, bool phase_fixed, bool joint,
                                        const std::vector<Term>& terms) {
  const std::size_t per_term = phase_fixed ? 5 : 6;
  std::vector<TermErrors> out(terms.size());
  for (TermErrors& errors : out) errors.fill(kUndetermined);
  std::vector<double> residual;
  const double energy = residual_of(samples, terms, residual);
  double present = static_cast<double>(samples.size);
  if (samples.weight) present = std::accumulate(samples.weight, samples.weight + samples.size, 0.0);
  const double freedom = present - static_cast<double>(per_term * terms.size());
  if (!(freedom >= 1)) return out;
  const double variance = energy / freedom;

  // From the covariance of one term's parameters in (theta, Re alpha, Im alpha).
  auto fill = [&](const Term& term, auto&& covariance, bool with_amplitude, TermErrors& errors) {
    auto root = [&](double v) {
      return v > 0 && std::isfinite(v) ? std::sqrt(v * variance) : v == 0 ? 0.0 : kUndetermined;
    };
    for (std::size_t i = 0; i < 4; ++i) errors[i] = root(covariance(i, i));
    if (!with_amplitude) return;
    const double p = term.alpha.real(), q = term.alpha.imag(), a2 = p * p + q * q;
    if (!(a2 > 0)) return;
    if (phase_fixed) {
      errors[4] = root(covariance(4, 4));
      return;
    }
    const double vpp = covariance(4, 4), vpq = covariance(4, 5), vqq = covariance(5, 5);
    errors[4] = root((p * p * vpp + 2 * p * q * vpq + q * q * vqq) / a2);
    errors[5] = root((q * q * vpp - 2 * p * q * vpq + p * p * vqq) / (a2 * a2));
  };
  // Columns of the inverse of a matrix scaled to a unit diagonal; false if not positive definite.
  auto invert = [](std::vector<double> matrix, std::size_t n, std::vector<double>& inverse) {
    std::vector<double> scale(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!(matrix[i * n + i] > 0)) return false;
      scale[i] = 1 / std::sqrt(matrix[i * n + i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] *= scale[i] * scale[j];
    }
    if (!cholesky(matrix, n)) return false;
    for (std::size_t i = 0; i < n; ++i) {
      if (matrix[i * n + i] < 1e-6) return false;
    }
    inverse.assign(n * n, 0.0);
    std::vector<double> column(n);
    for (std::size_t j = 0; j < n; ++j) {
      std::fill(column.begin(), column.end(), 0.0);
      column[j] = 1;
      cholesky_solve(matrix, n, column.data());
      for (std::size_t i = 0; i < n; ++i) inverse[i * n + j] = column[i] * scale[i] * scale[j];
    }
    return true;
  };

  std::vector<double> inverse;
  if (joint && terms.size() > 1) {
    std::vector<double> matrix, right;
    const std::vector<Column> jacobians = all_columns(samples, terms, static_cast<int>(per_term));
    normal_equations(jacobians, nullptr, matrix, right);
    const std::size_t n = jacobians.size();
    if (invert(matrix, n, inverse)) {
      for (std::size_t t = 0; t < terms.size(); ++t) {
        const std::size_t base = t * per_term;
        fill(
            terms[t], [&](std::size_t i, std::size_t j) { return inverse[(base + i) * n + base + j]; }, true, out[t]);
      }
      return out;
    }
  }
  std::vector<double> own(static_cast<std::size_t>(samples.size));
  for (std::size_t t = 0; t < terms.size(); ++t) {
    own = residual;
    atoms::add_atom(terms[t].atom, terms[t].alpha, 1, own.data(), samples.size);
    const auto c = atoms::curvature<double>({own.data(), samples.weight, samples.size}, terms[t].atom, phase_fixed);
    const bool parallel = c.fit.parallel && !phase_fixed;
    const std::size_t n = parallel ? 4 : per_term;
    bool done = false;
    for (int kind = 0; kind < 2 && !done; ++kind) {
      std::vector<double> matrix(n * n);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const int a = static_cast<int>(i), b = static_cast<int>(j);
          matrix[i * n + j] = parallel ? c.reduced[a][static_cast<std::size_t>(b)]
                                       : (kind == 0 ? c.full : c.expected)[a][static_cast<std::size_t>(b)];
        }
      }
      done = invert(matrix, n, inverse);
    }
    if (done)
      fill(
          terms[t], [&](std::size_t i, std::size_t j) { return inverse[i * n + j]; }, !parallel, out[t]);
  }
  return out;
}

}  // namespace envoi::pursuit
