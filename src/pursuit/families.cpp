// Families of blocks, how each is searched, and their basis windows.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "pursuit/screen_tables.hpp"

namespace envoi::pursuit {

using atoms::Block;
using atoms::Grid;

namespace {

// What the combination of basis windows may leave of a window of norm 1. It widens the bound of the screen: more would
// leave more atoms to score in fp64, less needs more basis windows.
constexpr double kRest = 2.5e-3;
constexpr double kMostBasisWork = 4e8;  // multiply-adds to find a family's basis windows
constexpr std::size_t kMostBlocks = 64;

std::vector<Pair> pair_rows(const Block& block, bool symmetric) {
  std::vector<Pair> pairs;
  std::vector<std::pair<double, int>> negative;  // -c, row
  const int rows = static_cast<int>(block.rows.size());
  if (symmetric) {
    for (int i = rows; i-- > 0;) {
      if (block.rows[static_cast<std::size_t>(i)].chirp_rate < 0)
        negative.emplace_back(-block.rows[static_cast<std::size_t>(i)].chirp_rate, i);
    }
  }
  std::vector<bool> taken(negative.size());
  for (int i = 0; i < rows; ++i) {
    const double c = block.rows[static_cast<std::size_t>(i)].chirp_rate;
    if (symmetric && c < 0) continue;
    Pair pair{c, {i, -1}};
    const auto mirror = std::lower_bound(negative.begin(), negative.end(), std::pair(c, 0));
    if (mirror != negative.end() && mirror->first == c) {
      pair.row[1] = mirror->second;
      taken[static_cast<std::size_t>(mirror - negative.begin())] = true;
    }
    pairs.push_back(pair);
  }
  for (std::size_t i = 0; i < negative.size(); ++i) {
    if (!taken[i]) pairs.push_back({negative[i].first, {-1, negative[i].second}});
  }
  return pairs;
}

int frequencies_of(const Block& block) {
  std::int64_t most = 0;
  for (const atoms::ChirpRow& row : block.rows) most = std::max(most, row.f_end);
  return static_cast<int>(most);
}

// 1 / frequency step, where that is a whole number to rounding; else 0.
int whole_period(const Block& block) {
  constexpr double kMost = 1 << 20;
  const double points = std::round(1 / block.frequency_step);
  if (!(points >= 8 && points <= kMost) || std::abs(block.frequency_step * points - 1) > 1e-12) return 0;
  return static_cast<int>(points);
}

// Points of a transform whose bins are the block's frequencies, or 0.
int transform_points(const Block& block) {
  const int n = whole_period(block);
  return n % 4 == 0 && atoms::next_smooth(n) == n && frequencies_of(block) <= n ? n : 0;
}

Folding folding_of(const Block& block) {
  const int period = whole_period(block);
  const double halves = 2 * block.frequency_first * period;
  if (period == 0 || std::abs(halves - std::round(halves)) > 1e-9) return {};
  return {period, std::fmod(std::round(halves), 2) != 0};
}

// Scoring one atom of each pair, beside the combination of the sums.
constexpr double kEnding = 12;

double sums_operations(const Family& family) {
  const double frequencies = family.frequencies;
  // A transform's operation takes about twice the time of a product's.
  if (family.transform > 0) return 2 * (5 * family.transform * std::log2(family.transform) + 8 * family.depth);
  return 8 * family.rows() * frequencies + 8 * family.depth;
}

Family alone(const Grid& grid, std::size_t b, int lanes, bool narrow) {
  const Block& block = grid.blocks[b];
  Family family;
  family.blocks = {b};
  family.symmetric =
      block.centre_first == std::floor(block.centre_first) && block.centre_step == std::floor(block.centre_step);
  const double last = block.centre_first + static_cast<double>(block.centres - 1) * block.centre_step;
  const double farthest = std::max({last, static_cast<double>(grid.samples - 1) - block.centre_first, 0.0});
  family.depth = 1 + static_cast<int>(std::min(std::floor(atoms::kSupport * std::exp(block.ln_duration) + 0.5),
                                               std::ceil(farthest) + 1));
  family.tiles = static_cast<int>((block.centres + lanes - 1) / lanes);
  family.frequencies = frequencies_of(block);
  family.mix = {1.0};
  family.rest = {0.0};
  if (narrow && family.symmetric) family.folding = folding_of(block);
  family.pairs = pair_rows(block, family.symmetric);
  if (const int points = transform_points(block); narrow && family.symmetric && points > 0) {
    Family other = family;
    other.transform = points;
    other.folding = {};
    const double bins = 2 * block.frequency_first * points;  // from -f to f, for the first frequency
    if (std::abs(bins - std::round(bins)) <= 1e-9) {
      other.mirror = static_cast<int>(std::fmod(-std::round(bins), points));
      if (other.mirror < 0) other.mirror += points;
    }
    other.pairs = pair_rows(block, other.mirror >= 0);
    if (unit_operations(other) * static_cast<double>(other.pairs.size()) <
        unit_operations(family) * static_cast<double>(family.pairs.size())) {
      family = other;
      family.width = family.frequencies;
    }
  }
  family.chunks = (family.frequencies + family.width - 1) / family.width;
  return family;
}

bool same_axes(const Block& a, const Block& b) {
  return a.centre_first == b.centre_first && a.centre_step == b.centre_step && a.centres == b.centres &&
         a.frequency_first == b.frequency_first && a.frequency_step == b.frequency_step &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    [](const atoms::ChirpRow& x, const atoms::ChirpRow& y) {
                      return x.chirp_rate == y.chirp_rate && x.f_begin == y.f_begin && x.f_end == y.f_end;
                    });
}

// Eigenvectors (columns of `vectors`) of a symmetric matrix by Jacobi's rotations; `a` becomes diagonal.
void diagonalise(std::vector<double>& a, std::vector<double>& vectors, std::size_t n) {
  vectors.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  for (int sweep = 0; sweep < 12; ++sweep) {
    double off = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) off += a[i * n + j] * a[i * n + j];
    }
    if (off < 1e-24 * static_cast<double>(n)) return;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::abs(a[p * n + q]) < 1e-300) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t i = 0; i < n; ++i) {
          const double x = a[i * n + p], y = a[i * n + q];
          a[i * n + p] = c * x - s * y, a[i * n + q] = s * x + c * y;
        }
        for (std::size_t i = 0; i < n; ++i) {
          const double x = a[p * n + i], y = a[q * n + i];
          a[p * n + i] = c * x - s * y, a[q * n + i] = s * x + c * y;
          const double u = vectors[i * n + p], v = vectors[i * n + q];
          vectors[i * n + p] = c * u - s * v, vectors[i * n + q] = s * u + c * v;
        }
      }
    }
  }
}

// The fewest basis windows (principal components of the windows at norm 1) that leave at most kRest of each window;
// false if that takes as many as there are windows.
bool find_basis(const Grid& grid, Family& family) {
  const std::size_t n = family.blocks.size(), depth = static_cast<std::size_t>(family.depth);
  std::vector<double> window(n * depth), norm(n, 0.0);
  const auto both_sides = [](std::size_t k) { return k == 0 ? 1.0 : 2.0; };
  for (std::size_t i = 0; i < n; ++i) {
    const double d = std::exp(grid.blocks[family.blocks[i]].ln_duration);
    for (std::size_t k = 0; k < depth; ++k) {
      const double u = static_cast<double>(k);
      const double w = u <= atoms::kSupport * d ? std::exp(-u * u / (2 * d * d)) : 0;
      window[i * depth + k] = w;
      norm[i] += both_sides(k) * w * w;
    }
    norm[i] = std::sqrt(norm[i]);
  }
  std::vector<double> gram(n * n), vectors;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < depth; ++k) sum += both_sides(k) * window[i * depth + k] * window[j * depth + k];
      gram[i * n + j] = gram[j * n + i] = sum / (norm[i] * norm[j]);
    }
  }
  diagonalise(gram, vectors, n);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return gram[a * n + a] > gram[b * n + b]; });
  for (std::size_t rank = 1; rank < n; ++rank) {
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double rest = 1;
      for (std::size_t j = 0; j < rank; ++j) {
        const double lambda = std::max(gram[order[j] * n + order[j]], 0.0), v = vectors[i * n + order[j]];
        rest -= lambda * v * v;
      }
      worst = std::max(worst, rest);
    }
    if (worst > kRest * kRest) continue;
    family.rank = static_cast<int>(rank);
    family.basis.assign(rank * depth, 0.0);
    family.mix.assign(n * rank, 0.0);
    for (std::size_t j = 0; j < rank; ++j) {
      const double root = std::sqrt(gram[order[j] * n + order[j]]);
      for (std::size_t i = 0; i < n; ++i) {
        const double v = vectors[i * n + order[j]];
        for (std::size_t k = 0; k < depth; ++k)
          family.basis[j * depth + k] += v / (norm[i] * root) * window[i * depth + k];
        family.mix[i * rank + j] = v * root * norm[i];
      }
    }
    // The screen holds both in fp32; what is left is counted from those.
    for (double& v : family.basis) v = static_cast<float>(v);
    for (double& v : family.mix) v = static_cast<float>(v);
    family.rest.assign(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < depth; ++k) {
        double left = window[i * depth + k];
        for (std::size_t j = 0; j < rank; ++j) left -= family.mix[i * rank + j] * family.basis[j * depth + k];
        family.rest[i] += both_sides(k) * left * left;
      }
      family.rest[i] = std::sqrt(family.rest[i]) * (1 + 1e-9) + 1e-13 * norm[i];
    }
    return true;
  }
  return false;
}

}  // namespace

double unit_operations(const Family& family) {
  const double rank = family.rank;
  const double mixing = family.blocks.size() > 1 ? 8 * rank : 0;
  return rank * sums_operations(family) +
         static_cast<double>(family.blocks.size()) * family.frequencies * (mixing + kEnding * family.signs());
}

std::vector<Family> plan_families(const Grid& grid, int lanes, bool narrow) {
  std::vector<Family> out;
  const std::size_t blocks = grid.blocks.size();
  for (std::size_t b = 0; b < blocks;) {
    std::vector<Family> members{alone(grid, b, lanes, narrow)};
    for (std::size_t other = b + 1; other < blocks && narrow && members.front().symmetric; ++other) {
      if (!same_axes(grid.blocks[b], grid.blocks[other])) break;
      const double count = static_cast<double>(members.size()) + 1;
      if (members.size() == kMostBlocks || count * count * members.back().depth > kMostBasisWork) break;
      members.push_back(alone(grid, other, lanes, narrow));
    }
    Family joined = members.front();
    joined.transform = 0;
    joined.folding = folding_of(grid.blocks[b]);
    joined.pairs = pair_rows(grid.blocks[b], true);
    joined.width = kChunk;
    joined.chunks = (joined.frequencies + joined.width - 1) / joined.width;
    double apart = 0;
    joined.blocks.clear();
    for (const Family& member : members) {
      joined.blocks.push_back(member.blocks.front());
      joined.depth = std::max(joined.depth, member.depth);
      apart += unit_operations(member) * static_cast<double>(member.pairs.size());
    }
    b += members.size();
    // Not worth its while where a search does less work than finding the basis.
    const double count = static_cast<double>(members.size());
    const bool small = apart * joined.tiles * lanes < count * count * (joined.depth + 30 * count);
    if (members.size() > 2 && !small && find_basis(grid, joined) &&
        unit_operations(joined) * static_cast<double>(joined.pairs.size()) < apart) {
      out.push_back(std::move(joined));
    } else {
      std::move(members.begin(), members.end(), std::back_inserter(out));
    }
  }
  std::size_t first = 0;
  for (Family& family : out) {
    family.first = first;
    first += family.items();
  }
  return out;
}

}  // namespace envoi::pursuit
