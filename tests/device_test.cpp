// SPDX-License-Identifier: Apache-2.0
// Kernels of tests/kernels/ as they run without a GPU.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "kernels/gemm.cuh"
#include "warpbit/gemm.hpp"

namespace {

using namespace warpbit;
using namespace warpbit::device;

Target target(std::string_view name) {
  const Result<Target> found = Target::find(name);
  REQUIRE(found.ok());
  return *found;
}

// Codes of bf16 of both signs and about the same size.
std::vector<std::uint16_t> inputs(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint16_t> out(count);
  for (std::uint16_t& code : out) {
    seed = seed * 1664525 + 1013904223;
    code = static_cast<std::uint16_t>((seed >> 31) << 15 | (0x3F00 + (seed >> 16 & 0x1FF)));
  }
  return out;
}

struct Problem {
  int m, n, k;
  std::vector<std::uint16_t> a = inputs(static_cast<std::size_t>(m * k), 1);
  std::vector<std::uint16_t> b = inputs(static_cast<std::size_t>(k * n), 2);
  std::vector<float> d = std::vector<float>(static_cast<std::size_t>(m * n));

  template <auto kernel>
  Launched run(std::string_view on) {
    const Dim3 grid{static_cast<unsigned>(n / kernels::kTile), static_cast<unsigned>(m / kernels::kTile)};
    return launch(target(on), grid, {kernels::kThreads}, kernels::kGemmShared, kernel,
                  GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                  GlobalArray<float>(d), k);
  }
};

TEST_CASE("a GEMM of two buffers gives the bits of gemm()", "[quick][device]") {
  for (const auto& [m, n, k] : {std::array{64, 64, 32}, {128, 64, 96}, {512, 512, 512}})
    for (const char* on : {"sm_80", "sm_90"}) {
      Problem problem{m, n, k};
      const auto start = std::chrono::steady_clock::now();
      const Launched launched = problem.run<kernels::gemm<>>(on);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      INFO((launched ? "" : launched.fault->message()));
      REQUIRE(launched.ok());
      fmt::print("{} x {} x {} on {}: {:.2f} s\n", m, n, k, on, took.count());
      const auto size = [](int x) { return static_cast<std::size_t>(x); };
      std::vector<float> d(size(m * n));
      const auto instruction =
          Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", target(on));
      REQUIRE(instruction.ok());
      REQUIRE(gemm(*instruction, {size(m), size(n), size(k), {problem.a.data(), k, 1}, {problem.b.data(), n, 1}, {}, {d.data(), n, 1}}).ok());
      CHECK(problem.d == d);
    }
}

}  // namespace
