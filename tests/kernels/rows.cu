// SPDX-License-Identifier: Apache-2.0
// Every form of a warp that kernels may call, once; for targets that have them all. Those of warpgroups:
// wgmma.cu.
#include "warpbit/device.hpp"

using namespace warpbit::device;

WARPBIT_KERNEL void rows(GlobalArray<double> out, std::uint32_t metadata, std::uint32_t scale) {
  const SharedArray<std::uint32_t> row = shared_array<std::uint32_t>(0, 1024) + 4 * threadIdx.x;
  double sum = 0;
#define WARPBIT_ROW(shape, d, a, b, fragments) sum += mma<shape, d, a, b>({}, {}, {})[0];
  WARPBIT_MMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(shape, d, a, b, fragments, count) \
  sum += mma_sp<shape, d, a, b, (count)-1>({}, {}, {}, metadata)[0];
  WARPBIT_MMA_SP_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(shape, kind, vec, a, b, of) \
  sum += mma_block_scale<shape, kind, a, b, of>({}, {}, {}, scale, {}, scale, {0, 1})[0];
  WARPBIT_BLOCK_SCALE_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(name, qualifiers, matrices, registers) sum += name<matrices>(row)[0];
  WARPBIT_LDMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
#define WARPBIT_ROW(name, qualifiers, matrices, registers) \
  name<matrices>(row, Fragment<std::uint32_t, registers>{});
  WARPBIT_STMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
  sum += movmatrix_trans(metadata);
#define WARPBIT_ROW(name, qualifiers, to, ...) sum += name<to>(1, static_cast<float>(scale));
  WARPBIT_CVT_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW
  cp_async_ca<4>(row, as<const std::uint32_t>(out));
  cp_async_ca<8>(row, as<const std::uint32_t>(out));
  cp_async_ca<16>(row, as<const std::uint32_t>(out));
  cp_async_cg(row, as<const std::uint32_t>(out), 8);
  cp_async_commit_group();
  cp_async_wait_group<3>();
  cp_async_wait_all();
  out[0] = sum;
}
