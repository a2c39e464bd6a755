// SPDX-License-Identifier: Apache-2.0
// A product of 100 x 100 matrices of bf16 as the tensor cores of two GPUs compute it. Prints how many of its
// elements differ.
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "warpbit/gemm.hpp"

namespace {

using namespace warpbit;

constexpr std::size_t kSize = 100;

// Values around 1, of both signs.
std::vector<std::uint16_t> random_matrix(std::uint32_t seed) {
  std::vector<std::uint16_t> out(kSize * kSize);
  for (std::uint16_t& element : out) {
    seed = seed * 1664525 + 1013904223;
    element = static_cast<std::uint16_t>(seed >> 31 << 15 | (124 + (seed >> 28 & 7)) << 7 | (seed >> 8 & 0x7F));
  }
  return out;
}

Result<std::vector<std::uint32_t>> product(std::string_view target_name, const GemmOptions& options) {
  const Result<Target> target = Target::find(target_name);
  if (!target) return target.error();
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", *target);
  if (!mma) return mma.error();
  const std::vector<std::uint16_t> a = random_matrix(1), b = random_matrix(2);
  std::vector<std::uint32_t> d(kSize * kSize);
  const Gemm problem{kSize,
                     kSize,
                     kSize,
                     {a.data(), kSize, 1},  // row-major
                     {b.data(), 1, kSize},  // column-major
                     {},                    // no C
                     {d.data(), kSize, 1}};
  const Result<Execution> done = gemm(*mma, problem, options);
  if (!done) return done.error();
  return d;
}

}  // namespace

int main() {
  GemmOptions two_runs;
  two_runs.order.split_k = 2;
  const auto ampere = product("sm_80", {}), hopper = product("sm_90", {}), split = product("sm_90", two_runs);
  for (const auto* d : {&ampere, &hopper, &split})
    if (!*d) return std::fprintf(stderr, "%s\n", d->error().message().c_str());
  std::size_t gpus = 0, runs = 0;
  for (std::size_t i = 0; i < kSize * kSize; ++i) {
    gpus += (*ampere)[i] != (*hopper)[i];
    runs += (*split)[i] != (*hopper)[i];
  }
  std::printf("%zu of %zu elements differ between sm_80 and sm_90, %zu with K in two runs\n", gpus,
              kSize * kSize, runs);
}
