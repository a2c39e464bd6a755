// SPDX-License-Identifier: Apache-2.0
// One warp multiplies two matrices of ones. Prints "D[0,0] = 16".
#include <cstdio>

#include "warpbit/warpbit.hpp"

int main() {
  using namespace warpbit;
  const auto mma = Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90");
  if (!mma) return std::fprintf(stderr, "%s\n", mma.error().message().c_str());

  // The registers of 32 lanes; two f16 to a register. 0x3C00 is 1.
  const std::vector<std::uint16_t> a(32 * 4 * 2, 0x3C00), b(32 * 2 * 2, 0x3C00);
  std::vector<float> c(32 * 4), d(32 * 4);
  const auto done = execute(*mma, {d, a, b, c});
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message().c_str());

  std::printf("D[0,0] = %g\n", gather_values(*mma->operand("d"), d).value()[0]);  // wherever it lies
}
