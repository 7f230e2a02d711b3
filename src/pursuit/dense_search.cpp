// Certified search of a stored dictionary: a screen in low precision bounds the largest score of each block of rows,
// and blocks that can hold one of the k best are scored again in fp64, row by row.
#include "pursuit/dense_search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>

#include "core/thread_pool.hpp"
#include "envoi/error.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/search.hpp"
#include "pursuit/dense_contenders.hpp"
#include "pursuit/dense_rows.hpp"
#include "pursuit/dense_score.hpp"

namespace envoi::pursuit {
namespace {

std::atomic<double> bound_factor{1.0};

// Numbers of a chunk: what a worker takes at a time, small enough for a second-level cache in fp32.
constexpr std::size_t kChunk = std::size_t{1} << 17;
// Blocks that a worker takes at a time at most.
constexpr std::uint64_t kLongest = 512;
// Signals of one pass over the dictionary, and candidates kept for all of them.
constexpr std::size_t kBatch = 256;
constexpr std::size_t kCandidates = std::size_t{1} << 24;

template <class T>
struct Rows {
  const T* values;
  std::size_t stride;
};

struct Worker {
  std::unique_ptr<core::ThreadPool> alone = std::make_unique<core::ThreadPool>(1);  // products inside a task
  std::vector<unsigned char> fetched;
  std::vector<float> converted;
  std::vector<float> maxima;
  std::vector<double> scaled_row;
};

class DenseSearch {
 public:
  DenseSearch(const DictionaryState& state, const SearchOptions& options)
      : state_(state),
        source_(*state.source),
        options_(options),
        chunk_blocks_(std::max<std::size_t>(1, kChunk / (source_.samples * state.block_rows))),
        pool_(static_cast<unsigned>(
            std::min<std::uint64_t>(core::thread_count(options.threads), (state.blocks - 1) / chunk_blocks_ + 1))),
        workers_(pool_.size()) {
    const std::lock_guard lock(state.mutex);
    known_ = !state.summaries.empty();
    if (known_) summaries_ = state.summaries;
    use_bf16_ =
        state.bf16 && (!options.normalize || std::all_of(summaries_.begin(), summaries_.end(),
                                                         [](const BlockSummary& summary) { return alike(summary); }));
  }

  std::vector<SignalMatches> run(const std::vector<ScaledSignal>& signals, std::size_t first_signal);

 private:
  std::uint64_t first_row(std::uint64_t block) const { return block * state_.block_rows; }
  std::size_t rows_of(std::uint64_t block, std::size_t blocks) const {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(blocks * state_.block_rows, source_.atoms - first_row(block)));
  }
  template <class T>
  Rows<T> fetch(std::uint64_t first, std::size_t count, Worker& worker) const;
  template <class T>
  bool learn(std::uint64_t block, std::size_t blocks, const Rows<T>& rows);
  bool in_place(std::uint64_t block, std::size_t blocks) const;
  ScreenedBlock how_screened(std::uint64_t block) const;

  void pass(const std::function<void(std::uint64_t block, std::size_t blocks, unsigned worker)>& visit);
  template <class T>
  void screen(std::uint64_t block, std::size_t blocks, unsigned worker);
  template <class T>
  void score_all(std::uint64_t block, std::size_t blocks, unsigned worker);
  template <class T>
  void settle(std::size_t active, const std::vector<Contender>& contenders, Worker& worker);
  template <class T>
  void search_batch();
  void finish(std::size_t which, BestCandidates& best, const char* precision, std::uint64_t survivors);
  void count_rows(std::uint64_t rows);

  const DictionaryState& state_;
  const RowSource& source_;
  const SearchOptions& options_;
  std::size_t chunk_blocks_;
  core::ThreadPool pool_;
  std::vector<Worker> workers_;
  bool known_ = false;
  std::vector<BlockSummary> summaries_;
  bool use_bf16_ = false;

  std::mutex mutex_;  // guards the two below
  SearchProgress progress_;
  std::uint64_t bad_row_ = ~std::uint64_t{0};

  // Of one batch.
  const std::vector<ScaledSignal>* signals_ = nullptr;
  std::size_t first_signal_ = 0;
  std::vector<std::size_t> active_;  // signals that are not zero
  std::unique_ptr<ScreenSignals> screen_signals_;
  std::vector<std::vector<Contenders>> contenders_;  // [worker][active]
  std::vector<std::size_t> flooded_;                 // signals for which every row is scored in fp64
  std::vector<std::vector<BestCandidates>> best_;    // [worker][flooded]
  std::vector<SignalMatches> results_;
  std::vector<ScaledScore> winners_;
};

template <class T>
Rows<T> DenseSearch::fetch(std::uint64_t first, std::size_t count, Worker& worker) const {
  if (source_.memory) return {static_cast<const T*>(source_.memory) + first * source_.row_stride, source_.row_stride};
  const std::size_t bytes = count * source_.samples * sizeof(T);
  if (worker.fetched.size() < bytes) worker.fetched.resize(bytes);
  source_.read(first, count, worker.fetched.data());
  return {reinterpret_cast<const T*>(worker.fetched.data()), source_.samples};
}

// Summaries of blocks seen for the first time; false, and the row noted, if a number is not finite.
template <class T>
bool DenseSearch::learn(std::uint64_t block, std::size_t blocks, const Rows<T>& rows) {
  if (known_) return true;
  for (std::size_t b = 0; b < blocks; ++b) {
    const T* at = rows.values + b * state_.block_rows * rows.stride;
    const std::size_t count = rows_of(block + b, 1);
    if (summarize(at, rows.stride, count, source_.samples, summaries_[block + b])) continue;
    std::size_t r = 0;
    while (first_not_finite(at + r * rows.stride, source_.samples) == source_.samples) ++r;
    const std::lock_guard lock(mutex_);
    bad_row_ = std::min(bad_row_, first_row(block + b) + r);
    return false;
  }
  return true;
}

void DenseSearch::count_rows(std::uint64_t rows) {
  if (!options_.progress) return;
  const std::lock_guard lock(mutex_);
  progress_.atoms_done += rows;
  if (!options_.progress(progress_)) throw Error(ErrorKind::cancelled, "the search was cancelled");
}

void DenseSearch::pass(const std::function<void(std::uint64_t, std::size_t, unsigned)>& visit) {
  if (!known_) summaries_.resize(state_.blocks);
  {
    const std::lock_guard lock(mutex_);
    progress_.atoms += source_.atoms;
  }
  // Rows that need no work of their own are taken in longer stretches.
  const bool plain = known_ && source_.memory && (use_bf16_ || in_place(0, state_.blocks));
  const std::size_t at_once =
      plain
          ? std::max<std::size_t>(chunk_blocks_, std::min<std::uint64_t>(kLongest, state_.blocks / (16 * pool_.size())))
          : chunk_blocks_;
  pool_.run((state_.blocks + at_once - 1) / at_once, [&](std::size_t chunk, unsigned worker) {
    const std::uint64_t block = chunk * at_once;
    const auto blocks = static_cast<std::size_t>(std::min<std::uint64_t>(at_once, state_.blocks - block));
    visit(block, blocks, worker);
    count_rows(rows_of(block, blocks));
  });
  if (bad_row_ != ~std::uint64_t{0}) {
    const std::size_t column = source_.wide
                                   ? first_not_finite(fetch<double>(bad_row_, 1, workers_[0]).values, source_.samples)
                                   : first_not_finite(fetch<float>(bad_row_, 1, workers_[0]).values, source_.samples);
    refuse_not_finite(source_, bad_row_, column);
  }
  if (!known_) {
    known_ = true;
    const std::lock_guard lock(state_.mutex);
    if (state_.summaries.empty()) state_.summaries = summaries_;
  }
}

// Whether fp32 rows can be screened where they are.
bool DenseSearch::in_place(std::uint64_t block, std::size_t blocks) const {
  if (source_.wide) return false;
  const auto begin = summaries_.begin() + static_cast<std::ptrdiff_t>(block);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(blocks), [this](const BlockSummary& summary) {
    return summary.exponent == 0 && (!options_.normalize || alike(summary));
  });
}

ScreenedBlock DenseSearch::how_screened(std::uint64_t block) const {
  const BlockSummary& summary = summaries_[block];
  if (options_.normalize && !alike(summary)) return screened_normalized();
  ScreenedBlock out = screened_plain(summary, options_.normalize);
  if (use_bf16_) {
    out.row_error = state_.bf16->largest_error[block];
    out.row_norm += out.row_error;
  }
  return out;
}

template <class T>
void DenseSearch::screen(std::uint64_t block, std::size_t blocks, unsigned worker_index) {
  Worker& worker = workers_[worker_index];
  const std::size_t count = rows_of(block, blocks), samples = source_.samples, signals = active_.size();
  worker.maxima.resize(blocks * signals);
  float* const maxima = worker.maxima.data();
  if (use_bf16_) {
    screen_signals_->block_maxima(state_.bf16->values.data() + first_row(block) * samples, samples, count,
                                  state_.block_rows, maxima, *worker.alone);
  } else {
    const Rows<T> rows = fetch<T>(first_row(block), count, worker);
    if (!learn(block, blocks, rows)) return;
    if (!in_place(block, blocks)) {
      worker.converted.resize(count * samples);
      for (std::size_t b = 0; b < blocks; ++b) {
        const BlockSummary& summary = summaries_[block + b];
        const std::size_t at = b * state_.block_rows;
        convert(rows.values + at * rows.stride, rows.stride, rows_of(block + b, 1), samples, summary.exponent,
                options_.normalize && !alike(summary), worker.converted.data() + at * samples);
      }
      screen_signals_->block_maxima(worker.converted.data(), samples, count, state_.block_rows, maxima, *worker.alone);
    } else if constexpr (sizeof(T) == sizeof(float)) {
      screen_signals_->block_maxima(rows.values, rows.stride, count, state_.block_rows, maxima, *worker.alone);
    }
  }
  const double factor = bound_factor;
  for (std::size_t b = 0; b < blocks; ++b) {
    const ScreenedBlock screened = how_screened(block + b);
    for (std::size_t s = 0; s < signals; ++s) {
      const double error = screen_signals_->error(s) * factor;
      contenders_[worker_index][s].add(block + b, bounds_of(screened, worker.maxima[b * signals + s], error));
    }
  }
}

template <class T>
void DenseSearch::score_all(std::uint64_t block, std::size_t blocks, unsigned worker_index) {
  Worker& worker = workers_[worker_index];
  const std::size_t count = rows_of(block, blocks);
  const Rows<T> rows = fetch<T>(first_row(block), count, worker);
  if (!learn(block, blocks, rows)) return;
  for (std::size_t r = 0; r < count; ++r) {
    const T* row = rows.values + r * rows.stride;
    for (std::size_t i = 0; i < flooded_.size(); ++i) {
      best_[worker_index][i].add(
          {first_row(block) + r, score(row, (*signals_)[flooded_[i]], options_.normalize, worker.scaled_row)});
    }
  }
}

// Scores the contenders again, those with the largest bounds first, until no other can hold one of the k best.
template <class T>
void DenseSearch::settle(std::size_t active, const std::vector<Contender>& contenders, Worker& worker) {
  const std::size_t which = active_[active];
  BestCandidates best(options_.k);
  std::uint64_t survivors = 0;
  double needed = 0;
  const std::size_t at_once = std::max<std::size_t>(1, options_.k / state_.block_rows);
  for (std::size_t c = 0; c < contenders.size() && contenders[c].upper >= needed; ++c) {
    const std::uint64_t block = contenders[c].block;
    const std::size_t count = rows_of(block, 1);
    const Rows<T> rows = fetch<T>(first_row(block), count, worker);
    for (std::size_t r = 0; r < count; ++r) {
      best.add({first_row(block) + r,
                score(rows.values + r * rows.stride, (*signals_)[which], options_.normalize, worker.scaled_row)});
    }
    survivors += count;
    if ((c + 1) % at_once == 0) needed = (1 - kTie) * best.kth_magnitude();
  }
  finish(which, best, use_bf16_ ? "bf16" : "f32", survivors);
  SignalMatches& result = results_[which];
  const ScaledScore& winner = winners_[which];
  if (winner.value == 0) return;
  const ScreenedBlock screened = how_screened(result.best[0].index / state_.block_rows);
  const double off = (screened.row_norm * screen_signals_->error(active) + screened.row_error) * screened.upper_scale;
  result.certificate.bound = std::ldexp(off / std::abs(winner.value), screened.exponent - winner.exponent);
}

void DenseSearch::finish(std::size_t which, BestCandidates& best, const char* precision, std::uint64_t survivors) {
  SignalMatches& result = results_[which];
  for (const Candidate& candidate : best.take()) {
    if (result.best.empty()) winners_[which] = candidate.score;
    const double value = std::ldexp(candidate.score.value, candidate.score.exponent + (*signals_)[which].exponent);
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::numerical, "the score of signal " + std::to_string(first_signal_ + which) + " and atom " +
                                            std::to_string(candidate.index) +
                                            " (counted from 0) is beyond 1.8e308; scale the signals down");
    }
    result.best.push_back({candidate.index, value});
  }
  result.certificate.precision = precision;
  result.certificate.survivors = survivors;
}

template <class T>
void DenseSearch::search_batch() {
  const bool screened = options_.precision == Precision::exact && source_.samples <= kMostScreenedSamples;
  flooded_.clear();
  std::vector<std::vector<Contender>> contenders(active_.size());
  if (screened && (!active_.empty() || !known_)) {
    std::vector<const ScaledSignal*> screened_signals;
    for (const std::size_t which : active_) screened_signals.push_back(&(*signals_)[which]);
    screen_signals_ = std::make_unique<ScreenSignals>(screened_signals);
    contenders_.assign(pool_.size(), std::vector<Contenders>(active_.size(), Contenders(options_.k)));
    pass([this](std::uint64_t block, std::size_t blocks, unsigned worker) { screen<T>(block, blocks, worker); });
    // So many blocks that reading all of them in order is no worse.
    const std::uint64_t most = std::max<std::uint64_t>(4, state_.blocks / 4);
    for (std::size_t s = 0; s < active_.size(); ++s) {
      for (unsigned worker = 1; worker < pool_.size(); ++worker) contenders_[0][s].merge(contenders_[worker][s]);
      contenders[s] = contenders_[0][s].take();
      if (contenders[s].size() > most) flooded_.push_back(active_[s]);
    }
    contenders_.clear();
    pool_.run(active_.size(), [&](std::size_t s, unsigned worker) {
      if (contenders[s].size() <= most) settle<T>(s, contenders[s], workers_[worker]);
    });
  } else {
    flooded_ = active_;
  }
  if (flooded_.empty() && known_) return;
  best_.assign(pool_.size(), std::vector<BestCandidates>(flooded_.size(), BestCandidates(options_.k)));
  pass([this](std::uint64_t block, std::size_t blocks, unsigned worker) { score_all<T>(block, blocks, worker); });
  for (std::size_t i = 0; i < flooded_.size(); ++i) {
    for (unsigned worker = 1; worker < pool_.size(); ++worker) {
      for (const Candidate& candidate : best_[worker][i].kept()) best_[0][i].add(candidate);
    }
    finish(flooded_[i], best_[0][i], "f64", source_.atoms);
  }
}

std::vector<SignalMatches> DenseSearch::run(const std::vector<ScaledSignal>& signals, std::size_t first_signal) {
  signals_ = &signals;
  first_signal_ = first_signal;
  results_.assign(signals.size(), {});
  winners_.assign(signals.size(), {});
  active_.clear();
  for (std::size_t s = 0; s < signals.size(); ++s) {
    if (signals[s].norm > 0) {
      active_.push_back(s);
      continue;
    }
    for (std::uint64_t i = 0; i < options_.k; ++i) results_[s].best.push_back({i, 0.0});
    results_[s].certificate.precision = "f64";
  }
  if (source_.wide) {
    search_batch<double>();
  } else {
    search_batch<float>();
  }
  return std::move(results_);
}

}  // namespace

void scale_dense_bound_for_test(double factor) { bound_factor = factor; }

}  // namespace envoi::pursuit

namespace envoi {
namespace {

template <class T>
SearchResult search_signals(const Dictionary& dictionary, std::span<const T> signals, const SearchOptions& options) {
  const std::size_t samples = dictionary.samples();
  if (signals.size() % samples != 0) {
    throw Error(ErrorKind::bad_argument, std::to_string(signals.size()) + " numbers are no whole signals of " +
                                             std::to_string(samples) + " samples, the length of the atoms");
  }
  if (options.k == 0 || options.k > dictionary.atoms()) {
    throw Error(ErrorKind::bad_argument, "k is " + std::to_string(options.k) + ", but must be from 1 to " +
                                             std::to_string(dictionary.atoms()) + ", the number of atoms");
  }
  const std::size_t bad = static_cast<std::size_t>(
      std::find_if(signals.begin(), signals.end(), [](T value) { return !std::isfinite(value); }) - signals.begin());
  if (bad < signals.size()) {
    throw Error(ErrorKind::numerical, "signal " + std::to_string(bad / samples) + ", sample " +
                                          std::to_string(bad % samples) +
                                          " (counted from 0) is not a finite number; mend or leave out that signal");
  }
  SearchResult result;
  result.program = {version(), "cpu", isa_name()};
  result.atoms = dictionary.atoms();
  result.samples = samples;
  result.normalized = options.normalize;
  const std::size_t count = signals.size() / samples;
  if (count == 0) return result;
  pursuit::DenseSearch engine(dictionary.state(), options);
  const std::size_t at_once = std::clamp<std::size_t>(pursuit::kCandidates / options.k, 1, pursuit::kBatch);
  try {
    for (std::size_t first = 0; first < count; first += at_once) {
      std::vector<pursuit::ScaledSignal> batch;
      for (std::size_t s = first; s < std::min(count, first + at_once); ++s) {
        const std::span<const T> signal = signals.subspan(s * samples, samples);
        batch.push_back(pursuit::scale_signal(std::vector<double>(signal.begin(), signal.end())));
      }
      for (SignalMatches& matches : engine.run(batch, first)) result.signals.push_back(std::move(matches));
    }
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, "the " + std::to_string(options.k) + " best atoms for each of " +
                                              std::to_string(count) +
                                              " signals do not fit into memory; ask for fewer at a time");
  }
  return result;
}

}  // namespace

SearchResult search(const Dictionary& dictionary, std::span<const double> signals, const SearchOptions& options) {
  return search_signals(dictionary, signals, options);
}
SearchResult search(const Dictionary& dictionary, std::span<const float> signals, const SearchOptions& options) {
  return search_signals(dictionary, signals, options);
}

}  // namespace envoi
