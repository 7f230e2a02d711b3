// Products of the tensor cores (wgmma): 64 rows x N columns of sums += A from shared memory times B from shared memory,
// issued by a warpgroup. PTX ISA, "wgmma.mma_async". Thread t of the warpgroup has, of each 8 columns j, in d[4 j + 2 h
// + i] the sum of row 16 (t / 32) + t % 32 / 4 + 8 h and column 8 j + 2 (t % 4) + i.
#pragma once

#include <cstdint>

namespace envoi::cuda::ptx {

__device__ __forceinline__ void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most `left` committed groups are at work.
template <int left>
__device__ __forceinline__ void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}

// An operand in shared memory, in rows of 128 bytes swizzled as the copy engine does it. By depth (the contiguous
// dimension is the depth): rows of 128 bytes in groups of 8. Else: boxes of 64 vectors x 64 of the depth, `box_bytes`
// from one box to the next.
__device__ __forceinline__ std::uint64_t describe_by_depth(std::uint32_t shared) {
  return (std::uint64_t{1} << 62) | (std::uint64_t{1024 >> 4} << 32) | (std::uint64_t{1} << 16) |
         ((shared & 0x3FFFFu) >> 4);
}
__device__ __forceinline__ std::uint64_t describe_by_vectors(std::uint32_t shared, std::uint32_t box_bytes) {
  return (std::uint64_t{1} << 62) | (std::uint64_t{1024 >> 4} << 32) |
         (static_cast<std::uint64_t>(box_bytes >> 4) << 16) | ((shared & 0x3FFFFu) >> 4);
}

// clang-format off
#define ENVOI_SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ENVOI_SUMS_16(i) ENVOI_SUMS_4(i), ENVOI_SUMS_4(i + 4), ENVOI_SUMS_4(i + 8), ENVOI_SUMS_4(i + 12)
#define ENVOI_SUMS_OF_32 ENVOI_SUMS_16(0), ENVOI_SUMS_16(16)
#define ENVOI_SUMS_OF_64 ENVOI_SUMS_OF_32, ENVOI_SUMS_16(32), ENVOI_SUMS_16(48)
#define ENVOI_SUMS_OF_128 ENVOI_SUMS_OF_64, ENVOI_SUMS_16(64), ENVOI_SUMS_16(80), ENVOI_SUMS_16(96), ENVOI_SUMS_16(112)

#define ENVOI_LIST_OF_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ENVOI_LIST_OF_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
  "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ENVOI_LIST_OF_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
  "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, " \
  "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
  "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, " \
  "%106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, " \
  "%124, %125, %126, %127"

// d = A B (+ d where `add`), for 64 x `columns` sums, `count` of them a thread's; the numbers are those of the operands
// after the sums. Of 16-bit numbers either side may lie the other way; TF32 lies by depth.
#define ENVOI_MULTIPLY_16(type, columns, count, a_, b_, add_, ta_, tb_) \
  template <bool a_by_columns, bool b_by_rows> \
  __device__ __forceinline__ void multiply_##type(float (&d)[count], std::uint64_t a, std::uint64_t b, int add) { \
    asm volatile( \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #add_ ", 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type " {" \
        ENVOI_LIST_OF_##count \
        "}, %" #a_ ", %" #b_ ", p, 1, 1, %" #ta_ ", %" #tb_ ";\n}\n" \
        : ENVOI_SUMS_OF_##count \
        : "l"(a), "l"(b), "r"(add), "n"(static_cast<int>(a_by_columns)), "n"(static_cast<int>(b_by_rows))); \
  }
#define ENVOI_MULTIPLY_TF32(columns, count, a_, b_, add_) \
  __device__ __forceinline__ void multiply_tf32(float (&d)[count], std::uint64_t a, std::uint64_t b, int add) { \
    asm volatile( \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %" #add_ ", 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" \
        ENVOI_LIST_OF_##count \
        "}, %" #a_ ", %" #b_ ", p, 1, 1;\n}\n" \
        : ENVOI_SUMS_OF_##count \
        : "l"(a), "l"(b), "r"(add)); \
  }
ENVOI_MULTIPLY_16(bf16, 64, 32, 32, 33, 34, 35, 36)
ENVOI_MULTIPLY_16(f16, 64, 32, 32, 33, 34, 35, 36)
ENVOI_MULTIPLY_TF32(64, 32, 32, 33, 34)
ENVOI_MULTIPLY_16(bf16, 128, 64, 64, 65, 66, 67, 68)
ENVOI_MULTIPLY_16(f16, 128, 64, 64, 65, 66, 67, 68)
ENVOI_MULTIPLY_TF32(128, 64, 64, 65, 66)
ENVOI_MULTIPLY_16(bf16, 256, 128, 128, 129, 130, 131, 132)
ENVOI_MULTIPLY_16(f16, 256, 128, 128, 129, 130, 131, 132)
ENVOI_MULTIPLY_TF32(256, 128, 128, 129, 130)
// clang-format on

#undef ENVOI_MULTIPLY_16
#undef ENVOI_MULTIPLY_TF32
#undef ENVOI_LIST_OF_32
#undef ENVOI_LIST_OF_64
#undef ENVOI_LIST_OF_128
#undef ENVOI_SUMS_4
#undef ENVOI_SUMS_16
#undef ENVOI_SUMS_OF_32
#undef ENVOI_SUMS_OF_64
#undef ENVOI_SUMS_OF_128

}  // namespace envoi::cuda::ptx
