// SPDX-License-Identifier: Apache-2.0
// The kernel with wgmma as a GPU gets it, and every form of wgmma twice: A by a descriptor and in registers.
#include "wgmma_gemm.cuh"

using namespace warpbit::device;

template __global__ void kernels::wgmma_gemm::gemm<kernels::wgmma_gemm::Mistake::none>(const std::uint16_t*,
                                                                                       const std::uint16_t*,
                                                                                       float*, int);

template <int N, int K, class Sum, class A, class B>
WARPBIT_DEVICE double both(std::uint64_t at, bool scale_d) {
  constexpr bool integer = one_of<A, s8, u8>;
  if constexpr (integer && N > 32 && N % 16 != 0) {
    return 0;
  } else {
    typename Wgmma<m64nNkK<N, K>, Sum, A, B>::Sum d = {};
    AsyncFragment<std::uint32_t, 4> a = {};
    wgmma_fence(d);
    wgmma<m64nNkK<N, K>, Sum, A, B, integer ? 1 : -1>(d, at, at, scale_d);
    wgmma<m64nNkK<N, K>, Sum, A, B>(d, a, at, true);
    wgmma_commit_group();
    wgmma_wait_group<0>(d);
    return d[0];
  }
}

template <int K, class Sum, class A, class B, int... Eighths>
__global__ void sizes(std::integer_sequence<int, Eighths...>, double* out, bool scale_d) {
  const SharedArray<std::uint16_t> tile = shared_array<std::uint16_t>(0, 16384);
  const std::uint64_t at = matrix_descriptor(tile, 128, 1024, Swizzle::none);
  out[0] = (both<8 * Eighths, K, Sum, A, B>(at, scale_d) + ...);
}

// N of 24 and 256 for each row; all sizes of f16 and s8, so that there is every number of registers.
template <int K, class Sum, class A, class B>
WARPBIT_DEVICE double some_sizes(Wgmma<m64nNkK<8, K>, Sum, A, B>, std::uint64_t at, bool scale_d) {
  return both<24, K, Sum, A, B>(at, scale_d) + both<256, K, Sum, A, B>(at, scale_d);
}
template <class... Row>
__global__ void each_row(Rows<Row...>, double* out, bool scale_d) {
  const SharedArray<std::uint16_t> tile = shared_array<std::uint16_t>(0, 16384);
  const std::uint64_t at = matrix_descriptor(tile, 128, 1024, Swizzle::none);
  out[0] = (some_sizes(Row{}, at, scale_d) + ...);
}
template __global__ void each_row(WgmmaRows, double*, bool);
#define EIGHTHS                                                                                              \
  std::integer_sequence<int, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
                        24, 25, 26, 27, 28, 29, 30, 31>
template __global__ void sizes<16, f32, f16, f16>(EIGHTHS, double*, bool);
template __global__ void sizes<16, f16, f16, f16>(EIGHTHS, double*, bool);
template __global__ void sizes<32, s32, s8, s8>(EIGHTHS, double*, bool);

WARPBIT_KERNEL void rest(GlobalArray<double> out) {
  const std::uint64_t at = matrix_descriptor(shared_array<std::uint16_t>(0, 16384), 128, 1024, Swizzle::none);
  AsyncFragment<float, 8> sums = {};
  wgmma_fence(sums);
  wgmma<m64nNkK<16, 16>, f32, f16, f16, 1, -1, 1, 0>(sums, at, at, true);
  wgmma<m64nNkK<16, 16>, f32, bf16, bf16, 1, 1, 0, 1>(sums, at, at, true);
  wgmma_commit_group();
  wgmma_wait_group<3>();
  wgmma_wait_group<0>(sums);
  fence_proxy_async_shared_cta();
  out[1] = sums[0];
}
