// SPDX-License-Identifier: Apache-2.0
// Every form of a warp that kernels may call, once; for targets that have them all. Those of warpgroups:
// wgmma.cu.
#include "warpbit/device.hpp"

using namespace warpbit::device;

template <class Shape, class D, class A, class B>
WARPBIT_DEVICE double call(Mma<Shape, D, A, B>, std::uint32_t) {
  return mma<Shape, D, A, B>({}, {}, {})[0];
}
template <class Shape, class D, class A, class B>
WARPBIT_DEVICE double call(MmaSp<Shape, D, A, B>, std::uint32_t metadata) {
  return mma_sp<Shape, D, A, B, MmaSp<Shape, D, A, B>::selectors - 1>({}, {}, {}, metadata)[0];
}
template <class Shape, class Kind, class A, class B, class Scale>
WARPBIT_DEVICE double call(MmaBlockScale<Shape, Kind, A, B, Scale>, std::uint32_t scale) {
  return mma_block_scale<Shape, Kind, A, B, Scale>({}, {}, {}, scale, {}, scale, {0, 1})[0];
}
template <class... Row>
WARPBIT_DEVICE double call(Rows<Row...>, std::uint32_t value) {
  return (call(Row{}, value) + ...);
}
template <class... Row>
WARPBIT_DEVICE void move(Rows<Row...>, SharedArray<std::uint32_t> row, double& sum) {
  ((sum += load_matrix<Row>(row, Place::here())[0]), ...);
}
template <class... Row>
WARPBIT_DEVICE void store(Rows<Row...>, SharedArray<std::uint32_t> row) {
  (store_matrix<Row>(row, typename Row::Registers{}, Place::here()), ...);
}
template <class... Row>
WARPBIT_DEVICE double converted(Rows<Row...>, float x) {
  return (convert<Row>(1, x, Place::here()) + ...);
}

WARPBIT_KERNEL void rows(GlobalArray<double> out, std::uint32_t metadata, std::uint32_t scale) {
  const SharedArray<std::uint32_t> row = shared_array<std::uint32_t>(0, 1024) + 4 * threadIdx.x;
  double sum = call(MmaRows{}, 0) + call(MmaSpRows{}, metadata) + call(MmaBlockScaleRows{}, scale) +
               converted(CvtRows{}, static_cast<float>(scale)) + movmatrix_trans(metadata);
  move(LdmatrixRows{}, row, sum);
  store(StmatrixRows{}, row);
  cp_async_ca<4>(row, as<const std::uint32_t>(out));
  cp_async_ca<8>(row, as<const std::uint32_t>(out));
  cp_async_ca<16>(row, as<const std::uint32_t>(out));
  cp_async_cg(row, as<const std::uint32_t>(out), 8);
  cp_async_commit_group();
  cp_async_wait_group<3>();
  cp_async_wait_all();
  out[0] = sum;
}
