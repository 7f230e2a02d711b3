// The few functions of cuBLAS's C interface that the bench calls, declared here and found with dlopen.
#include "cublas.hpp"

#include <dlfcn.h>
#include <library_types.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

using envoi::gemm::DType;

constexpr int kNotTransposed = 0, kTransposed = 1;
constexpr int kDefaultMath = 0;
constexpr int kCompute32F = 68, kCompute32FFastTf32 = 77;
constexpr int kDefaultAlgorithm = -1;
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;  // with less some of its best kernels are left out

int cublas_type(DType type) { return type == DType::bf16 ? CUDA_R_16BF : type == DType::f16 ? CUDA_R_16F : CUDA_R_32F; }

void check(int status, const char* what) {
  if (status != 0) throw std::runtime_error(std::string("cublas: ") + what + " gives status " + std::to_string(status));
}

}  // namespace

struct Cublas::Functions {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*version)(void* handle, int* version) = nullptr;
  int (*set_stream)(void* handle, cudaStream_t stream) = nullptr;
  int (*set_workspace)(void* handle, void* workspace, std::size_t bytes) = nullptr;
  int (*set_math_mode)(void* handle, int mode) = nullptr;
  int (*gemm)(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha, const void* a,
              int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c, int ldc,
              int compute, int algorithm) = nullptr;
  int (*sgemm)(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const float* alpha, const float* a,
               int lda, const float* b, int ldb, const float* beta, float* c, int ldc) = nullptr;
};

std::unique_ptr<Cublas> Cublas::find(std::string& why) {
  std::vector<std::string> places;
  if (const char* named = std::getenv("ENVOI_CUBLAS")) {
    places = {named};
  } else {
    std::vector<std::string> folders;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* root = std::getenv(variable)) folders.push_back(std::string(root) + "/lib64/");
    }
    folders.insert(folders.end(), {"/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/", ""});
    for (const std::string& folder : folders) {
      for (const char* file : {"libcublas.so.13", "libcublas.so.12"}) places.push_back(folder + file);
    }
  }
  void* library = nullptr;
  for (const std::string& place : places) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) break;
    const char* said = dlerror();
    why = said ? said : "cuBLAS is not found";
  }
  if (!library) return nullptr;

  std::unique_ptr<Cublas> found(new Cublas);
  found->functions_ = std::make_unique<Functions>();
  Functions& f = *found->functions_;
  bool whole = true;
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) whole = false, why = std::string("cuBLAS has no ") + name;
  };
  look_up(f.create, "cublasCreate_v2");
  look_up(f.destroy, "cublasDestroy_v2");
  look_up(f.version, "cublasGetVersion_v2");
  look_up(f.set_stream, "cublasSetStream_v2");
  look_up(f.set_workspace, "cublasSetWorkspace_v2");
  look_up(f.set_math_mode, "cublasSetMathMode");
  look_up(f.gemm, "cublasGemmEx");
  look_up(f.sgemm, "cublasSgemm_v2");
  if (!whole) return nullptr;
  if (f.create(&found->handle_) != 0 || cudaMalloc(&found->workspace_, kWorkspaceBytes) != cudaSuccess) {
    why = "cuBLAS does not start";
    return nullptr;
  }
  return found;
}

Cublas::~Cublas() {
  if (handle_) functions_->destroy(handle_);
  cudaFree(workspace_);
}

std::string Cublas::name() const {
  int version = 0;
  functions_->version(handle_, &version);  // 130002: 13.0.2
  return "cublas " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void Cublas::product(cudaStream_t stream, const envoi::gemm::Matrix& a, const envoi::gemm::Matrix& b,
                     const envoi::gemm::MutableMatrix& c, bool tf32) const {
  check(functions_->set_stream(handle_, stream), "cublasSetStream");
  check(functions_->set_workspace(handle_, workspace_, kWorkspaceBytes), "cublasSetWorkspace");
  check(functions_->set_math_mode(handle_, kDefaultMath), "cublasSetMathMode");
  // Its matrices are column after column: theirs is our result transposed, of B and A exchanged.
  const int m = static_cast<int>(b.columns), n = static_cast<int>(a.rows), k = static_cast<int>(a.columns);
  const int lda = static_cast<int>(b.column_stride), ldb = static_cast<int>(a.row_stride),
            ldc = static_cast<int>(c.row_stride);
  const float one = 1, zero = 0;
  void* to = const_cast<void*>(c.data);
  if (a.dtype == DType::f32 && c.dtype == DType::f32 && !tf32) {
    check(functions_->sgemm(handle_, kTransposed, kNotTransposed, m, n, k, &one, static_cast<const float*>(b.data), lda,
                            static_cast<const float*>(a.data), ldb, &zero, static_cast<float*>(to), ldc),
          "cublasSgemm");
    return;
  }
  check(functions_->gemm(handle_, kTransposed, kNotTransposed, m, n, k, &one, b.data, cublas_type(b.dtype), lda, a.data,
                         cublas_type(a.dtype), ldb, &zero, to, cublas_type(c.dtype), ldc,
                         tf32 ? kCompute32FFastTf32 : kCompute32F, kDefaultAlgorithm),
        "cublasGemmEx");
}

}  // namespace bench
