// How a thread's results are kept on a GPU (ports.inl). Chunks of 64 columns go by one after the other, of each chunk
// the eight j, of each j the halves h. What is beyond the last row or column is left out.

__device__ __forceinline__ unsigned narrow(DType dtype, float x) {
  return dtype == DType::bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x)) : __half_as_ushort(__float2half_rn(x));
}
__device__ __forceinline__ unsigned narrow_pair(DType dtype, float even, float odd) {
  unsigned both;
  if (dtype == DType::bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(odd), "f"(even));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(odd), "f"(even));
  }
  return both;
}
__device__ __forceinline__ void write_element(const DevicePort& port, std::int64_t element, float x) {
  if (port.dtype == DType::f32) {
    static_cast<float*>(port.data)[element] = x;
  } else {
    static_cast<unsigned short*>(port.data)[element] = static_cast<unsigned short>(narrow(port.dtype, x));
  }
}

// What keepers need not say.
struct KeeperBase {
  __device__ __forceinline__ void begin_chunk(int) {}
  __device__ __forceinline__ void end_chunk(int) {}
  __device__ __forceinline__ void end() {}
};

#include "envoi/cuda/reductions.inl"
#include "envoi/cuda/stores.inl"
#include "envoi/cuda/winners.inl"
// After the winners.
#include "envoi/cuda/argmax.inl"
