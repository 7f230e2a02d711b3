// Argmax, top-k and pair energies: which wins, ties, NaN; and block maxima, on which searches rely.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/thread_pool.hpp"
#include "gemm/gemm.hpp"
#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

struct Candidate {
  double key, value;
  std::int64_t index;
};
std::vector<Winner> best_of(std::vector<Candidate> candidates, std::int64_t k) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.key != b.key ? a.key > b.key : a.index < b.index; });
  std::vector<Winner> winners(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < winners.size() && i < candidates.size(); ++i) {
    winners[i] = {candidates[i].value, candidates[i].index};
  }
  return winners;
}

// From the product that `store` gives, whose bits are the accumulators'.
template <class T>
std::vector<Winner> expected(const std::vector<T>& c, std::int64_t m, std::int64_t n, Over over, By by,
                             std::int64_t k) {
  std::vector<Winner> all;
  for (std::int64_t slot = 0; slot < (over == Over::columns ? m : n); ++slot) {
    std::vector<Candidate> candidates;
    for (std::int64_t i = 0; i < (over == Over::columns ? n : m); ++i) {
      const double value = c[static_cast<std::size_t>(over == Over::columns ? slot * n + i : i * n + slot)];
      candidates.push_back({by == By::value ? value : std::abs(value), value, i});
    }
    const auto best = best_of(candidates, k);
    all.insert(all.end(), best.begin(), best.end());
  }
  return all;
}

void expect_same(const std::vector<Winner>& found, const std::vector<Winner>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].index, wanted[i].index) << i;
    if (wanted[i].index >= 0) {
      ASSERT_EQ(found[i].value, wanted[i].value) << i;
    }
  }
}

template <class T>
void check_winners(bool with_ties) {
  for (int i = 0; i < effort(50); ++i) {
    const std::int64_t m = draw(1, 300), n = draw(1, 300), depth = draw(0, 40), k = draw(1, 12);
    std::vector<T> a = noise<T>(m * depth), b = noise<T>(depth * n), c(static_cast<std::size_t>(m * n));
    if (with_ties) {  // few values, both signs
      for (T& x : a) x = static_cast<T>(draw(-1, 1));
      for (T& x : b) x = static_cast<T>(draw(-1, 1));
    }
    const Matrix left(a.data(), m, depth), right(b.data(), depth, n);
    store(left, right, MutableMatrix(c.data(), m, n));
    for (const Over over : {Over::columns, Over::rows}) {
      for (const By by : {By::value, By::magnitude}) {
        const auto threads = static_cast<unsigned>(draw(1, 3));
        expect_same(top_k(left, right, over, by, k, threads), expected(c, m, n, over, by, k));
        expect_same(argmax(left, right, over, by, threads), expected(c, m, n, over, by, 1));
      }
    }
    if (n % 2 == 0) {
      std::vector<Winner> wanted;
      for (std::int64_t row = 0; row < m; ++row) {
        std::vector<Candidate> candidates;
        for (std::int64_t p = 0; p < n / 2; ++p) {
          const T x = c[static_cast<std::size_t>(row * n + 2 * p)],
                  y = c[static_cast<std::size_t>(row * n + 2 * p + 1)];
          const T xx = x * x, yy = y * y, energy = xx + yy;
          candidates.push_back({energy, energy, p});
        }
        const auto best = best_of(candidates, k);
        wanted.insert(wanted.end(), best.begin(), best.end());
      }
      expect_same(pair_energy(left, right, k), wanted);
    }
  }
}

TEST(gemm_winners, fp32) { check_winners<float>(false); }
TEST(gemm_winners, fp64) { check_winners<double>(false); }
TEST(gemm_winners, ties_go_to_the_lowest_index) {
  check_winners<float>(true);
  check_winners<double>(true);
}

TEST(gemm_winners, nan_is_an_error_that_names_the_first_place) {
  for (int i = 0; i < effort(60); ++i) {
    const std::int64_t m = draw(1, 200), n = 2 * draw(1, 100), depth = draw(1, 20);
    std::vector<float> a = noise<float>(m * depth), b = noise<float>(depth * n);
    const int row = draw(0, static_cast<int>(m) - 1);
    a[static_cast<std::size_t>(row * depth + draw(0, static_cast<int>(depth) - 1))] = NAN;
    if (i % 2) a[static_cast<std::size_t>((row + m - 1) / 2 * depth)] = NAN;  // a later one
    const Matrix left(a.data(), m, depth), right(b.data(), depth, n);
    const std::string place = "row " + std::to_string(row) + ", ";
    for (int which = 0; which < 5; ++which) {
      try {
        if (which == 4) {
          pair_energy(left, right);
        } else {
          argmax(left, right, which & 1 ? Over::rows : Over::columns, which & 2 ? By::value : By::magnitude, 3);
        }
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::numerical);
        EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what() << " wanted " << place;
      }
    }
  }
}

TEST(gemm_winners, infinities_win_and_all_minus_infinity_has_a_winner) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> a(130, -inf), b{1};
  const Matrix left(a.data(), 130, 1), right(b.data(), 1, 1);
  Winner best = argmax(left, right, Over::rows, By::value)[0];
  EXPECT_EQ(best.index, 0);
  EXPECT_EQ(best.value, -inf);
  a[77] = inf;
  best = argmax(left, right, Over::rows, By::value)[0];
  EXPECT_EQ(best.index, 77);
}

TEST(gemm_winners, no_candidate_is_index_minus_one) {
  std::vector<float> one(8);
  const auto found = argmax(Matrix(one.data(), 3, 2), Matrix(one.data(), 2, 0), Over::columns, By::value);
  ASSERT_EQ(found.size(), 3u);
  for (const Winner& winner : found) EXPECT_EQ(winner.index, -1);
  EXPECT_TRUE(argmax(Matrix(one.data(), 3, 2), Matrix(one.data(), 2, 0), Over::rows, By::value).empty());
}

TEST(gemm_winners, nan_stays_in_block_maxima) {
  core::ThreadPool pool(1);
  std::vector<float> a = noise<float>(200), b = noise<float>(21), maxima(4 * 21);
  a[70] = NAN, a[199] = NAN;
  block_maxima(Matrix(a.data(), 200, 1), Matrix(b.data(), 1, 21), MutableMatrix(maxima.data(), 4, 21), pool);
  for (std::size_t i = 0; i < maxima.size(); ++i) ASSERT_EQ(std::isnan(maxima[i]), i / 21 == 1 || i / 21 == 3);
}

TEST(gemm_winners, block_maxima_are_the_largest_magnitudes_of_64_rows) {
  core::ThreadPool pool(3);
  for (int i = 0; i < effort(40); ++i) {
    const std::int64_t m = draw(1, 700), n = draw(1, 80), depth = draw(1, 40), blocks = (m + kTileRows - 1) / kTileRows;
    const std::vector<float> a = noise<float>(m * depth), b = noise<float>(depth * n);
    std::vector<float> c(static_cast<std::size_t>(m * n)), maxima(static_cast<std::size_t>(blocks * (n + 1)), -1.0f);
    const Matrix left(a.data(), m, depth), right(b.data(), depth, n);
    store(left, right, MutableMatrix(c.data(), m, n));
    block_maxima(left, right, MutableMatrix(maxima.data(), blocks, n, n + 1), pool);
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t j = 0; j < n; ++j) {
        float largest = 0;
        for (std::int64_t r = block * kTileRows; r < std::min(m, (block + 1) * kTileRows); ++r) {
          largest = std::max(largest, std::abs(c[static_cast<std::size_t>(r * n + j)]));
        }
        ASSERT_EQ(maxima[static_cast<std::size_t>(block * (n + 1) + j)], largest);
      }
      ASSERT_EQ(maxima[static_cast<std::size_t>(block * (n + 1) + n)], -1.0f);
    }
  }
}

}  // namespace
}  // namespace envoi::gemm::tests
