// Newton's method with damping where the Hessian is not definite, on the free parameters of an active set.
#include "pursuit/refine.hpp"

#include <algorithm>
#include <cmath>

#include "pursuit/cpu/moments.hpp"

namespace envoi::pursuit {

using atoms::Atom;
using atoms::kCentre;
using atoms::kChirpRate;
using atoms::kFrequency;
using atoms::kLnDuration;
using atoms::kParameters;
using atoms::Limits;

double chirp_rate_limit(double frequency, double ln_duration, const Limits& limits) {
  const double room = std::min(frequency - limits.low[kFrequency], limits.high[kFrequency] - frequency);
  return std::max(0.0, room) / std::exp(ln_duration);
}

Atom clamp(const Atom& atom, const Limits& limits) {
  Atom result = atom;
  const double centre = atom.centre();
  if (centre < limits.low[kCentre]) result.move_to(0, limits.low[kCentre]);
  if (centre > limits.high[kCentre]) result.move_to(0, limits.high[kCentre]);
  result.frequency = std::clamp(atom.frequency, limits.low[kFrequency], limits.high[kFrequency]);
  result.ln_duration = std::clamp(atom.ln_duration, limits.low[kLnDuration], limits.high[kLnDuration]);
  double low = limits.low[kChirpRate], high = limits.high[kChirpRate];
  if (limits.ridge) {
    const double most = chirp_rate_limit(result.frequency, result.ln_duration, limits);
    // A range given by the user that the ridge cannot meet gives way to the ridge.
    low = std::clamp(low, -most, most), high = std::clamp(high, -most, most);
  }
  result.chirp_rate = std::clamp(atom.chirp_rate, low, high);
  return result;
}

namespace {

double& parameter(Atom& atom, int i) {
  return i == kFrequency ? atom.frequency : i == kLnDuration ? atom.ln_duration : atom.chirp_rate;
}

// The step in the free directions, as a step of all four parameters. `basis` maps free directions to parameters.
struct Basis {
  int size = 0;
  double direction[kParameters][kParameters] = {};  // [free][parameter]
};

// Parameters at a limit that the gradient pushes against are held; a chirp rate on the ridge's limit moves with it.
Basis free_directions(const Atom& atom, const std::array<double, kParameters>& gradient, const Limits& limits) {
  const double at[kParameters] = {atom.centre(), atom.frequency, atom.ln_duration, atom.chirp_rate};
  double ridge[kParameters] = {};  // d chirp rate / d parameter on the limit
  bool on_ridge = false, held[kParameters] = {};
  for (int i = 0; i < kParameters; ++i) {
    held[i] = limits.low[i] >= limits.high[i] || (at[i] <= limits.low[i] && gradient[i] < 0) ||
              (at[i] >= limits.high[i] && gradient[i] > 0);
  }
  if (limits.ridge && !held[kChirpRate]) {
    const double most = chirp_rate_limit(atom.frequency, atom.ln_duration, limits);
    const double sign = atom.chirp_rate < 0 ? -1 : 1;
    if (std::abs(atom.chirp_rate) >= most * (1 - 1e-12) && gradient[kChirpRate] * sign > 0) {
      on_ridge = held[kChirpRate] = true;
      const bool lower = atom.frequency - limits.low[kFrequency] < limits.high[kFrequency] - atom.frequency;
      ridge[kFrequency] = (lower ? 1 : -1) * sign / std::exp(atom.ln_duration);
      ridge[kLnDuration] = -atom.chirp_rate;
      for (int i = 1; i < kChirpRate; ++i) {  // whether a limit pushes is a matter of the whole direction
        const double along = gradient[i] + ridge[i] * gradient[kChirpRate];
        held[i] = limits.low[i] >= limits.high[i] || (at[i] <= limits.low[i] && along < 0) ||
                  (at[i] >= limits.high[i] && along > 0);
      }
    }
  }
  Basis basis;
  for (int i = 0; i < kParameters; ++i) {
    if (held[i]) continue;
    basis.direction[basis.size][i] = 1;
    if (on_ridge) basis.direction[basis.size][kChirpRate] = ridge[i];
    ++basis.size;
  }
  return basis;
}

}  // namespace

Atom climb(const std::function<Slope(const Atom&)>& slope, const Atom& start, const Limits& limits) {
  constexpr int kMostSteps = 100;
  constexpr double kSettled = 1e-13;  // gain of a full step, share of the energy
  Atom atom = clamp(start, limits);
  Slope here = slope(atom);
  double damping = 0;
  for (int step = 0; step < kMostSteps && here.energy > 0; ++step) {
    const Basis basis = free_directions(atom, here.gradient, limits);
    if (basis.size == 0) break;
    const double d = atom.duration();
    const double natural[kParameters] = {d, 1 / (2 * std::numbers::pi * d), 1, 1 / (std::numbers::pi * d * d)};
    atoms::SmallMatrix<double, kParameters> matrix;
    double gradient[kParameters] = {};
    for (int a = 0; a < basis.size; ++a) {
      for (int i = 0; i < kParameters; ++i) gradient[a] += basis.direction[a][i] * here.gradient[i] / 2;
      for (int b = 0; b < basis.size; ++b) {
        for (int i = 0; i < kParameters; ++i) {
          for (int j = 0; j < kParameters; ++j)
            matrix[a][b] += basis.direction[a][i] * here.curvature[i][j] * basis.direction[b][j];
        }
      }
    }
    // In natural units of each free direction.
    double unit[kParameters], diagonal = 0;
    for (int a = 0, i = 0; a < basis.size; ++a, ++i) {
      while (basis.direction[a][i] != 1) ++i;
      unit[a] = natural[i];
    }
    for (int a = 0; a < basis.size; ++a) {
      gradient[a] *= unit[a];
      for (int b = 0; b < basis.size; ++b) matrix[a][b] *= unit[a] * unit[b];
      diagonal = std::max(diagonal, std::abs(matrix[a][a]));
    }
    if (!(diagonal > 0) || !std::isfinite(diagonal)) break;

    bool moved = false;
    double gain = 0, predicted = 0;
    for (int attempt = 0; attempt < 40 && !moved; ++attempt) {
      auto factor = matrix;
      for (int a = 0; a < basis.size; ++a) factor[a][a] += damping * diagonal;
      if (!atoms::cholesky(factor, basis.size)) {
        damping = std::max(2 * damping, 1e-3);
        continue;
      }
      double free_step[kParameters];
      std::copy(gradient, gradient + basis.size, free_step);
      atoms::cholesky_solve(factor, free_step, basis.size);
      double longest = 0;
      predicted = 0;
      for (int a = 0; a < basis.size; ++a) {
        longest = std::max(longest, std::abs(free_step[a]));
        predicted += free_step[a] * gradient[a];
      }
      if (longest > 1) {  // farther than the atom's own size: the quadratic model means nothing there
        damping = std::max(2 * damping, 1e-3);
        if (attempt < 30) continue;
      }
      double move[kParameters] = {};
      for (int a = 0; a < basis.size; ++a) {
        for (int i = 0; i < kParameters; ++i) move[i] += basis.direction[a][i] * free_step[a] * unit[a];
      }
      Atom next = atom;
      next.move_to(atom.sample, atom.offset + move[kCentre]);
      for (int i = kFrequency; i < kParameters; ++i) parameter(next, i) += move[i];
      next = clamp(next, limits);
      const Slope there = slope(next);
      if (there.energy > here.energy) {
        gain = there.energy - here.energy;
        atom = next;
        here = there;
        damping = damping > 1e-9 ? damping / 8 : 0;
        moved = true;
      } else {
        if (predicted <= kSettled * here.energy) break;
        damping = std::max(4 * damping, 1e-6);
      }
    }
    if (!moved || (gain <= kSettled * here.energy && predicted <= kSettled * here.energy)) break;
  }
  return atom;
}

Refined refine(const atoms::Samples& samples, const Atom& start, const Limits& limits, bool phase_fixed) {
  Refined out;
  double best = -1;
  // climb() never ends below what it has seen: its last improvement is where it stays.
  const auto slope = [&](const Atom& atom) {
    const auto here = atoms::curvature(fast_moments(samples, atom), atom, phase_fixed);
    if (here.fit.energy > best) {
      best = here.fit.energy;
      out = {atom, here.fit};
    }
    return Slope{here.fit.energy, here.gradient, here.reduced};
  };
  climb(slope, start, limits);
  return out;
}

}  // namespace envoi::pursuit
