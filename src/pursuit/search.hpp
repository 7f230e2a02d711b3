// Certified search of a grid that is never stored: the atom with the largest energy on a residual.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "atoms/grid.hpp"
#include "core/thread_pool.hpp"
#include "envoi/options.hpp"

namespace envoi::pursuit {

template <class T>
struct ScreenTables;

// The winner is the lowest index whose fp64 energy is at least (1 - 1e-12) times the largest in the grid.
struct Winner {
  std::uint64_t index = 0;
  double energy = 0;            // fp64, unit of the signal squared
  std::uint64_t survivors = 0;  // candidates re-scored in fp64
  double bound = 0;             // proven error of the screen's sqrt(energy), over the winner's
  // The best atoms at other durations and |chirp rates| that keep at least 1 - max_loss of the winner's energy, the
  // largest first: starts from which refinement may climb higher.
  std::vector<std::uint64_t> rivals;
};

// What a search of one signal (or of channels together) leaves for the next: an upper bound of every item, and the
// residual that it holds for. The next search adds to each what the difference of the two residuals can have changed,
// and looks only at those that still can win. Belongs to one Searcher; not for use by two searches at once.
class SearchState {
 public:
  SearchState();
  ~SearchState();
  SearchState(SearchState&&) noexcept;
  SearchState& operator=(SearchState&&) noexcept;
  // Before a search of an unrelated residual: keeps the memory alone.
  void forget();
  // Working memory from another: many states, of which few are at work.
  void swap_scratch(SearchState& other);
  // For tests of the bounds: multiplies what a difference may change.
  void scale_bound_for_test(double factor);
  // Units searched anew by the last search, and all there are.
  std::size_t refreshed() const;
  std::size_t units() const;

 private:
  friend class Searcher;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// How the blocks of a grid that are searched together are searched: what the cost model chose.
struct SearchWay {
  std::size_t durations = 0;
  int basis_windows = 0;
  int transform = 0;        // points; 0: a product with cosines and sines
  bool both_signs = false;  // one transform serves +c and -c
  int rows = 0, depth = 0;  // samples on one side of the centre that the product has left, of how many
  double operations = 0;
};

// Channels searched together: atoms are ranked by the sum of their energies, with one phase or a phase each.
struct ChannelResiduals {
  std::vector<std::span<const double>> residual;  // of one length
  std::span<const double> weight;                 // of all of them; empty, or 0/1 a sample
  bool one_phase = false;
};

struct SearchCost {
  std::vector<SearchWay> ways;
  double operations = 0;  // of one search
  double table_bytes = 0;
  double scratch_bytes = 0;  // a thread
};

// Floating-point operations a second of one thread in the screen's inner loop, measured here once in some milliseconds.
double multiply_add_rate();

SearchCost search_cost(const atoms::Grid& grid, Precision precision);

// Tables of one grid. After construction it is read-only: best() may be called from several threads, each with a
// pool of its own or none.
class Searcher {
 public:
  Searcher(const atoms::Grid& grid, Precision precision, bool phase_fixed, core::ThreadPool& pool);
  ~Searcher();
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  // `weight` empty, or 0/1 a sample. A residual of zeros gives energy 0. The pool may be null: this thread alone.
  // A state makes later searches of residuals with the same weights faster. Same bits for any pool, with a state or
  // without. Throws Error (numerical) for samples that are not finite.
  Winner best(std::span<const double> residual, std::span<const double> weight, int most_rivals, core::ThreadPool* pool,
              SearchState* state = nullptr) const;

  // The same for channels together.
  Winner best(const ChannelResiduals& channels, int most_rivals, core::ThreadPool* pool, SearchState* state) const;

  const atoms::Grid& grid() const { return grid_; }

  // For tests of the certificate: multiplies the proven bound.
  void scale_bound_for_test(double factor);

 private:
  template <class T>
  Winner best_of(const ScreenTables<T>& tables, const ChannelResiduals& channels, int most_rivals,
                 core::ThreadPool* pool, SearchState::Impl& state) const;

  const atoms::Grid& grid_;
  bool phase_fixed_;
  std::unique_ptr<ScreenTables<float>> f32_;
  std::unique_ptr<ScreenTables<double>> f64_;
};

}  // namespace envoi::pursuit
