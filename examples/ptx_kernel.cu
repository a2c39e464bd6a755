// SPDX-License-Identifier: Apache-2.0
// A kernel with inline assembly of its own, and two mistakes that it might have. examples/ptx_kernel.ptx is what nvcc makes of
// it, with the names of files as they are here:
//
//     nvcc -ptx -arch=sm_90a -lineinfo examples/ptx_kernel.cu -o examples/ptx_kernel.ptx
#include <cuda_fp16.h>

#include <cstdint>

enum class Mistake { none, too_far, exchanged };

// D = A B, a warp for each 16 x 8 of D. A is rows x depth, B columns x depth, both of f16; D is rows x columns.
template <Mistake mistake>
__device__ void product(const __half* a, const __half* b, float* d, int columns, int depth) {
  __shared__ alignas(16) __half tile[16 * 16];
  const int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
  float sum[4] = {};
  const int end = mistake == Mistake::too_far ? depth + 1 : depth;
#pragma unroll 1
  for (int k = 0; k < end; k += 16) {
    *reinterpret_cast<uint4*>(&tile[lane * 8]) =
        *reinterpret_cast<const uint4*>(&a[(row + lane / 2) * depth + k + lane % 2 * 8]);
    __syncwarp();
    uint32_t left[4], right[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
                 : "l"(__cvta_generic_to_shared(&tile[lane % 16 * 16 + lane / 16 * 8])));
    for (int i = 0; i < 2; ++i)
      right[i] = *reinterpret_cast<const uint32_t*>(&b[(column + lane / 4) * depth + k + lane % 4 * 2 + i * 8]);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i) {
    const int down = mistake == Mistake::exchanged ? i % 2 : i / 2,
              right = mistake == Mistake::exchanged ? i / 2 : i % 2;
    d[(row + lane / 4 + down * 8) * columns + column + lane % 4 * 2 + right] = sum[i];
  }
}

extern "C" __global__ void gemm(const __half* a, const __half* b, float* d, int columns, int depth) {
  product<Mistake::none>(a, b, d, columns, depth);
}
extern "C" __global__ void gemm_too_far(const __half* a, const __half* b, float* d, int columns, int depth) {
  product<Mistake::too_far>(a, b, d, columns, depth);
}
extern "C" __global__ void gemm_exchanged(const __half* a, const __half* b, float* d, int columns, int depth) {
  product<Mistake::exchanged>(a, b, d, columns, depth);
}
