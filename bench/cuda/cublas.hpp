// cuBLAS as a peer: looked for when the program runs, never linked.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "envoi/matrix.hpp"

namespace bench {

class Cublas {
 public:
  // Null, with the reason, where it is not found: ENVOI_CUBLAS, else the toolkit's folder, else the loader's path.
  static std::unique_ptr<Cublas> find(std::string& why);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string name() const;  // "cublas 13.0.2"
  // c = a b with fp32 sums, in the stream: a and c row after row, b column after column. fp32 by fp32 multiply-adds,
  // or by TF32. Throws std::runtime_error.
  void product(cudaStream_t stream, const envoi::gemm::Matrix& a, const envoi::gemm::Matrix& b,
               const envoi::gemm::MutableMatrix& c, bool tf32 = false) const;

 private:
  Cublas() = default;
  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
  void* workspace_ = nullptr;
};

}  // namespace bench
