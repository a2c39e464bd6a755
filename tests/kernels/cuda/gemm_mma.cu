// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums by mma.sync m16n8k16: a double buffer filled by cp.async, fragments by
// ldmatrix. A tile of 32 x 64 for each block of four warps. Rows beyond M are zeros that cp.async fills in
// (source size 0).
#include <cstdint>

namespace kernel {

constexpr int kRows = 32, kColumns = 64, kStep = 32, kThreads = 128;

// Rows are padded by 16 bytes, so that ldmatrix meets no bank twice.
struct Stage {
  uint16_t a[kRows][kStep + 8], b[kStep][kColumns + 8];
};

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void copy_16(void* to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 16 : 0)
               : "memory");
}

__device__ void load(Stage& to, const uint16_t* a, const uint16_t* b, int rows, int n, int k) {
  const int t = threadIdx.x;
  const int row = t / 4, column = t % 4 * 8;
  copy_16(&to.a[row][column], a + (row < rows ? row * k + column : 0), row < rows);
  for (int i = t; i < kStep * kColumns / 8; i += kThreads)
    copy_16(&to.b[i / 8][i % 8 * 8], b + i / 8 * n + i % 8 * 8, true);
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A warp's 16 x 32 of the tile: rows from `row`, columns from `column`.
__device__ void multiply(float (&sums)[4][4], const Stage& stage, int row, int column) {
  const int lane = threadIdx.x % 32;
  for (int depth = 0; depth < kStep; depth += 16) {
    unsigned a[4], b[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(&stage.a[row + lane % 16][depth + lane / 16 * 8]))
                 : "memory");
    for (int j = 0; j < 4; j += 2) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                   : "r"(shared_address(&stage.b[depth + lane % 16][column + 8 * j + lane / 16 * 8]))
                   : "memory");
      mma(sums[j], a, b[0], b[1]);
      mma(sums[j + 1], a, b[2], b[3]);
    }
  }
}

extern "C" __global__ void gemm_mma(const uint16_t* a, const uint16_t* b, float* d, int m, int n, int k) {
  __shared__ __align__(16) Stage stages[2];
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sums[4][4] = {};

  load(stages[0], a + row * k, b + column, m - row, n, k);
  for (int step = 0; step < k / kStep; ++step) {
    if (const int next = (step + 1) * kStep; next < k) {
      load(stages[(step + 1) % 2], a + row * k + next, b + next * n + column, m - row, n, k);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    multiply(sums, stages[step % 2], warp % 2 * 16, warp / 2 * 32);
    __syncthreads();
  }

  for (int j = 0; j < 4; ++j)
    for (int half = 0; half < 2; ++half) {
      const int to = row + warp % 2 * 16 + lane / 4 + 8 * half;
      if (to < m)
        *reinterpret_cast<float2*>(d + to * n + column + warp / 2 * 32 + 8 * j + lane % 4 * 2) =
            make_float2(sums[j][2 * half], sums[j][2 * half + 1]);
    }
}

}  // namespace kernel
