// The door for endings that users compile: include/envoi/ending.hpp.
#include "envoi/ending.hpp"

#include "core/thread_pool.hpp"
#include "gemm/gemm.hpp"
#include "gemm/results.hpp"

namespace envoi::gemm::detail {
namespace {

template <class T>
void run_theirs(const Operand& a, const Columns& b, ApplyTile<T> apply, const void* ending, const BoundPorts& operands,
                const BoundPorts& results, unsigned threads) {
  EndingCall<T> call{apply, ending, {}, {}};
  const auto name = [](const char* what, std::size_t before, PortKind kind) {
    return what + std::to_string(before + 1) + " (" + kind_name(kind) + ")";
  };
  for (const auto& [kind, port] : operands) {
    call.operands.push_back({kind, port, name("operand ", call.operands.size(), kind)});
  }
  for (const auto& [kind, port] : results) {
    call.results.push_back({kind, port, name("result ", call.results.size(), kind)});
  }
  core::ThreadPool pool(threads_for(a, b, threads));
  run(a, b, call, pool);
}

}  // namespace

bool sums_in_double(const Operand& a, const Columns& b) { return gemm::sums_in_double(a, b); }
void run_ending(const Operand& a, const Columns& b, ApplyTile<float> apply, const void* ending,
                const BoundPorts& operands, const BoundPorts& results, unsigned threads) {
  run_theirs(a, b, apply, ending, operands, results, threads);
}
void run_ending(const Operand& a, const Columns& b, ApplyTile<double> apply, const void* ending,
                const BoundPorts& operands, const BoundPorts& results, unsigned threads) {
  run_theirs(a, b, apply, ending, operands, results, threads);
}

}  // namespace envoi::gemm::detail
