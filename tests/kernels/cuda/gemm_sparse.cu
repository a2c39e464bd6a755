// SPDX-License-Identifier: Apache-2.0
// D = A B of f16 with f32 sums, A sparse 2:4, by mma.sp m16n8k32 with both selectors. A is stored row by row,
// two elements of four; `metadata` has 16 bits for each 16 columns of a row of A: two bits for the column of
// each element. A warp for each 16 x 16; B is column-major.
#include <cstdint>

namespace kernel {

template <int selector>
__device__ void mma_sp(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[4], unsigned metadata) {
  asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata),
        "n"(selector));
}

__device__ unsigned two(const uint16_t* p) {
  return *reinterpret_cast<const unsigned*>(p);
}

extern "C" __global__ void gemm_sparse(const uint16_t* a, const uint16_t* metadata, const uint16_t* b, float* d,
                                       int n, int k) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  const int row = blockIdx.y * 32 + warp % 2 * 16, column = blockIdx.x * 32 + warp / 2 * 16;
  float sums[2][4] = {};
  for (int step = 0; step < k; step += 32) {
    const uint16_t* upper = a + (row + group) * (k / 2) + step / 2 + pair;
    const uint16_t* lower = upper + 8 * (k / 2);
    const unsigned left[4] = {two(upper), two(lower), two(upper + 8), two(lower + 8)};
    // Each pair of lanes of four has the metadata of rows group and group + 8: 16 columns in a lane. Selector 0
    // takes those of the first pair, 1 of the second: the others have what must not be used.
    const int at = (row + group) * (k / 16) + step / 16 + lane % 2;
    const unsigned here = metadata[at + 8 * (k / 16)] << 16 | metadata[at];
    const bool first = lane % 4 < 2;
    for (int j = 0; j < 2; ++j) {
      const uint16_t* p = b + (column + 8 * j + group) * k + step + pair;
      const unsigned right[4] = {two(p), two(p + 8), two(p + 16), two(p + 24)};
      if (j == 0)
        mma_sp<0>(sums[j], left, right, first ? here : ~here);
      else
        mma_sp<1>(sums[j], left, right, first ? ~here : here);
    }
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i) d[(row + group + i / 2 * 8) * n + column + 8 * j + pair + i % 2] = sums[j][i];
}

}  // namespace kernel
