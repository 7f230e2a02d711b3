// What a build without CUDA has of envoi/cuda.hpp: every function, each saying so.
#include "envoi/cuda.hpp"

#include "envoi/error.hpp"
#include "gemm/measured.hpp"

namespace envoi::cuda {
namespace {

constexpr char kNone[] =
    "this build has no CUDA: build it where nvcc is (cmake -DENVOI_CUDA=ON says what is missing), "
    "or use the CPU engine, envoi/gemm.hpp";

[[noreturn]] void refuse() { throw Error(ErrorKind::no_device, kNone); }

}  // namespace

struct Product::Data {};

bool built() { return false; }
std::vector<Device> devices() { return {}; }
std::string why_no_device() { return kNone; }

std::size_t Product::workspace_bytes() const { refuse(); }
void Product::run(Stream, void*, std::size_t) const { refuse(); }
std::string Product::describe() const { refuse(); }

Product store(const Matrix&, const Matrix&, const MutableMatrix&, Fp32) { refuse(); }
Product bias_activation(const Matrix&, const Matrix&, const Matrix&, Activation, const MutableMatrix&, Fp32) {
  refuse();
}
Product row_scale(const Matrix&, const Matrix&, const Matrix&, const MutableMatrix&, Fp32) { refuse(); }
Product residual_squares(const Matrix&, const Matrix&, const Matrix&, const MutableMatrix&, const MutableMatrix&,
                         Fp32) {
  refuse();
}
Product swiglu(const Matrix&, const Matrix&, const Matrix&, const MutableMatrix&, const MutableMatrix&, Fp32) {
  refuse();
}
Product geglu(const Matrix&, const Matrix&, const Matrix&, const MutableMatrix&, const MutableMatrix&, Fp32) {
  refuse();
}
Product rope(const Matrix&, const Matrix&, const Matrix&, const Matrix&, const MutableMatrix&, Fp32) { refuse(); }
Product cross_entropy(const Matrix&, const Matrix&, const std::int64_t*, const MutableMatrix&, const MutableMatrix&,
                      Fp32) {
  refuse();
}
Product top_k(const Matrix&, const Matrix&, Over, By, std::int64_t, Winner*, Fp32) { refuse(); }
Product argmax(const Matrix&, const Matrix&, Over, By, Winner*, Fp32) { refuse(); }
Product pair_energy(const Matrix&, const Matrix&, std::int64_t, Winner*, Fp32) { refuse(); }

Measured measure(std::int64_t m, std::int64_t n, std::int64_t k, MeasuredEnding ending, MeasuredType) {
  check_measured(m, n, k, ending);
  refuse();
}

}  // namespace envoi::cuda
