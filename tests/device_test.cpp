// SPDX-License-Identifier: Apache-2.0
// Kernels of tests/kernels/ as they run without a GPU: what they leave in memory, and what is wrong with them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "device_inputs.hpp"
#include "kernels/gemm.cuh"
#include "kernels/mental_model.cuh"

namespace device_test {

using namespace warpbit;
using namespace warpbit::device;
using device_inputs::target;
using kernels::Mistake;
using kernels::Tutorial;
using Codes = std::vector<std::uint16_t>;

std::string said(const Launched& launched) {
  return launched ? "" : launched.fault->message();
}

// ---- The GEMM

struct Product {
  int m, n, k;
  Codes a = device_inputs::codes(m * k, 1, 0x3F00), b = device_inputs::codes(k * n, 2, 0x3F00);
  std::vector<float> d = std::vector<float>(static_cast<std::size_t>(m * n));

  template <Mistake mistake = Mistake::none>
  Launched run(std::string_view on, int threads = 0) {
    Launch how{target(on), {}, {kernels::kThreads}, kernels::kGemmShared};
    how.grid = {static_cast<unsigned>(n / kernels::kTile), static_cast<unsigned>(m / kernels::kTile)};
    how.execute.threads = threads;
    return launch(how, kernels::gemm<mistake>, GlobalArray<const std::uint16_t>(a),
                  GlobalArray<const std::uint16_t>(b), GlobalArray<float>(d), k);
  }
};

TEST_CASE("a GEMM of two buffers gives the bits of gemm()", "[quick][device]") {
  for (const auto& [m, n, k] : {std::array{64, 64, 32}, {64, 128, 96}, {192, 128, 256}})
    for (const char* on : {"sm_80", "sm_90"}) {
      Product problem{m, n, k};
      const Launched launched = problem.run(on);
      INFO(m << " x " << n << " x " << k << " on " << on << ": " << said(launched));
      REQUIRE(launched.ok());
      CHECK(problem.d == device_inputs::product<float>("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                                                       on, m, n, k, {problem.a, k, 1}, {problem.b, n, 1}));
    }
}

TEST_CASE("sm_80 and sm_90 differ in a long product", "[quick][device]") {
  Product ampere{64, 64, 512}, hopper{64, 64, 512};
  REQUIRE(ampere.run("sm_80").ok());
  REQUIRE(hopper.run("sm_90").ok());
  CHECK(ampere.d != hopper.d);
}

TEST_CASE("results do not depend on the number of threads", "[quick][device]") {
  Product one{128, 128, 64}, three{128, 128, 64};
  REQUIRE(one.run("sm_90", 1).ok());
  REQUIRE(three.run("sm_90", 3).ok());
  CHECK(one.d == three.d);
}

template <Mistake mistake>
Fault fault_of_gemm(int threads = 0) {
  Product problem{128, 128, 96};
  const Launched launched = problem.run<mistake>("sm_90", threads);
  REQUIRE_FALSE(launched.ok());
  return *launched.fault;
}

unsigned line_of_gemm(const std::string& text) {
  return device_inputs::line_of("tests/kernels/gemm.cuh", text);
}

TEST_CASE("what is missing in a GEMM is found", "[quick][device]") {
  const unsigned copy_of_a = device_inputs::line_of("tests/kernels/tile.cuh", "cp_async_cg("),
                 load_of_a = line_of_gemm("= ldmatrix<4>(tile_a");
  const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
  // Each thread has waited for its own copies, not for those of the others: row 1 of A is copied by lanes 4
  // to 7.
  const Fault read = fault_of_gemm<Mistake::no_barrier_before_read>();
  CHECK(
      read.error.message() ==
      load +
          ": bytes 0x50 to 0x5f were written by lane 4 of warp 0, and no barrier came between that write and this read; "
          "a __syncwarp must come between them, or a __syncthreads if other warps use these bytes, too");
  CHECK(read.lanes == std::vector{1});
  CHECK(read.at.line == load_of_a);
  REQUIRE(read.other);
  CHECK(read.other->lanes == std::vector{4});
  CHECK(read.other->at.line == copy_of_a);

  // Lane 1 copies over elements 8 to 15 of row 0, which the address of lane 16 has loaded.
  const Fault overwrite = fault_of_gemm<Mistake::no_barrier_before_overwrite>();
  CHECK(overwrite.error.code == Errc::data_race);
  CHECK(overwrite.lanes == std::vector{1});
  CHECK(overwrite.at.line == copy_of_a);
  REQUIRE(overwrite.other);
  CHECK(overwrite.other->lanes == std::vector{16});
  CHECK(overwrite.other->at.line == load_of_a);

  const Fault no_wait = fault_of_gemm<Mistake::no_wait>();
  CHECK(
      no_wait.error.message() ==
      load +
          ": bytes 0x0 to 0xf are the destination of a cp.async of this thread that is not complete (it is in group 1 "
          "of 2); this thread must execute cp.async.wait_group 1 before this statement");
  CHECK(no_wait.at.line == load_of_a);
  REQUIRE(no_wait.other);
  CHECK(no_wait.other->at.line == copy_of_a);
  const Fault waits_for_less = fault_of_gemm<Mistake::wait_for_less>();
  CHECK(
      waits_for_less.error.message() ==
      "cp.async.wait_group: it waits for all groups but the last 2, and lane 0 of warp 0 accesses bytes 0x0 to "
      "0xf, the destination of "
      "a cp.async of this thread that is not complete (it is in group 1 of 2); this statement must be cp.async.wait_group 1, or each step must commit a group, an empty one, too");
  REQUIRE(waits_for_less.other);
  CHECK(waits_for_less.other->at.line == load_of_a);
  // The fault of the first block, however many run at once.
  for (const int threads : {1, 4})
    CHECK(fault_of_gemm<Mistake::no_wait>(threads).message() == no_wait.message());
}

// ---- The tutorial

struct Tile {
  Codes a = device_inputs::codes(16 * 16, 3, 0x3800), b, d = Codes(16 * 8);

  explicit Tile(int elements_of_b) : b(device_inputs::codes(elements_of_b, 4, 0x3800)) {}
  template <Tutorial tutorial>
  Launched run() {
    return launch(target("sm_80"), {}, {32}, 768, kernels::mental_model<tutorial>,
                  GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                  GlobalArray<std::uint16_t>(d));
  }
  Codes product(int row_stride, int column_stride, int stride_of_b) const {
    return device_inputs::product<std::uint16_t>("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sm_80",
                                                 16, 8, 16, {a, row_stride, column_stride},
                                                 {b, stride_of_b, 1});
  }
};

TEST_CASE("the tutorial's kernel, corrected, gives the bits of gemm()", "[quick][device]") {
  Tile tile(16 * 8);
  const Launched launched = tile.run<Tutorial::fixed>();
  INFO(said(launched));
  REQUIRE(launched.ok());
  CHECK(tile.d == tile.product(16, 1, 8));
}

TEST_CASE("the tutorial reads B out of bounds", "[quick][device]") {
  Tile tile(16 * 8);
  const Launched launched = tile.run<Tutorial::stride_of_b>();
  REQUIRE_FALSE(launched.ok());
  const Fault& fault = *launched.fault;
  CHECK(fault.error.message() ==
        "cp.async.cg.shared.global: 16 bytes from 0x100 are out of bounds; the array has 0x0 to 0xff");
  CHECK(fault.lanes == std::vector{8});
  REQUIRE(fault.address);
  CHECK(fault.address->space == Space::global);
  CHECK(fault.address->byte == 8 * 32);
  // Where B has 16 columns, of which 8 are taken, it is right.
  Tile wide(16 * 16);
  REQUIRE(wide.run<Tutorial::stride_of_b>().ok());
  CHECK(wide.d == wide.product(16, 1, 16));
}

TEST_CASE("the tutorial multiplies the transposed A", "[quick][device]") {
  Tile tile(16 * 8);
  REQUIRE(tile.run<Tutorial::transposed_a>().ok());
  CHECK(tile.d == tile.product(1, 16, 8));
  CHECK(tile.d != tile.product(16, 1, 8));
}

// ---- Numbers

TEST_CASE("conversions put the first number into the upper half", "[quick][device]") {
  std::array<std::uint32_t, 4> codes{};
  const Launched launched = launch(target("sm_90"), {}, {1}, 0, [&codes] {
    codes = {cvt_rn<f16x2>(1, -2), cvt_rn<bf16x2>(1, -2), cvt_rn_satfinite<e4m3x2>(1, -1000),
             cvt_rn_satfinite<e5m2x2>(1, -2)};
  });
  INFO(said(launched));
  REQUIRE(launched.ok());
  CHECK(codes == std::array<std::uint32_t, 4>{0x3C00'C000, 0x3F80'C000, 0x38FE, 0x3CC0});
  // Of sm_80, which has no FP8.
  const Launched refused = launch(target("sm_80"), {}, {1}, 0, [] { (void)cvt_rn_satfinite<e4m3x2>(1, 2); });
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.fault->error.code == Errc::not_on_target);
}

TEST_CASE("sums and products in kernels are rounded once and not fused", "[quick][device]") {
  const float tiny = 0x1p-24F, more = 1 + 0x1p-23F;
  CHECK(__fadd_rn(1, tiny) == 1);                // a tie, to even
  CHECK(__fadd_rn(more, tiny) == 1 + 0x1p-22F);  // the same
  CHECK(__fmul_rn(more, more) == 1 + 0x1p-22F);  // without 2^-46
  CHECK(__fmaf_rn(more, more, -1 - 0x1p-22F) == 0x1p-46F);
  CHECK(__float_as_uint(__fmul_rn(-1, 0)) == 0x8000'0000);
  CHECK(__float_as_uint(__fadd_rn(-0.0F, 0)) == 0);
  CHECK(__uint_as_float(0x3F80'0000) == 1);
  CHECK(__fdiv_rn(1, 3) == 0x1.555556p-2F);
}

}  // namespace device_test
