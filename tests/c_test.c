/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface for C, compiled as C: what c_test.cpp calls, since C++ would be more forgiving. */
#include "warpbit/warpbit.h"

#include <string.h>

/* 16 x 8 ones times 8 x 8 ones: D is 8 everywhere. Returns what went wrong, or null. */
const char* c_product(uint32_t d[32][4]) {
  uint32_t a[32][2], b[32][1], c[32][4];
  warpbit_instruction* mma = NULL;
  warpbit_description description = WARPBIT_INIT(warpbit_description);
  warpbit_registers operands[4];
  int lane, r;
  for (lane = 0; lane < 32; ++lane) {
    a[lane][0] = a[lane][1] = b[lane][0] = 0x3C003C00u;
    for (r = 0; r < 4; ++r) c[lane][r] = 0;
  }
  if (warpbit_parse("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_90", &mma) != WARPBIT_OK)
    return warpbit_message();
  if (warpbit_describe(mma, &description) != WARPBIT_OK) return warpbit_message();
  if (description.operands != 4 || description.lanes != 32 || description.rows != 16 ||
      description.columns != 8 || description.depth != 8 || strcmp(description.target, "sm_90") != 0)
    return "the description is wrong";
  operands[0] = warpbit_dense(mma, 0, d);
  operands[1] = warpbit_dense(mma, 1, a);
  operands[2] = warpbit_dense(mma, 2, b);
  operands[3] = warpbit_dense(mma, 3, c);
  if (warpbit_execute(mma, operands, 4, 1, NULL) != WARPBIT_OK) return warpbit_message();
  warpbit_free(mma);
  return NULL;
}
