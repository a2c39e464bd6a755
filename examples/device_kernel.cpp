// SPDX-License-Identifier: Apache-2.0
// A kernel's source, as a GPU gets it from nvcc, run without one: two warps multiply 16 x 16 by 16 x 16, first
// without the barrier that they need.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "warpbit/device.hpp"

namespace {

using namespace warpbit::device;

template <bool barrier>
WARPBIT_KERNEL void product(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                            GlobalArray<float> d) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, column = thread / 32 * 8;
  const SharedArray<std::uint16_t> tile_a = shared_array<std::uint16_t>(0, 16 * 16);
  const SharedArray<std::uint16_t> tile_b = shared_array<std::uint16_t>(512, 16 * 16);
  if (thread < 32)
    cp_async_cg(tile_a + thread * 8, a + thread * 8);
  else
    cp_async_cg(tile_b + (thread - 32) * 8, b + (thread - 32) * 8);
  cp_async_wait_all();
  if constexpr (barrier) __syncthreads();

  const auto left = ldmatrix<4>(tile_a + (lane % 16 * 16 + lane / 16 * 8));
  const auto right = ldmatrix_trans<2>(tile_b + (lane % 16 * 16 + column));
  const auto sums = mma<m16n8k16, f32, bf16>(left, right, {});

  for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 16 + column + lane % 4 * 2 + i % 2] = sums[i];
}

}  // namespace

int main() {
  const auto target = warpbit::Target::find("sm_90");
  const std::vector<std::uint16_t> a(16 * 16, 0x3F80), b(16 * 16, 0x4000);  // 1 and 2
  std::vector<float> d(16 * 16);
  const auto run = [&](auto kernel) {
    return warpbit::launch(*target, {}, {64}, 1024, kernel, GlobalArray<const std::uint16_t>(a),
                           GlobalArray<const std::uint16_t>(b), GlobalArray<float>(d));
  };
  std::printf("%s\n", run(product<false>).fault->message().c_str());
  if (run(product<true>).ok()) std::printf("with the barrier: no fault, D[0,0] = %g\n", d[0]);
}
