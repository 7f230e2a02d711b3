// A dictionary's copy in bfloat16, and what rounding to it took off.
#include <algorithm>
#include <cmath>

#include "core/thread_pool.hpp"
#include "envoi/error.hpp"
#include "pursuit/dense_rows.hpp"

namespace envoi::pursuit {
namespace {

// Returns the norm of the row's error.
template <class T>
double copy_row(const T* row, std::size_t samples, double factor, gemm::bfloat16* to) {
  double lost = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const double value = static_cast<double>(row[i]) * factor;
    to[i] = gemm::bfloat16(static_cast<float>(value));
    const double error = value - static_cast<double>(static_cast<float>(to[i]));
    lost += error * error;
  }
  return std::sqrt(lost);
}

template <class T>
void keep(DictionaryState& state, core::ThreadPool& pool, Bf16Copy& copy, std::vector<BlockSummary>& summaries) {
  const RowSource& source = *state.source;
  std::mutex mutex;
  std::uint64_t bad_row = ~std::uint64_t{0};
  std::size_t bad_column = 0;
  std::vector<std::vector<T>> fetched(pool.size());
  pool.run(state.blocks, [&](std::size_t block, unsigned worker) {
    const std::uint64_t first = block * state.block_rows;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(state.block_rows, source.atoms - first));
    const T* rows = static_cast<const T*>(source.memory) + first * source.row_stride;
    std::size_t stride = source.row_stride;
    if (!source.memory) {
      fetched[worker].resize(count * source.samples);
      source.read(first, count, fetched[worker].data());
      rows = fetched[worker].data();
      stride = source.samples;
    }
    if (!summarize(rows, stride, count, source.samples, summaries[block])) {
      std::size_t r = 0;
      while (first_not_finite(rows + r * stride, source.samples) == source.samples) ++r;
      const std::lock_guard lock(mutex);
      if (first + r < bad_row) bad_row = first + r, bad_column = first_not_finite(rows + r * stride, source.samples);
      return;
    }
    const double factor = std::ldexp(1.0, -summaries[block].exponent);
    for (std::size_t r = 0; r < count; ++r) {
      gemm::bfloat16* to = copy.values.data() + (first + r) * source.samples;
      const double error = copy_row(rows + r * stride, source.samples, factor, to);
      copy.largest_error[block] = std::max(copy.largest_error[block], error * (1 + 1e-6));
    }
  });
  if (bad_row != ~std::uint64_t{0}) refuse_not_finite(source, bad_row, bad_column);
}

}  // namespace
}  // namespace envoi::pursuit

namespace envoi {

void Dictionary::keep_bf16(unsigned threads) {
  if (state_->bf16) return;
  auto copy = std::make_unique<pursuit::Bf16Copy>();
  std::vector<pursuit::BlockSummary> summaries(state_->blocks);
  try {
    copy->values.resize(state_->source->atoms * state_->source->samples);
    copy->largest_error.resize(state_->blocks);
  } catch (const std::exception&) {
    throw Error(ErrorKind::out_of_memory, "a copy in bfloat16 of " + std::to_string(state_->source->atoms) + " x " +
                                              std::to_string(state_->source->samples) +
                                              " numbers does not fit into memory; search without it");
  }
  core::ThreadPool pool(core::thread_count(threads));
  if (state_->source->wide) {
    pursuit::keep<double>(*state_, pool, *copy, summaries);
  } else {
    pursuit::keep<float>(*state_, pool, *copy, summaries);
  }
  const std::lock_guard lock(state_->mutex);
  state_->summaries = std::move(summaries);
  state_->bf16 = std::move(copy);
}

}  // namespace envoi
