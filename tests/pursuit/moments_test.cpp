// The moments of refinement beside plain ones in long double.
#include "pursuit/cpu/moments.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "effort.hpp"
#include "pursuit/random.hpp"

namespace envoi {
namespace {

TEST(Isa, fast_moments_agree_with_plain_ones) {
  tests::Random random(11);
  for (int trial = 0; trial < tests::effort(400); ++trial) {
    const auto samples = static_cast<std::int64_t>(random.integer(1, 700));
    std::vector<double> x(static_cast<std::size_t>(samples));
    for (double& v : x) v = random.normal();
    std::vector<double> weight;
    if (trial % 3 == 0) {
      weight = random.leave_out(x);
      for (std::size_t n = 0; n < x.size(); ++n) {
        if (weight[n] == 0) x[n] = 1e3;  // what is missing counts for nothing
      }
    }
    atoms::Atom atom;
    atom.set_centre(random.uniform(-20, static_cast<double>(samples) + 20));
    atom.frequency = random.uniform(0, 0.5);
    atom.ln_duration = std::log(random.uniform(0.5, 120));
    atom.chirp_rate = random.uniform(-1, 1) * 1e-3;
    const atoms::Samples of{x.data(), weight.empty() ? nullptr : weight.data(), samples};
    const auto want = atoms::moments<long double, 5>(of, atom);
    const auto got = pursuit::fast_moments(of, atom);
    // Scale: the sum of the magnitudes, of which rounding leaves a share.
    long double scale[5] = {}, squares[5] = {};
    atoms::for_each_sample<long double>(
        atom, atoms::support(atom, samples), [&](std::int64_t k, long double u, std::complex<long double> g) {
          const auto n = static_cast<std::size_t>(atom.sample + k);
          if (!weight.empty() && weight[n] == 0) return;
          for (int q = 0; q < 5; ++q) {
            scale[q] += std::abs(x[n]) * std::abs(g) * std::pow(std::abs(u), static_cast<long double>(q));
            squares[q] += std::norm(g) * std::pow(std::abs(u), static_cast<long double>(q));
          }
        });
    for (std::size_t q = 0; q < 5; ++q) {
      const auto close = [&](std::complex<double> a, std::complex<long double> b, long double of_scale) {
        EXPECT_LE(std::abs(std::complex<long double>(a) - b), 1e-12L * of_scale) << "trial " << trial << " order " << q;
      };
      close(got.x[q], want.x[q], scale[q]);
      close(got.p[q], want.p[q], squares[q]);
      close(got.s[q], want.s[q], squares[q]);
    }
  }
}

}  // namespace
}  // namespace envoi
