// The dense search against plain fp64, and the promises made about its bits.
#include "pursuit/dense_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "effort.hpp"
#include "envoi/error.hpp"
#include "envoi/search.hpp"
#include "pursuit/dense_screen.hpp"
#include "pursuit/random.hpp"

namespace envoi {
namespace {

using tests::Random;

// The documented sum.
template <class A, class B>
double plain_dot(const A* a, const B* b, std::size_t size) {
  double s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < size; ++i) s[i % 8] = s[i % 8] + static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// The documented choice, by brute force.
template <class T>
std::vector<Match> plain_search(const std::vector<T>& rows, const double* signal, std::size_t samples, std::size_t k,
                                bool normalize) {
  std::vector<double> scores;
  for (std::size_t r = 0; r < rows.size() / samples; ++r) {
    const T* row = rows.data() + r * samples;
    double score = plain_dot(row, signal, samples);
    if (normalize) {
      const double norm = std::sqrt(plain_dot(row, row, samples));
      score = norm > 0 ? score / norm : 0;
    }
    scores.push_back(score);
  }
  std::vector<bool> taken(scores.size(), false);
  std::vector<Match> best;
  while (best.size() < k) {
    double largest = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!taken[i]) largest = std::max(largest, std::abs(scores[i]));
    }
    std::size_t i = 0;
    while (taken[i] || std::abs(scores[i]) < (1 - 1e-12) * largest) ++i;
    taken[i] = true;
    best.push_back({i, scores[i]});
  }
  return best;
}

// Fewer draws where the same test runs once for every instruction set.
int draws(int count) { return tests::effort(std::getenv("ENVOI_ISA") ? count / 10 : count); }

bool same(const std::vector<Match>& a, const std::vector<Match>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Match& x, const Match& y) { return x.index == y.index && x.score == y.score; });
}

struct Case {
  std::size_t atoms, samples;
  std::vector<double> rows, signals;
};

// Rows of every unpleasant kind. `narrow`: each number is one of fp32.
Case draw(Random& random, bool narrow) {
  Case c;
  c.samples = static_cast<std::size_t>(random.integer(0, 9) == 0 ? random.integer(1, 3) : random.integer(1, 48));
  c.atoms = static_cast<std::size_t>(random.integer(0, 4) == 0 ? random.integer(300, 900) : random.integer(1, 200));
  const auto count = static_cast<std::size_t>(random.integer(1, 3));
  for (std::size_t i = 0; i < count * c.samples; ++i) c.signals.push_back(random.normal());
  if (random.integer(0, 19) == 0) std::fill_n(c.signals.begin(), c.samples, 0.0);
  const double signal_scale = random.integer(0, 3) == 0 ? std::pow(10.0, random.uniform(-25, 25)) : 1;
  for (double& x : c.signals) x *= signal_scale;
  const int scene = random.integer(0, 6);
  const double step = std::pow(10.0, random.uniform(-9, -3));
  std::vector<double> base(c.samples);
  for (double& x : base) x = random.normal();
  for (std::size_t r = 0; r < c.atoms; ++r) {
    const int kind = scene == 6 ? random.integer(0, 5) : scene;
    double scale = 1;
    if (kind == 2) scale = std::pow(10.0, random.uniform(-20, 20));
    if (kind == 3) scale = random.integer(0, 1) ? 1 : 0;
    if (kind == 4) scale = std::ldexp(1.0, random.integer(-146, -120));  // fp32's denormals
    for (std::size_t i = 0; i < c.samples; ++i) {
      double value = scale * random.normal();
      if (kind == 1) value = base[i] * (1 + step * random.normal());  // near-duplicates
      if (kind == 5) value = random.integer(-1, 1);                   // exact ties
      c.rows.push_back(narrow ? static_cast<double>(static_cast<float>(value)) : value);
    }
  }
  return c;
}

struct Tally {
  int signals = 0, wrong = 0, fell_back = 0;
};

template <class T>
void judge(const Case& c, Random& random, Tally& tally) {
  const std::vector<T> rows(c.rows.begin(), c.rows.end());
  SearchOptions options;
  options.k = static_cast<std::size_t>(
      random.integer(1, static_cast<int>(std::min<std::size_t>(c.atoms, random.integer(0, 9) == 0 ? 200 : 4))));
  options.normalize = random.integer(0, 2) == 0;
  options.threads = random.integer(0, 9) == 0 ? static_cast<unsigned>(random.integer(2, 7)) : 1;
  Dictionary dictionary(rows.data(), c.atoms, c.samples);
  if (random.integer(0, 3) == 0) dictionary.keep_bf16(1);
  const SearchResult found = search(dictionary, std::span<const double>(c.signals), options);
  for (std::size_t s = 0; s < found.signals.size(); ++s) {
    const double* signal = c.signals.data() + s * c.samples;
    const auto expected = plain_search(rows, signal, c.samples, options.k, options.normalize);
    ++tally.signals;
    tally.wrong += same(found.signals[s].best, expected) ? 0 : 1;
    tally.fell_back += found.signals[s].certificate.precision == "f64" ? 1 : 0;
  }
}

TEST(DenseSearch, ten_thousand_unpleasant_cases_equal_fp64_to_the_bit) {
  Random random(20250131);
  Tally tally;
  const int cases = draws(10000);
  for (int i = 0; i < cases; ++i) {
    const bool narrow = random.integer(0, 1) == 0;
    const Case c = draw(random, narrow);
    narrow ? judge<float>(c, random, tally) : judge<double>(c, random, tally);
    ASSERT_EQ(tally.wrong, 0) << "case " << i << ", " << c.atoms << " x " << c.samples << (narrow ? " f32" : " f64");
  }
  const double share = static_cast<double>(tally.fell_back) / tally.signals;
  std::printf("%d cases, %d signals: %.1f %% fell back to fp64 for every atom\n", cases, tally.signals, 100 * share);
  EXPECT_TRUE(tally.fell_back > 0 || cases <= 100);
}

// Rows that differ by about what fp32 rounds off, far from each other in the dictionary.
Tally near_duplicates(int cases) {
  Random random(7);
  Tally tally;
  for (int i = 0; i < cases; ++i) {
    const std::size_t samples = 32, atoms = 3000;
    std::vector<double> base, signal;
    for (std::size_t j = 0; j < samples; ++j) base.push_back(random.normal()), signal.push_back(random.normal());
    std::vector<double> rows;
    for (std::size_t r = 0; r < atoms; ++r) {
      for (const double x : base)
        rows.push_back(x * (1 + (r % 300 == 5 ? 3e-8 : 1e-2) * random.normal() - (r % 300 == 5 ? 0 : 0.5)));
    }
    const Dictionary dictionary(rows.data(), atoms, samples);
    SearchOptions options;
    options.threads = 1;
    const SearchResult found = search(dictionary, std::span<const double>(signal), options);
    ++tally.signals;
    tally.wrong += same(found.signals[0].best, plain_search(rows, signal.data(), samples, 1, false)) ? 0 : 1;
    tally.fell_back += found.signals[0].certificate.precision == "f64" ? 1 : 0;
  }
  return tally;
}

TEST(DenseSearch, a_hundredth_of_the_bound_would_not_do) {
  const Tally sound = near_duplicates(draws(150));
  EXPECT_EQ(sound.wrong, 0);
  EXPECT_EQ(sound.fell_back, 0);
  pursuit::scale_dense_bound_for_test(0.01);
  const Tally loose = near_duplicates(tests::kSanitized ? 30 : 100);
  pursuit::scale_dense_bound_for_test(1);
  std::printf("%d of %d wrong\n", loose.wrong, loose.signals);
  EXPECT_GT(loose.wrong, 0);
}

Case plain_case(std::uint64_t seed, std::size_t atoms, std::size_t samples, std::size_t signals) {
  Random random(seed);
  Case c{atoms, samples, {}, {}};
  for (std::size_t i = 0; i < atoms * samples; ++i) c.rows.push_back(static_cast<float>(random.normal()));
  for (std::size_t i = 0; i < signals * samples; ++i) c.signals.push_back(random.normal());
  return c;
}

TEST(DenseSearch, batches_order_and_threads_change_no_bit) {
  const Case c = plain_case(1, 1111, 130, 21);
  const std::vector<float> narrow(c.rows.begin(), c.rows.end());
  for (const bool normalize : {false, true}) {
    for (const bool bf16 : {false, true}) {
      Dictionary dictionary(narrow.data(), c.atoms, c.samples);
      if (bf16) dictionary.keep_bf16();
      SearchOptions options;
      options.k = 5;
      options.normalize = normalize;
      options.threads = 1;
      const SearchResult all = search(dictionary, std::span<const double>(c.signals), options);
      for (const unsigned threads : {2u, 3u, 7u}) {
        options.threads = threads;
        const SearchResult again = search(dictionary, std::span<const double>(c.signals), options);
        for (std::size_t s = 0; s < 21; ++s) {
          EXPECT_TRUE(same(again.signals[s].best, all.signals[s].best));
          EXPECT_EQ(again.signals[s].certificate.survivors, all.signals[s].certificate.survivors);
          EXPECT_EQ(again.signals[s].certificate.bound, all.signals[s].certificate.bound);
        }
      }
      // The last signals first, three at a time; and each alone.
      for (std::size_t s = 0; s < 21; s += 3) {
        const std::size_t from = 18 - s;
        const auto part = std::span<const double>(c.signals).subspan(from * c.samples, 3 * c.samples);
        const SearchResult three = search(dictionary, part, options);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_TRUE(same(three.signals[i].best, all.signals[from + i].best));
          const SearchResult one = search(dictionary, part.subspan(i * c.samples, c.samples), options);
          EXPECT_TRUE(same(one.signals[0].best, all.signals[from + i].best));
          EXPECT_EQ(one.signals[0].certificate.survivors, all.signals[from + i].certificate.survivors);
        }
      }
    }
  }
}

TEST(DenseSearch, one_signal_is_screened_to_the_bits_of_many) {
  core::ThreadPool pool(1);
  for (const std::size_t samples : {1, 2, 3, 7, 16, 31, 48, 129}) {
    for (const std::size_t atoms : {1, 63, 64, 200, 449}) {
      const Case c = plain_case(samples + atoms, atoms, samples, 1);
      const std::vector<float> narrow(c.rows.begin(), c.rows.end());
      const std::vector<gemm::bfloat16> half(narrow.begin(), narrow.end());
      const pursuit::ScaledSignal signal = pursuit::scale_signal(c.signals);
      const pursuit::ScreenSignals one({&signal}), two({&signal, &signal});
      const std::size_t blocks = (atoms + 63) / 64;
      std::vector<float> alone(blocks), both(2 * blocks);
      const auto compare = [&](const auto& rows) {
        one.block_maxima(rows.data(), samples, atoms, 64, alone.data(), pool);
        two.block_maxima(rows.data(), samples, atoms, 64, both.data(), pool);
        for (std::size_t b = 0; b < blocks; ++b) {
          EXPECT_EQ(alone[b], both[2 * b]) << atoms << " x " << samples;
          EXPECT_EQ(alone[b], both[2 * b + 1]);
        }
      };
      compare(narrow);
      compare(half);
    }
  }
}

TEST(DenseSearch, a_row_scores_the_same_alone_and_in_any_order) {
  const Case c = plain_case(2, 300, 77, 1);
  const std::span<const double> signal(c.signals);
  const Dictionary dictionary(c.rows.data(), c.atoms, c.samples);
  SearchOptions options;
  options.k = c.atoms;
  const std::vector<Match> all = search(dictionary, signal, options).signals[0].best;
  std::vector<std::size_t> order(c.atoms);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  std::vector<double> shuffled;
  for (const std::size_t r : order) {
    shuffled.insert(shuffled.end(), c.rows.begin() + static_cast<long>(r * c.samples),
                    c.rows.begin() + static_cast<long>((r + 1) * c.samples));
  }
  const Dictionary other(shuffled.data(), c.atoms, c.samples);
  const std::vector<Match> again = search(other, signal, options).signals[0].best;
  for (std::size_t i = 0; i < c.atoms; ++i) {
    EXPECT_EQ(all[i].index, order[again[i].index]);
    EXPECT_EQ(all[i].score, again[i].score);
    const Dictionary one(c.rows.data() + all[i].index * c.samples, 1, c.samples);
    EXPECT_EQ(search(one, signal).signals[0].best[0].score, all[i].score);
  }
}

TEST(DenseSearch, powers_of_two_far_outside_fp32_are_only_powers_of_two) {
  const Case c = plain_case(3, 500, 40, 2);
  SearchOptions options;
  options.k = 3;
  for (const bool normalize : {false, true}) {
    options.normalize = normalize;
    const Dictionary plain(c.rows.data(), c.atoms, c.samples);
    const SearchResult expected = search(plain, std::span<const double>(c.signals), options);
    for (const int exponent : {-1035, -900, -140, 130, 1000}) {  // -1035: denormals that hold all of fp32's digits
      std::vector<double> rows, signals;
      for (const double x : c.rows) rows.push_back(std::ldexp(x, exponent));
      for (const double x : c.signals) signals.push_back(std::ldexp(x, -exponent / 2));
      const Dictionary dictionary(rows.data(), c.atoms, c.samples);
      const SearchResult found = search(dictionary, std::span<const double>(signals), options);
      for (std::size_t s = 0; s < 2; ++s) {
        for (std::size_t i = 0; i < options.k; ++i) {
          EXPECT_EQ(found.signals[s].best[i].index, expected.signals[s].best[i].index);
          EXPECT_EQ(found.signals[s].best[i].score,
                    std::ldexp(expected.signals[s].best[i].score, (normalize ? 0 : exponent) - exponent / 2));
        }
        EXPECT_EQ(found.signals[s].certificate.precision, "f32") << exponent;
      }
    }
  }
}

TEST(DenseSearch, few_rows_of_a_plain_dictionary_are_scored_again) {
  const Case c = plain_case(4, 6400, 64, 4);
  const std::vector<float> narrow(c.rows.begin(), c.rows.end());
  const Dictionary dictionary(narrow.data(), c.atoms, c.samples);
  for (const SignalMatches& s : search(dictionary, std::span<const double>(c.signals)).signals) {
    EXPECT_EQ(s.certificate.precision, "f32");
    EXPECT_LE(s.certificate.survivors, 128u);
    EXPECT_GT(s.certificate.bound, 0);
    EXPECT_LT(s.certificate.bound, 1e-4);
  }
}

TEST(DenseSearch, zero_rows_never_win_and_zero_signals_get_the_first_atoms) {
  const std::vector<float> rows = {0, 0, 0, 1e-30f, 0, 0, 3, 4};
  const Dictionary dictionary(rows.data(), 4, 2);
  SearchOptions options;
  options.k = 4;
  options.normalize = true;
  const std::vector<double> signals = {3, 4, 0, 0};
  const SearchResult found = search(dictionary, std::span<const double>(signals), options);
  const std::vector<Match> first = {{3, 5}, {1, 4}, {0, 0}, {2, 0}}, second = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
  EXPECT_TRUE(same(found.signals[0].best, first));
  EXPECT_TRUE(same(found.signals[1].best, second));
}

TEST(DenseSearch, fp64_throughout_and_strided_rows_agree) {
  const Case c = plain_case(5, 400, 33, 3);
  const Dictionary dense(c.rows.data(), c.atoms, c.samples);
  std::vector<float> wide(c.atoms * 40, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t r = 0; r < c.atoms; ++r)
    std::copy_n(c.rows.begin() + static_cast<long>(r * 33), 33, wide.begin() + static_cast<long>(r * 40));
  const Dictionary strided(wide.data(), c.atoms, c.samples, 40);
  SearchOptions options;
  options.k = 7;
  const SearchResult a = search(dense, std::span<const double>(c.signals), options);
  const SearchResult b = search(strided, std::span<const double>(c.signals), options);
  options.precision = Precision::double_;
  const SearchResult d = search(dense, std::span<const double>(c.signals), options);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_TRUE(same(a.signals[s].best, b.signals[s].best));
    EXPECT_TRUE(same(a.signals[s].best, d.signals[s].best));
    EXPECT_EQ(d.signals[s].certificate.precision, "f64");
    EXPECT_EQ(d.signals[s].certificate.survivors, 400u);
  }
}

template <class Call>
std::string message_of(ErrorKind kind, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(DenseSearch, faults_say_what_and_where) {
  Case c = plain_case(6, 300, 20, 2);
  const std::span<const double> signals(c.signals);
  const Dictionary dictionary(c.rows.data(), c.atoms, c.samples);
  SearchOptions options;
  for (const std::size_t k : {0, 301}) {
    options.k = k;
    EXPECT_NE(message_of(ErrorKind::bad_argument, [&] { search(dictionary, signals, options); }).find("300"),
              std::string::npos);
  }
  options = {};
  message_of(ErrorKind::bad_argument, [&] { search(dictionary, signals.first(39), options); });
  message_of(ErrorKind::bad_argument, [&] { Dictionary(c.rows.data(), 0, 20); });
  message_of(ErrorKind::bad_argument, [&] { Dictionary(c.rows.data(), 1, 20, 10); });
  message_of(ErrorKind::bad_argument, [&] { Dictionary(static_cast<const float*>(nullptr), 4, 5); });
  message_of(ErrorKind::bad_argument, [&] { Dictionary(c.rows.data(), std::size_t{1} << 62, 20); });
  options.progress = [](const SearchProgress&) { return false; };
  message_of(ErrorKind::cancelled, [&] { search(dictionary, signals, options); });
  options = {};
  c.signals[27] = std::numeric_limits<double>::infinity();
  EXPECT_NE(message_of(ErrorKind::numerical, [&] { search(dictionary, signals, options); }).find("signal 1, sample 7"),
            std::string::npos);
  c.signals[27] = 0;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    c.rows[150 * 20 + 3] = bad;
    c.rows[290 * 20] = bad;
    const std::vector<float> narrow(c.rows.begin(), c.rows.end());
    for (int kind = 0; kind < 6; ++kind) {
      Dictionary wrong = kind % 2 ? Dictionary(narrow.data(), 300, 20) : Dictionary(c.rows.data(), 300, 20);
      options.precision = kind < 2 ? Precision::exact : Precision::double_;
      const std::string said = message_of(ErrorKind::numerical, [&] {
        if (kind > 3) wrong.keep_bf16();
        search(wrong, signals, options);
      });
      EXPECT_NE(said.find("row 150, column 3"), std::string::npos) << said;
    }
  }
}

TEST(DenseSearch, a_score_beyond_fp64_is_an_error) {
  const std::vector<double> rows(4, 1e200), signal(4, 1e200);
  message_of(ErrorKind::numerical, [&] { search(Dictionary(rows.data(), 1, 4), std::span<const double>(signal)); });
}

}  // namespace
}  // namespace envoi
