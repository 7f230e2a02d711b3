// The formulas of one atom against plain sums and differences in long double.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "atoms/chirplet.hpp"
#include "effort.hpp"

namespace envoi::atoms {
namespace {

using Long = long double;

struct Draw {
  std::vector<double> value, weight;
  Atom atom;
  Samples samples(bool weighted = false) const {
    return {value.data(), weighted ? weight.data() : nullptr, static_cast<std::int64_t>(value.size())};
  }
};

// Kinds: 0 inside, 1 low frequency (|kappa| up to 0.99), 2 near Nyquist, 3 cut at the left edge, 4 cut at the right.
Draw draw(std::mt19937_64& random, int kind) {
  auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  Draw out;
  const int size = 300;
  std::normal_distribution<double> normal;
  for (int n = 0; n < size; ++n) out.value.push_back(normal(random)), out.weight.push_back(uniform(0, 1) < 0.8 ? 1 : 0);
  const double d = uniform(6, 20);
  out.atom.set_centre(kind == 3 ? uniform(0, 4) : kind == 4 ? uniform(295, 299) : uniform(130, 170));
  out.atom.ln_duration = std::log(d);
  out.atom.frequency = kind == 1   ? uniform(0.025, 0.1) / d
                       : kind == 2 ? 0.5 - uniform(0.025, 0.1) / d
                                   : uniform(0.05, 0.4);
  out.atom.chirp_rate = uniform(-1, 1) / (d * d) * (kind == 1 || kind == 2 ? 0.01 : 1);
  // Signal: a similar atom and noise, so that amplitudes are of the usual size.
  Atom near = out.atom;
  near.frequency *= 1.01, near.ln_duration += 0.05;
  add_atom(near, std::polar(3.0, uniform(-3, 3)), 1, out.value.data(), size);
  return out;
}

Long energy_by_least_squares(const Samples& samples, const Atom& atom) {
  // Solve the 2 x 2 normal equations of Re g and Im g directly.
  Long cc = 0, cs = 0, ss = 0, xc = 0, xs = 0;
  const Long d = std::exp(static_cast<Long>(atom.ln_duration)), pi = std::numbers::pi_v<Long>;
  const Support range = support(atom, samples.size);
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const std::int64_t n = atom.sample + k;
    if (samples.weight && samples.weight[n] == 0) continue;
    const Long u = static_cast<Long>(k) - atom.offset;
    const Long e = std::exp(-u * u / (2 * d * d));
    const Long phase =
        2 * pi * (static_cast<Long>(atom.frequency) * u + static_cast<Long>(atom.chirp_rate) * u * u / 2);
    const Long c = e * std::cos(phase), s = e * std::sin(phase), x = samples.value[n];
    cc += c * c, cs += c * s, ss += s * s, xc += x * c, xs += x * s;
  }
  const Long det = cc * ss - cs * cs;
  return (ss * xc * xc - 2 * cs * xc * xs + cc * xs * xs) / det;
}

TEST(Atoms, energy_is_that_of_the_least_squares_fit) {
  std::mt19937_64 random(1);
  for (int i = 0; i < tests::effort(200); ++i) {
    const Draw d = draw(random, i % 5);
    for (const bool weighted : {false, true}) {
      const Moments<double> m = moments<double, 1>(d.samples(weighted), d.atom);
      const Fit<double> f = fit(m, false);
      if (f.parallel) continue;
      const Long want = energy_by_least_squares(d.samples(weighted), d.atom);
      EXPECT_NEAR(f.energy, static_cast<double>(want), 1e-9 * static_cast<double>(want))
          << "kind " << i % 5 << " kappa " << f.kappa_magnitude;
    }
  }
}

TEST(Atoms, conjugating_kappa_in_the_energy_would_be_grossly_wrong) {
  std::mt19937_64 random(2);
  double worst = 0;
  for (int i = 0; i < 50; ++i) {
    const Draw d = draw(random, 3);
    Moments<double> m = moments<double, 1>(d.samples(), d.atom);
    const double right = fit(m, false).energy;
    m.s[0] = std::conj(m.s[0]);
    worst = std::max(worst, std::abs(fit(m, false).energy - right) / right);
  }
  EXPECT_GT(worst, 0.01);
}

TEST(Atoms, subtracting_the_fit_takes_out_its_energy) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    Draw d = draw(random, i % 5);
    const Fit<double> f = fit(moments<double, 1>(d.samples(), d.atom), false);
    double before = 0, after = 0;
    for (const double x : d.value) before += x * x;
    add_atom(d.atom, f.alpha, -1, d.value.data(), static_cast<std::int64_t>(d.value.size()));
    for (const double x : d.value) after += x * x;
    EXPECT_NEAR(before - after, f.energy, 1e-9 * before);
  }
}

TEST(Atoms, parallel_quadratures_count_as_one) {
  std::vector<double> ones(64, 1.0);
  Atom atom;
  atom.set_centre(32);
  atom.ln_duration = std::log(5.0);
  const Fit<double> f = fit(moments<double, 1>({ones.data(), nullptr, 64}, atom), false);
  EXPECT_TRUE(f.parallel);
  EXPECT_LT(std::abs(f.alpha), 2);
  EXPECT_GT(f.energy, 0);
}

// The support is held still: the formulas do not count atoms growing over another sample.
Long profile(const Draw& d, const std::array<Long, 4>& shift, Support range, bool phase_fixed) {
  const Long pi = std::numbers::pi_v<Long>;
  const Long tc = static_cast<Long>(d.atom.offset) + shift[0], f = static_cast<Long>(d.atom.frequency) + shift[1];
  const Long dd = std::exp(static_cast<Long>(d.atom.ln_duration) + shift[2]),
             c = static_cast<Long>(d.atom.chirp_rate) + shift[3];
  Long cc = 0, cs = 0, ss = 0, xc = 0, xs = 0;
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const Long u = static_cast<Long>(k) - tc, e = std::exp(-u * u / (2 * dd * dd)),
               phase = 2 * pi * (f * u + c * u * u / 2);
    const Long a = e * std::cos(phase), b = e * std::sin(phase),
               x = d.value[static_cast<std::size_t>(d.atom.sample + k)];
    cc += a * a, cs += a * b, ss += b * b, xc += x * a, xs += x * b;
  }
  return phase_fixed ? xc * xc / cc : (ss * xc * xc - 2 * cs * xc * xs + cc * xs * xs) / (cc * ss - cs * cs);
}

TEST(Atoms, gradient_and_hessian_equal_differences_in_long_double) {
  std::mt19937_64 random(4);
  for (int i = 0; i < tests::effort(200); ++i) {
    const Draw d = draw(random, i % 5);
    for (const bool phase_fixed : {false, true}) {
      const Curvature<double> c = curvature<double>(d.samples(), d.atom, phase_fixed);
      if (c.fit.parallel && !phase_fixed) continue;
      const Support range = support(d.atom, static_cast<std::int64_t>(d.value.size()));
      const Long duration = d.atom.duration();
      const Long unit[4] = {duration / 20, 1 / (6 * duration), 1, 1 / (3 * duration * duration)};
      // Scale of the second derivatives in these units, to compare against.
      double scale = c.fit.energy;
      for (int a = 0; a < 4; ++a)
        scale = std::max(
            scale, std::abs(2 * c.reduced[a][static_cast<std::size_t>(a)]) * static_cast<double>(unit[a] * unit[a]));
      const Long h = 1e-4L;
      auto at = [&](int a, Long x, int b, Long y) {
        std::array<Long, 4> shift{};
        shift[static_cast<std::size_t>(a)] += x * unit[a];
        shift[static_cast<std::size_t>(b)] += y * unit[b];
        return profile(d, shift, range, phase_fixed);
      };
      for (int a = 0; a < 4; ++a) {
        // Fourth-order differences.
        const Long first =
            (8 * (at(a, h, a, 0) - at(a, -h, a, 0)) - (at(a, 2 * h, a, 0) - at(a, -2 * h, a, 0))) / (12 * h);
        EXPECT_NEAR(c.gradient[static_cast<std::size_t>(a)] * static_cast<double>(unit[a]), static_cast<double>(first),
                    1e-6 * scale)
            << "kind " << i % 5 << " parameter " << a;
        for (int b = 0; b <= a; ++b) {
          auto mixed = [&](Long step) {
            return a == b ? (at(a, step, a, 0) - 2 * at(a, 0, a, 0) + at(a, -step, a, 0)) / (step * step)
                          : (at(a, step, b, step) - at(a, step, b, -step) - at(a, -step, b, step) +
                             at(a, -step, b, -step)) /
                                (4 * step * step);
          };
          const Long second = (4 * mixed(h) - mixed(2 * h)) / 3;
          const double got = -2 * c.reduced[a][static_cast<std::size_t>(b)] * static_cast<double>(unit[a] * unit[b]);
          EXPECT_NEAR(got, static_cast<double>(second), 1e-6 * scale)
              << "kind " << i % 5 << " parameters " << a << b << " kappa " << c.fit.kappa_magnitude;
        }
      }
    }
  }
}

TEST(Atoms, a_shift_by_whole_samples_changes_no_other_bit) {
  std::mt19937_64 random(5);
  Draw d = draw(random, 0);
  std::vector<double> longer(400, 0.0);
  std::copy(d.value.begin(), d.value.end(), longer.begin() + 37);
  Atom moved = d.atom;
  moved.sample += 37;
  const auto a = curvature<double>(d.samples(), d.atom, false);
  const auto b = curvature<double>({longer.data(), nullptr, 400}, moved, false);
  EXPECT_EQ(a.fit.energy, b.fit.energy);
  EXPECT_EQ(a.gradient, b.gradient);
}

}  // namespace
}  // namespace envoi::atoms
