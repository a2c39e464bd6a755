// SPDX-License-Identifier: Apache-2.0
// The kernel of Hopper's asynchronous machine that the benchmark runs. hopper.ptx is what nvcc 13.0 makes of it:
//
//     nvcc -arch=sm_90a -O3 -ptx hopper.cu -o hopper.ptx
#include "../../tests/kernels/cuda/hopper.cuh"

namespace {

using namespace kernel;

constexpr int kRows = 64, kColumns = 256, kStep = 64, kStages = 4, kThreads = 128, kSums = kColumns / 2;
constexpr unsigned kBytesOfA = kRows * kStep * 2, kBytesOfB = kColumns * kStep * 2,
                   kStageBytes = kBytesOfA + kBytesOfB;

// D (64 x 256) += A B of bf16, both with K in a row; accumulate 0 drops the sums that were.
__device__ void multiply(float (&d)[kSums], std::uint64_t a, std::uint64_t b, int accumulate) {
#define EIGHT(i) KERNEL_FOUR(d, i), KERNEL_FOUR(d, i + 4)
#define SUMS                                                                                                  \
  EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56), EIGHT(64), EIGHT(72), \
      EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
      "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
      "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "
      "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
      "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "
      "%123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;\n}"
      : SUMS
      : "l"(a), "l"(b), "r"(accumulate)
      : "memory");
}

}  // namespace

// D = A B, all of n rows and columns, row by row, and the same of A and of B's columns: 64 by 256 for each block, which is a
// warpgroup. A ring of stages is filled by the tensor maps, whose boxes are 64 along K by 64 rows of A, by 256 columns of B.
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* d, int n) {
  extern __shared__ __align__(1024) std::uint8_t stages[];
  __shared__ __align__(8) std::uint64_t barriers[kStages];
  const unsigned first = shared_address(stages), full = shared_address(barriers);
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const auto fill = [&](int k) {
    const unsigned stage = k / kStep % kStages, to = first + stage * kStageBytes, barrier = full + 8 * stage;
    arrive_expecting(barrier, kStageBytes);
    load(to, a, k, row, barrier);
    load(to + kBytesOfA, b, k, column, barrier);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) init(full + 8 * stage, 1);
    fence_barriers();
    for (int k = 0; k < (kStages - 1) * kStep && k < n; k += kStep) fill(k);
  }
  __syncthreads();

  float sums[kSums] = {};
  for (int k = 0; k < n; k += kStep) {
    const unsigned stage = k / kStep % kStages, at = first + stage * kStageBytes;
    wait(full + 8 * stage, k / kStep / kStages % 2);
    fence_products();
    const std::uint64_t left = descriptor(at), right = descriptor(at + kBytesOfA);
#pragma unroll
    for (int part = 0; part < kStep; part += 16)  // 32 bytes on
      multiply(sums, left + part / 8, right + part / 8, k + part > 0);
    commit_products();
    wait_products<0>();
    __syncthreads();  // the stage before may be filled again
    if (threadIdx.x == 0 && k + (kStages - 1) * kStep < n) fill(k + (kStages - 1) * kStep);
  }
#pragma unroll
  for (int i = 0; i < kSums; i += 2)
    *reinterpret_cast<float2*>(&d[(row + row_of(i)) * n + column + column_of(i)]) =
        make_float2(sums[i], sums[i + 1]);
}
