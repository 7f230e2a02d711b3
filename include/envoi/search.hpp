// The atoms of a stored dictionary that match signals best: certified search of a plain matrix, rows being atoms.
// Chirplets need no stored dictionary; decompose() searches them faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "envoi/decomposition.hpp"
#include "envoi/export.hpp"
#include "envoi/options.hpp"

namespace envoi {

namespace pursuit {
class RowSource;
struct DictionaryState;
}  // namespace pursuit

// Atoms x samples, in memory or in a file. What a search learns of it (norms of stretches of 64 rows) is kept for the
// next one, so keep the object where you search more than once.
// Thread safety: searches of one Dictionary may run at the same time; keep_bf16 and moving may not run beside them.
class ENVOI_API Dictionary {
 public:
  // A view of memory, which is not copied, must outlive the Dictionary and must not change meanwhile. Atom i begins at
  // values + i * row_stride; row_stride 0 means `samples`. Throws Error (bad_argument) for no atoms, no samples, a null
  // pointer, a row_stride below `samples`, or more than any memory holds.
  Dictionary(const float* values, std::size_t atoms, std::size_t samples, std::size_t row_stride = 0);
  Dictionary(const double* values, std::size_t atoms, std::size_t samples, std::size_t row_stride = 0);
  explicit Dictionary(std::unique_ptr<pursuit::RowSource> source);  // inside the library: see open_dictionary
  ~Dictionary();
  Dictionary(Dictionary&&) noexcept;
  Dictionary& operator=(Dictionary&&) noexcept;

  std::uint64_t atoms() const;
  std::size_t samples() const;

  // Keeps a copy in bfloat16 (2 bytes a number) for the screen of later searches, which then read half the bytes of
  // fp32, a quarter of fp64. The answers stay the same, to the bit; more candidates are scored again in fp64. Worth it
  // for many searches of few signals each. Throws Error (numerical: not finite, out_of_memory).
  void keep_bf16(unsigned threads = 0);

  const pursuit::DictionaryState& state() const { return *state_; }  // inside the library

 private:
  std::unique_ptr<pursuit::DictionaryState> state_;
};

struct SearchProgress {
  std::uint64_t atoms_done = 0;  // read so far, over all passes begun
  std::uint64_t atoms = 0;       // to read, as far as is known
};

struct SearchOptions {
  std::size_t k = 1;       // how many atoms for each signal, 1 to the number of atoms
  bool normalize = false;  // divide each score by its atom's norm; an atom of zeros scores 0
  // How to run; no bit of the scores depends on it.
  Precision precision = Precision::exact;  // exact: low-precision screen, certified; double_: fp64 for every atom
  unsigned threads = 0;                    // 0: all processors (or ENVOI_THREADS)
  std::function<bool(const SearchProgress&)> progress = {};  // called from one thread at a time; false cancels
};

struct Match {
  std::uint64_t index = 0;  // of the atom, from 0
  double score = 0;         // sum of atom times signal in fp64, signed
};

// How it was made sure that no other atom belongs among the best.
struct MatchCertificate {
  std::string precision;        // "f32" or "bf16": of the screen; "f64": every atom was scored in fp64
  double bound = 0;             // proven error of the screen's score in the best atom's stretch, over the best |score|
  std::uint64_t survivors = 0;  // atoms scored again in fp64
};

struct SignalMatches {
  std::vector<Match> best;  // k of them
  MatchCertificate certificate;
};

struct SearchResult {
  Program program;
  std::uint64_t atoms = 0;
  std::size_t samples = 0;
  bool normalized = false;
  std::vector<SignalMatches> signals;
};

// The k best atoms of each signal. `signals` holds them one after another, dictionary.samples() numbers each.
//
// The score of atom a and signal x is the fp64 sum over eight partial sums: s_j = a_j x_j + a_(j+8) x_(j+8) + ... in
// that order, then ((s_0 + s_4) + (s_2 + s_6)) + ((s_1 + s_5) + (s_3 + s_7)); `normalize` divides it by the square root
// of the same sum of a with itself. Powers of two taken out before, and put back after, keep it from over- and
// underflow on the way. It depends on the atom and the signal alone. Order: each place goes to the lowest index among
// the atoms left whose |score| is at least (1 - 1e-12) times the largest left. A signal of zeros gets the first k atoms
// with score 0.
//
// Deterministic: same indices and scores whatever the threads, the other signals and the instruction set; the
// certificate may differ between instruction sets.
// Throws Error: bad_argument (k, the number of signals' samples), numerical (an atom or a signal that is not finite; a
// score beyond the range of fp64), bad_file (a file that cannot be read any more), out_of_memory, cancelled.
ENVOI_API SearchResult search(const Dictionary& dictionary, std::span<const double> signals,
                              const SearchOptions& options = {});
ENVOI_API SearchResult search(const Dictionary& dictionary, std::span<const float> signals,
                              const SearchOptions& options = {});

}  // namespace envoi
