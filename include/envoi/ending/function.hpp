// How the functions of endings are declared. Endings are compiled for CPUs, and from a .cu file for GPUs as well.
#pragma once

#if defined(__CUDACC__)
#define ENVOI_FN __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define ENVOI_FN inline __attribute__((always_inline))
#else
#define ENVOI_FN inline
#endif

#if defined(__GNUC__)
#define ENVOI_SELDOM __attribute__((noinline))
#else
#define ENVOI_SELDOM
#endif
