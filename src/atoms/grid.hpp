// Dictionaries that are never stored: blocks of atoms of one duration on regular steps, in units of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "atoms/chirplet.hpp"
#include "envoi/options.hpp"

namespace envoi::atoms {

// What a refined atom must stay within.
struct Limits {
  std::array<double, kParameters> low{};  // centre in samples, frequency, ln duration, chirp rate
  std::array<double, kParameters> high{};
  bool ridge = false;  // f - |c| D and f + |c| D stay within low/high of the frequency
};

// Atoms of one chirp rate: frequencies f_begin .. f_end - 1 of the block's axis.
struct ChirpRow {
  double chirp_rate = 0;
  std::int64_t f_begin = 0, f_end = 0;
  std::int64_t first = 0;  // index of its first atom among the block's atoms of one centre
};

struct Block {
  double ln_duration = 0;
  double centre_first = 0, centre_step = 1;  // samples
  std::int64_t centres = 0;
  double frequency_first = 0, frequency_step = 0;  // cycles a sample
  std::vector<ChirpRow> rows;                      // ascending chirp rate
  std::int64_t atoms_per_centre = 0;
  std::uint64_t first = 0;  // index of its first atom in the grid

  std::uint64_t size() const {
    return static_cast<std::uint64_t>(centres) * static_cast<std::uint64_t>(atoms_per_centre);
  }
  // The atom's centre as integer and offset in [-1/2, 1/2).
  void place(std::int64_t centre, Atom& atom) const {
    atom.move_to(0, centre_first + static_cast<double>(centre) * centre_step);
  }
  double frequency(std::int64_t k) const { return frequency_first + static_cast<double>(k) * frequency_step; }
};

// Order of atoms, and so of indices: block, centre, chirp rate, frequency.
struct Grid {
  std::vector<Block> blocks;
  std::uint64_t size = 0;
  std::int64_t samples = 0;    // of the segments it is for
  double max_loss = 0;         // 0: explicit
  double effective_atoms = 0;  // atoms of a 10% grid over the same ranges: the number of trials for a noise alarm
  Limits limits;               // for refinement
  bool box = false;            // explicit: refinement stays within one step of the winner, too
  std::array<double, kParameters> step{};  // of an explicit grid
  std::array<bool, kParameters> freed{};   // explicit, but this parameter is free within its limits

  Atom at(std::uint64_t index) const;
  Limits limits_around(const Atom& winner) const;
};

// The ranges of a promise, in units of samples.
struct Ranges {
  Range frequency, duration, chirp_rate;
  bool chirp_rate_given = false;  // else |c| <= min(2/D^2, F/(2D)), and the ridge stays in the band
};

// Steps such that the best atom of the grid keeps 1 - max_loss of any atom's energy in range, edges included.
// A cell that only touches the allowed region is in the grid, so that atoms at its border are covered as well.
Grid make_grid(const Ranges& ranges, double max_loss, std::int64_t samples);

// The grid as given; `ranges` that are present free their parameter of the box in refinement.
Grid make_grid(const ExplicitGrid& axes, double rate_hz, std::int64_t samples, const PursuitOptions& options);

// The least multiple of 4, at least n, without prime factors but 2, 3 and 5: a length that transforms well.
int next_smooth(int n);

// Number of atoms without making the blocks' tables; saturates at 1e18.
double count_atoms(const ExplicitGrid& axes);

}  // namespace envoi::atoms
