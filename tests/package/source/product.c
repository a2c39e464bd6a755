/* SPDX-License-Identifier: Apache-2.0
 *
 * The same as product.cpp, through the interface for C. */
#include <stdio.h>
#include <warpbit/warpbit.h>

static int refused(void) {
  puts(warpbit_message());
  return 1;
}

int main(void) {
  uint32_t a[32][4] = {{0}}, b[32][2], c[32][4], d[32][4];
  warpbit_instruction* mma = NULL;
  warpbit_registers operands[4];
  int lane, r;
  for (lane = 0; lane < 32; ++lane) {
    b[lane][0] = b[lane][1] = 0x3C003C00u;
    for (r = 0; r < 4; ++r) {
      a[lane][r] = lane % 4 == 0 ? 0x3C00u : 0;
      c[lane][r] = 0x4B800000u;
    }
  }
  if (warpbit_abi() != WARPBIT_ABI) return 1;
  if (warpbit_parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90", &mma) != WARPBIT_OK)
    return refused();
  operands[0] = warpbit_dense(mma, 0, d);
  operands[1] = warpbit_dense(mma, 1, a);
  operands[2] = warpbit_dense(mma, 2, b);
  operands[3] = warpbit_dense(mma, 3, c);
  if (warpbit_execute(mma, operands, 4, 1, NULL) != WARPBIT_OK) return refused();
  warpbit_free(mma);
  for (lane = 0; lane < 32; ++lane)
    for (r = 0; r < 4; ++r)
      if (d[lane][r] != 0x4B800001u) return printf("0x%08x\n", (unsigned)d[lane][r]), 1;
  puts("D is 0x4b800001 everywhere");
  return 0;
}
