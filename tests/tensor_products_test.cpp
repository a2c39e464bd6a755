// SPDX-License-Identifier: Apache-2.0
// Kernels in CUDA C++ with tcgen05, as nvcc compiles them (tests/kernels/tensor/): each leaves the exact product of matrices of
// integers, of which no two elements are equal, whichever kernel of the library computes it.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "forget_array.hpp"
#include "in_turn.hpp"
#include "tensor_products.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace tensor_products_test {

using namespace tensor_products;
namespace ptx = warpbit::ptx;
using warpbit::Dim3;
using warpbit::Kernel;
using warpbit::kernels;
using warpbit::Result;
using warpbit::TensorMap;
using warpbit::TensorMapBytes;
using warpbit::TensorType;

/// A kernel of tests/kernels/tensor/, whose PTX is "product.sm_100a".
ptx::Function function(const std::string& ptx, const std::string& name) {
  static std::map<std::string, ptx::Module> modules;
  if (!modules.contains(ptx)) {
    Result<ptx::Module> module = ptx::Module::load_file("tests/kernels/tensor/" + ptx + ".ptx");
    INFO((module ? "" : module.error().message()));
    REQUIRE(module);
    modules.emplace(ptx, std::move(*module));
  }
  Result<ptx::Function> out = modules.at(ptx).function(name);
  INFO(ptx << ", " << name << ": " << (out ? "" : out.error().message()));
  REQUIRE(out);
  return *out;
}

/// "" or what the launch says against itself.
std::string fault_of(const ptx::Report& report) {
  std::string out = report.fault ? report.fault->message() : "";
  for (const ptx::Finding& finding : report.findings) out += "\n" + finding.fault.message();
  return out;
}

// ---- Products by tcgen05.mma

/// Bits 0-7 of the numbers of a zero-column mask: runs begin with `first`, shortened by `skipped`.
constexpr std::uint64_t mask(std::array<int, 4> skipped, std::array<int, 4> first, int ones, int zeros,
                             int shift) {
  std::uint64_t out = 1ULL << 39 | static_cast<std::uint64_t>(ones - 1) << 40 |
                      static_cast<std::uint64_t>(zeros - 1) << 48 | static_cast<std::uint64_t>(shift) << 56;
  for (std::size_t i = 0; i < 4; ++i)
    out |= static_cast<std::uint64_t>(skipped[i]) << 8 * i | static_cast<std::uint64_t>(first[i]) << (32 + i);
  return out;
}

constexpr Laid kNone{0}, kAtoms32{1}, k128{2}, k64{4}, k32{6}, kNoneOther{0, false, true}, kMn{0, true},
    kMnOther{0, true, true}, kMn32{6, true}, kMn64{4, true}, kMn128{2, true}, kMn128Other{2, true, true},
    kMnAtoms32{1, true}, kMnAtoms32Other{1, true, true};

// clang-format off
const Case kCases[] = {
    // Every kind, type and place of A and B.
    {.kernel = "f16", .a = &kF16, .b = &kF16},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 64, .place_a = kNone, .place_b = kNoneOther},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .place_a = kNoneOther, .place_b = k64},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .place_a = k64, .place_b = k32},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .place_a = k32, .place_b = kNone},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .place_a = kAtoms32, .place_b = k128},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 256, .steps = 2, .limit_a = 2047},
    {.kernel = "f16", .a = &kBf16, .b = &kBf16, .n = 8},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .d = 'h', .n = 8, .limit_a = 15, .limit_b = 15},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 64, .place_a = kMn, .place_b = kMnOther},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 64, .place_a = kMnOther, .place_b = kMn},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 32, .place_a = kMn32, .place_b = kMn64},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 64, .place_a = kMn64, .place_b = kMn128},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 128, .steps = 2, .place_a = kMn128, .place_b = kMn128Other, .limit_a = 2047},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .n = 24, .fills = true, .more = 1 << 13},
    {.kernel = "f16_a", .a = &kF16, .b = &kF16},
    {.kernel = "f16_a", .a = &kBf16, .b = &kBf16, .n = 64, .place_b = kMn128},
    {.kernel = "tf32", .a = &kTf32, .b = &kTf32},
    {.kernel = "tf32", .a = &kTf32, .b = &kTf32, .n = 32, .place_a = kMnAtoms32, .place_b = kMnAtoms32},
    {.kernel = "tf32", .a = &kTf32, .b = &kTf32, .n = 64, .place_a = kMnAtoms32Other, .place_b = kMnAtoms32Other},
    {.kernel = "tf32_a", .a = &kTf32, .b = &kTf32, .place_b = kNone},
    {.kernel = "f8f6f4", .a = &kE4m3, .b = &kE5m2},
    {.kernel = "f8f6f4", .a = &kE5m2, .b = &kE4m3, .n = 64, .place_a = kMn128, .place_b = kMn64},
    {.kernel = "f8f6f4", .a = &kE2m3, .b = &kE3m2},
    {.kernel = "f8f6f4", .a = &kE3m2, .b = &kE2m1, .place_a = kNone, .place_b = k32},
    {.kernel = "f8f6f4", .a = &kE2m1, .b = &kE4m3},
    {.kernel = "f8f6f4", .a = &kE2m1, .b = &kE2m3, .n = 8},
    {.kernel = "f8f6f4", .a = &kE2m1, .b = &kE4m3, .n = 16, .place_a = kMn128, .place_b = k128},
    {.kernel = "f8f6f4", .a = &kE4m3, .b = &kE4m3, .d = 'h', .n = 8, .limit_a = 13, .limit_b = 13},
    {.kernel = "f8f6f4_a", .a = &kE4m3, .b = &kE2m3},
    {.kernel = "f8f6f4_a", .a = &kE2m1, .b = &kE5m2},
    {.kernel = "f8f6f4_a", .a = &kE3m2, .b = &kE5m2},
    {.kernel = "i8", .a = &kS8, .b = &kU8, .d = 's'},
    {.kernel = "i8", .a = &kU8, .b = &kS8, .d = 's', .n = 48, .place_a = kMn128, .place_b = k64},
    // 64 rows: 16 in each window.
    {.kernel = "f16", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64, .n = 24},
    {.kernel = "f16", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64, .first_lane = 16},
    {.kernel = "f16_a", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64},
    {.kernel = "f16_a", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64, .first_lane = 16},
    {.kernel = "i8", .a = &kS8, .b = &kS8, .d = 's', .layout = 'F', .m = 64, .n = 8},
    // Two blocks.
    {.kernel = "f16_pair", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 32},
    {.kernel = "f16_pair", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 64, .place_a = kMn128, .place_b = kMn64},
    {.kernel = "f16_pair", .a = &kF16, .b = &kF16, .layout = 'B', .m = 128, .n = 32},
    {.kernel = "f16_pair_a", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 32},
    {.kernel = "f16_pair_a", .a = &kF16, .b = &kF16, .layout = 'B', .m = 128, .n = 64},
    {.kernel = "f16_sp_pair", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 32},
    {.kernel = "f16_sp_pair", .a = &kF16, .b = &kF16, .layout = 'C', .m = 128, .n = 32},
    {.kernel = "f16_sp_pair", .a = &kF16, .b = &kF16, .layout = 'C', .m = 128, .n = 32, .first_lane = 16},
    {.kernel = "f16_pair_lanes", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 32, .fills = true, .disabled = {1, 0x8000'0000, 0x10, 0xFF, 0x100, 0xFFFF, 0, 0x8000'0001}},
    // Sparse.
    {.kernel = "f16_sp", .a = &kF16, .b = &kF16},
    {.kernel = "f16_sp", .a = &kBf16, .b = &kBf16, .copies_metadata = true},
    {.kernel = "f16_sp", .a = &kF16, .b = &kF16, .n = 64, .place_a = kMn128, .place_b = kMn128},
    {.kernel = "f16_sp", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64},
    {.kernel = "f16_sp", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64, .first_lane = 16},
    {.kernel = "f16_sp_a", .a = &kF16, .b = &kF16},
    {.kernel = "tf32_sp", .a = &kTf32, .b = &kTf32, .place_a = k64, .place_b = kNone},
    {.kernel = "f8f6f4_sp", .a = &kE4m3, .b = &kE5m2, .steps = 2, .copies_metadata = true},
    {.kernel = "f8f6f4_sp", .a = &kE2m1, .b = &kE4m3, .place_a = kNone},
    {.kernel = "i8_sp", .a = &kS8, .b = &kU8, .d = 's'},
    // Weight-stationary.
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'G', .m = 32, .n = 64},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'E', .m = 64, .n = 64},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'D', .m = 128, .n = 64, .steps = 2},
    {.kernel = "f16_ws_a", .a = &kF16, .b = &kF16, .layout = 'G', .m = 32, .n = 64},
    {.kernel = "f16_ws_a", .a = &kF16, .b = &kF16, .layout = 'E', .m = 64, .n = 64},
    {.kernel = "f8f6f4_ws", .a = &kE4m3, .b = &kE2m3, .layout = 'G', .m = 32, .n = 128},
    {.kernel = "i8_ws", .a = &kU8, .b = &kS8, .d = 's', .layout = 'E', .m = 64, .n = 128},
    {.kernel = "f16_ws_sp", .a = &kF16, .b = &kF16, .layout = 'G', .m = 32, .n = 64},
    {.kernel = "f16_ws_sp", .a = &kF16, .b = &kF16, .layout = 'E', .m = 64, .n = 64},
    {.kernel = "f8f6f4_ws_sp", .a = &kE4m3, .b = &kE4m3, .layout = 'G', .m = 32, .n = 64},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'G', .m = 32, .n = 64, .fills = true, .zero_columns = mask({1, 0, 2, 0}, {0, 1, 1, 0}, 3, 5, 0)},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'E', .m = 64, .n = 64, .zero_columns = mask({0, 3}, {1, 0}, 4, 7, 0)},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'E', .m = 64, .n = 64, .more = 2U << 30, .zero_columns = mask({0, 3}, {1, 0}, 4, 7, 8)},
    {.kernel = "f16_ws", .a = &kF16, .b = &kF16, .layout = 'D', .n = 64, .place_b = kMn, .more = 3U << 30, .zero_columns = mask({5}, {0}, 2, 9, 24)},
    // Other operands.
    {.kernel = "f16_lanes", .a = &kF16, .b = &kF16, .fills = true, .disabled = {0xF0F0'0001, 0x8000'0000, 0, 0xFFFF'0000}},
    {.kernel = "f16_lanes", .a = &kF16, .b = &kF16, .layout = 'F', .m = 64, .fills = true, .disabled = {3, 0, 0x8000, 0}},
    {.kernel = "f16_scaled_d", .a = &kF16, .b = &kF16, .steps = 1, .fills = true, .scale_input = 3},
    {.kernel = "f16_ashift", .a = &kF16, .b = &kF16, .steps = 3, .is_ashift = true},
    {.kernel = "f16_a", .a = &kF16, .b = &kF16, .steps = 3, .shifts = 32},
    // Scale factors.
    {.kernel = "mxf8f6f4", .a = &kE4m3, .b = &kE5m2, .limit_a = 60, .limit_b = 60, .scales = 1},
    {.kernel = "mxf8f6f4", .a = &kE2m3, .b = &kE2m1, .n = 24, .place_a = k64, .place_b = k32, .scales = 1},
    {.kernel = "mxf8f6f4", .a = &kE4m3, .b = &kE4m3, .n = 160, .steps = 2, .limit_a = 240, .limit_b = 120, .scales = 1},
    {.kernel = "mxf8f6f4_a", .a = &kE4m3, .b = &kE3m2, .limit_a = 60, .limit_b = 64, .scales = 1},
    {.kernel = "mxf8f6f4_sp", .a = &kE4m3, .b = &kE4m3, .limit_a = 60, .limit_b = 60, .scales = 1},
    {.kernel = "mxf8f6f4_pair", .a = &kE4m3, .b = &kE4m3, .layout = 'A', .m = 256, .n = 32, .limit_a = 60, .limit_b = 60, .scales = 1},
    {.kernel = "mxf8f6f4_pair", .a = &kE4m3, .b = &kE4m3, .layout = 'B', .m = 128, .n = 96, .limit_a = 120, .limit_b = 60, .scales = 1},
    {.kernel = "mxf4", .a = &kPacked, .b = &kPacked, .n = 16, .scales = 2},
    {.kernel = "mxf4_sp", .a = &kPacked, .b = &kPacked, .n = 16, .scales = 2},
    {.kernel = "mxf4nvf4_2", .a = &kPacked, .b = &kPacked, .n = 16, .scales = 2},
    {.kernel = "mxf4nvf4", .a = &kPacked, .b = &kPacked, .n = 16, .scales = 4},
    {.kernel = "mxf4nvf4", .a = &kPacked, .b = &kPacked, .n = 64, .scales = 4, .ue4m3 = true},
    {.kernel = "mxf4nvf4_a", .a = &kPacked, .b = &kPacked, .n = 16, .scales = 4, .ue4m3 = true},
    {.kernel = "mxf4nvf4_pair", .a = &kPacked, .b = &kPacked, .layout = 'A', .m = 256, .n = 32, .scales = 4, .ue4m3 = true},
    {.kernel = "mxf4nvf4_pair", .a = &kPacked, .b = &kPacked, .layout = 'B', .m = 128, .n = 64, .scales = 4, .ue4m3 = true},
    {.kernel = "mxf4", .a = &kPacked, .b = &kPacked, .n = 16, .steps = 4, .scales = 3, .k96 = true},
    {.kernel = "mxf4nvf4", .a = &kPacked, .b = &kPacked, .n = 16, .steps = 3, .scales = 6, .ue4m3 = true, .k96 = true},
};
// clang-format on

/// True if B's column counts as zeros. A run of the mask's first value is shortened.
bool is_zeroed(const Case& c, int column) {
  const std::uint64_t x = c.zero_columns;
  if ((x >> 39 & 1) == 0) return false;
  const int of_mask = c.n / c.banks(), i = column / of_mask;
  bool value = (x >> (32 + i) & 1) != 0;
  int left = -static_cast<int>(x >> 8 * i & 0xFF);
  for (int at = 0;; value = !value, left = 0) {
    left += 1 + static_cast<int>(x >> (value ? 40 : 48) & 0xFF);
    if (column % of_mask < at + left) return value;
    at += left;
  }
}

std::uint32_t expected_word(const Case& c, double product, int row, int column) {
  const int rows = c.m / c.blocks(), d_lane = lanes_of(c, row % rows).front();
  double sum = is_zeroed(c, column) ? 0 : product;
  if ((c.more >> 13 & 1) != 0) sum = -sum;
  if ((c.disabled[static_cast<std::size_t>(row / rows * 4 + d_lane / 32)] >> d_lane % 32 & 1) != 0)
    sum = kFill;
  else if (c.fills)
    sum += std::ldexp(kFill, -c.scale_input);
  if (c.d == 's') return static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
  if (c.d == 'h') return code_of(kF16, sum);
  return std::bit_cast<std::uint32_t>(static_cast<float>(sum + 0.0));
}

std::string difference(const Case& c, const Problem& x, const Words& d) {
  int wrong = 0;
  std::string first;
  for (int set = 0; set < c.sets(); ++set)
    for (int row = 0; row < c.m; ++row) {
      const Row product = row_of(c, x, set, row);
      for (int column = 0; column < c.n; ++column) {
        const std::uint32_t expected =
            expected_word(c, product.sums[static_cast<std::size_t>(column)], row, column);
        const std::uint32_t got = d[static_cast<std::size_t>((set * c.m + row) * c.n + column)];
        if (got != expected && wrong++ == 0)
          first = fmt::format("product {}, row {}, column {}: {:#010x} instead of {:#010x}", set, row, column,
                              got, expected);
      }
    }
  return wrong == 0 ? "" : fmt::format("{} of {} words, the first: {}", wrong, d.size(), first);
}

std::string text(const Case& c) {
  return fmt::format("{} of {} and {}, layout {}, M {}, N {}, {} steps; A {}{}, B {}{}; lane {}", c.kernel,
                     c.a->name, c.b->name, c.layout, c.m, c.n, c.steps, c.place_a.swizzle,
                     c.place_a.is_mn_major ? " MN-major" : "", c.place_b.swizzle,
                     c.place_b.is_mn_major ? " MN-major" : "", c.first_lane);
}

/// "" or the fault of a launch.
std::string run(const Case& c, Arrays& x, Kernel kernel) {
  const ptx::Function product =
      function(c.k96 ? "product.sm_103a" : "product.sm_100a", "product_" + std::string(c.kernel));
  ptx::Launch how{.grid = {static_cast<unsigned>(c.blocks())},
                  .block = {128},
                  .shared_bytes = static_cast<std::uint64_t>(x.shared_bytes)};
  if (c.blocks() == 2) how.cluster = Dim3{2};
  how.execute.kernel = kernel;
  std::vector<Product> parameter{x.product};
  const auto array = [](auto& bytes) { return bytes.empty() ? ptx::null() : ptx::buffer(bytes); };
  const ptx::Report report = product.launch(how, {ptx::buffer(parameter), array(x.a), array(x.b),
                                                  array(x.metadata), array(x.scales), ptx::buffer(x.d)});
  return fault_of(report);
}

TEST_CASE("kernels leave the exact product of their matrices", "[kernels]") {
  std::set<std::string_view> seen;
  for (const Case& c : kCases) {
    if (!seen.insert(c.kernel).second && !tries_all()) continue;
    INFO(text(c));
    const Problem problem = problem_of(c);
    Arrays x = arrays_of(c, problem);
    for (const Kernel kernel : {Kernel::reference, kernels().back()}) {
      if (!has_turn(seen.size(), kernel == Kernel::reference, 2)) continue;
      INFO(name(kernel));
      CHECK(run(c, x, kernel) == "");
      CHECK(difference(c, problem, x.d) == "");
    }
  }
}

TEST_CASE("and the bits of the specification where numbers are any", "[kernels][once]") {
  std::mt19937 random(7);
  std::set<std::string_view> seen;
  for (const Case& c : kCases) {
    if (!seen.insert(c.kernel).second) continue;
    INFO(text(c));
    Arrays x = arrays_of(c, problem_of(c));
    for (Bytes* const bytes : {&x.a, &x.b, &x.scales})
      for (std::uint8_t& byte : *bytes) byte ^= static_cast<std::uint8_t>(random() & random());
    if (c.ue4m3)  // whose bit 7 means nothing
      for (std::uint8_t& byte : x.scales) byte &= 0x7F;
    CHECK(run(c, x, Kernel::reference) == "");
    const Words expected = x.d;
    for (const Kernel kernel : kernels()) {
      if (kernel == Kernel::reference) continue;
      INFO(name(kernel));
      std::ranges::fill(x.d, 0xDEAD'BEEF);
      CHECK(run(c, x, kernel) == "");
      CHECK((x.d == expected));
    }
  }
}

// ---- Whole GEMMs: tensor maps, a ring of stages, a warp for each part

struct Gemm {
  Case tile;  ///< of D for each block or pair
  int m, n, stages = 3;
};
const Gemm kGemms[] = {
    {{.kernel = "f16", .a = &kF16, .b = &kF16, .m = 128, .n = 32}, 256, 64},
    {{.kernel = "f16", .a = &kBf16, .b = &kBf16, .m = 128, .n = 24}, 128, 48, 5},
    {{.kernel = "f16", .a = &kF16, .b = &kF16, .d = 'h', .m = 64, .n = 8, .limit_a = 11, .limit_b = 11},
     64,
     8,
     1},
    {{.kernel = "tf32", .a = &kTf32, .b = &kTf32, .m = 64, .n = 32}, 128, 32},
    {{.kernel = "f8f6f4", .a = &kE4m3, .b = &kE4m3, .m = 128, .n = 32, .limit_a = 120}, 128, 32, 2},
    {{.kernel = "f8f6f4", .a = &kE5m2, .b = &kE2m3, .m = 128, .n = 16}, 128, 16},
    {{.kernel = "f8f6f4", .a = &kE2m1, .b = &kE3m2, .m = 64, .n = 32}, 64, 32},
    {{.kernel = "i8", .a = &kS8, .b = &kU8, .d = 's', .m = 128, .n = 32}, 256, 32},
    {{.kernel = "i8", .a = &kU8, .b = &kU8, .d = 's', .m = 64, .n = 48}, 64, 96, 2},
    {{.kernel = "f16_pair", .a = &kF16, .b = &kF16, .layout = 'A', .m = 256, .n = 32}, 256, 64},
    {{.kernel = "f16_pair", .a = &kBf16, .b = &kBf16, .layout = 'B', .m = 128, .n = 64}, 128, 64},
    {{.kernel = "i8_pair", .a = &kS8, .b = &kS8, .d = 's', .layout = 'A', .m = 256, .n = 32}, 256, 32},
};

/// A matrix with rows of 128 bytes for each of some stages, in boxes with some of its rows.
TensorMapBytes map_of(Bytes& bytes, const Format& format, int rows, int box_rows) {
  const int element = std::max(format.bits, 8) / 8;
  TensorMap map;
  map.elemtype = format.bits == 32 ? TensorType::f32 : format.bits == 16 ? TensorType::f16 : TensorType::u8;
  map.rank = 2;
  map.global_address = ptx::address(std::as_writable_bytes(std::span(bytes)));
  const std::size_t pitch = bytes.size() / static_cast<std::size_t>(rows);
  map.global_dim = {pitch / static_cast<std::size_t>(element), static_cast<std::uint64_t>(rows)};
  map.global_stride = {pitch};
  map.box_dim = {static_cast<std::uint32_t>(128 / element), static_cast<std::uint32_t>(box_rows)};
  map.element_stride = {1, 1};
  map.swizzle_mode = warpbit::Swizzle::bytes_128;
  const Result<TensorMapBytes> out = map.encode();
  INFO((out ? "" : out.error().message()));
  REQUIRE(out);
  return *out;
}

std::string check(const Gemm& gemm, const Case& whole, const Problem& problem, Kernel kernel) {
  Bytes a = packed(problem.stored, *whole.a), b = packed(problem.b.transposed(), *whole.b);
  Words d(static_cast<std::size_t>(gemm.m * gemm.n));
  const int blocks = whole.blocks(), rows = gemm.tile.m / blocks;
  ptx::Launch how{.grid = {static_cast<unsigned>(gemm.n / gemm.tile.n * blocks),
                           static_cast<unsigned>(gemm.m / gemm.tile.m)},
                  .block = {192},
                  .shared_bytes = 1024 + 2 * 128 * static_cast<std::uint64_t>(rows + gemm.tile.n / blocks)};
  how.execute.kernel = kernel;
  const ptx::Report report =
      function("gemm.sm_100a", "gemm_" + std::string(whole.kernel))
          .launch(how, {ptx::value(map_of(a, *whole.a, gemm.m, rows)),
                        ptx::value(map_of(b, *whole.b, gemm.n, gemm.tile.n / blocks)), ptx::buffer(d),
                        ptx::value(descriptor_of(gemm.tile)), ptx::value(rows), ptx::value(gemm.tile.n),
                        ptx::value(gemm.n), ptx::value(gemm.stages),
                        ptx::value(128 * 8 / std::max(whole.a->bits, 8))});
  for (Bytes* const bytes : {&a, &b}) forget_array(std::as_writable_bytes(std::span(*bytes)));
  const std::string fault = fault_of(report);
  return fault.empty() ? difference(whole, problem, d) : fault;
}

TEST_CASE("so do GEMMs with tensor maps and stages", "[kernels]") {
  for (const Gemm& gemm : kGemms) {
    Case whole = gemm.tile;
    whole.m = gemm.m;
    whole.n = gemm.n;
    whole.steps = 4 * gemm.stages;
    INFO(text(whole));
    const Problem problem = problem_of(whole);
    for (const Kernel kernel : {Kernel::reference, kernels().back()}) {
      if (!has_turn(static_cast<std::size_t>(&gemm - kGemms), kernel == Kernel::reference, 2)) continue;
      INFO(name(kernel));
      CHECK(check(gemm, whole, problem, kernel) == "");
    }
  }
}

// ---- Loads and stores: PTX manual, "Data Movement Shape"

/// A shape of tcgen05.ld and .st, and where register r of a thread lies.
struct Shape {
  std::string_view name;
  int registers, max;  ///< for .x1; the maximum of .xN
  int (*lane)(int thread, int r);
  int (*column)(int thread, int r, int split);
};
const Shape kShapes[] = {
    {"32x32b", 1, 128, [](int t, int) { return t; }, [](int, int r, int) { return r; }},
    {"16x64b", 1, 128, [](int t, int) { return t / 4 + t % 2 * 8; },
     [](int t, int r, int) { return 2 * r + t / 2 % 2; }},
    {"16x128b", 2, 64, [](int t, int r) { return t / 4 + r % 2 * 8; },
     [](int t, int r, int) { return t % 4 + r / 2 * 4; }},
    {"16x256b", 4, 32, [](int t, int r) { return t / 4 + r / 2 % 2 * 8; },
     [](int t, int r, int) { return t % 4 * 2 + r % 2 + r / 4 * 8; }},
    {"16x32bx2", 1, 128, [](int t, int) { return t % 16; },
     [](int t, int r, int split) { return r + t / 16 * split; }},
};

/// Words of tensor memory, all different in either half.
Words numbered(std::size_t count, std::uint32_t first = 0) {
  Words out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i + first) * 0x9E37'79B1;
  return out;
}

/// What a load finds in tensor memory with so many columns: with .pack::16b two words' lower halves in one register.
std::uint32_t loaded(const Words& memory, int columns, int lane, int column, bool packs) {
  const auto word = [&](int c) { return memory[static_cast<std::size_t>(lane * columns + c)]; };
  return packs ? (word(2 * column) & 0xFFFF) | word(2 * column + 1) << 16 : word(column);
}
/// What a store leaves there: with .unpack::16b the lower halves of two words; their upper halves are not compared.
void store(Words& memory, int columns, int lane, int column, bool unpacks, std::uint32_t value) {
  const auto word = [&](int c) -> std::uint32_t& {
    return memory[static_cast<std::size_t>(lane * columns + c)];
  };
  if (!unpacks)
    word(column) = value;
  else
    word(2 * column) = value & 0xFFFF, word(2 * column + 1) = value >> 16;
}

constexpr int kSplit = 64;

TEST_CASE("loads and stores in every shape find each other's words", "[kernels]") {
  constexpr int columns = 128, threads = 128, registers = 32;
  const Words fill = numbered(128 * columns), in = numbered(2 * threads * registers, 1 << 20);
  for (const Shape& shape : kShapes)
    for (const bool packs : {false, true}) {
      const std::string name = std::string(shape.name) + (packs ? "_pack" : "");
      INFO(name);
      Words out(2 * threads * registers), expected = out, left(128 * columns), expected_left = fill;
      const ptx::Report loads = function("moves.sm_100a", "load_" + name)
                                    .launch({.block = {threads}}, {ptx::buffer(fill), ptx::buffer(out)});
      CHECK(fault_of(loads) == "");
      const ptx::Report stores =
          function("moves.sm_100a", "store_" + std::string(shape.name) + (packs ? "_unpack" : ""))
              .launch({.block = {threads}}, {ptx::buffer(fill), ptx::buffer(in), ptx::buffer(left)});
      CHECK(fault_of(stores) == "");
      for (int half = 0; half < 2; ++half)
        for (int thread = 0; thread < threads; ++thread)
          for (int r = 0; r < registers; ++r) {
            // The second half: lanes 16 to 31, of .32x32b columns 64 and on.
            const bool is_32 = shape.name == "32x32b";
            const int first = is_32 ? 64 * half : 0,
                      lane = thread / 32 * 32 + (is_32 ? 0 : 16 * half) + shape.lane(thread % 32, r);
            const int column = shape.column(thread % 32, r, kSplit) + (packs ? first / 2 : first);
            const auto i = static_cast<std::size_t>((half * threads + thread) * registers + r);
            const bool is_split = packs && shape.name == "16x32bx2" && thread % 32 >= 16;
            // The offset of the other half of lanes counts words.
            const int at = is_split ? column - kSplit / 2 : column;
            expected[i] = loaded(fill, columns, lane, at, packs);
            store(expected_left, columns, lane, at, packs, in[i]);
          }
      CHECK((out == expected));
      if (packs)  // the upper halves of unpacked words
        for (std::size_t i = 0; i < left.size(); ++i)
          if (expected_left[i] >> 16 == 0) left[i] &= 0xFFFF;
      CHECK((left == expected_left));
    }
}

// ---- Copies from shared memory, and shifts

struct Copy {
  std::string_view name;
  int rows, row_bytes;
  std::vector<int> (*lanes)(int row);
};
const Copy kCopies[] = {
    {"128x256b", 128, 32, [](int s) { return std::vector{s}; }},
    {"128x128b", 128, 16, [](int s) { return std::vector{s}; }},
    {"4x256b", 4, 32, [](int s) { return std::vector{32 * s}; }},
    {"64x128b.warpx2::02_13", 64, 16,
     [](int s) {
       return std::vector{s, s + 64};
     }},
    {"64x128b.warpx2::01_23", 64, 16,
     [](int s) {
       return std::vector{s / 32 * 64 + s % 32, s / 32 * 64 + s % 32 + 32};
     }},
    {"32x128b.warpx4", 32, 16,
     [](int s) {
       return std::vector{s, s + 32, s + 64, s + 96};
     }},
};

constexpr std::string_view kPackings[] = {"bytes", "b4x16_p64", "b6x16_p32"};

/// Sixteen bytes as a copy leaves them: as they are, or 16 codes of 4 or 6 bits in a byte each.
std::array<std::uint8_t, 16> decompressed(const std::uint8_t* from, int bits) {
  std::array<std::uint8_t, 16> out;
  for (int i = 0; i < 16; ++i) {
    std::uint32_t code = 0;
    for (int j = 0; j < bits; ++j)
      code |= static_cast<std::uint32_t>(from[(i * bits + j) / 8] >> (i * bits + j) % 8 & 1) << j;
    out[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(bits == 4 ? code << 2 : code);
  }
  return out;
}

Words operate(const Words& fill, const Bytes& source, std::uint64_t descriptor, std::uint32_t at,
              int operation) {
  Words out(fill.size());
  const ptx::Report report =
      function("moves.sm_100a", "operate")
          .launch({.block = {128}, .shared_bytes = std::max<std::uint64_t>(source.size(), 16)},
                  {ptx::buffer(fill), source.empty() ? ptx::null() : ptx::buffer(source),
                   ptx::value(static_cast<int>(source.size())), ptx::value(descriptor), ptx::value(at),
                   ptx::value(operation), ptx::buffer(out)});
  CHECK(fault_of(report) == "");
  return out;
}

TEST_CASE("copies to tensor memory in every shape", "[kernels]") {
  constexpr int columns = 16, at = 4;
  const Words fill = numbered(128 * columns);
  std::mt19937 random(1);
  for (std::size_t shape = 0; shape < std::size(kCopies); ++shape)
    for (int packing = 0; packing < 3; ++packing)
      for (const int swizzle : {0, 6, 4, 2}) {
        const Copy& copy = kCopies[shape];
        INFO(copy.name << ", " << kPackings[packing] << ", swizzle " << swizzle);
        // The rows, and where they lie: without a swizzle the second chunk of all rows behind the first.
        const Laid place{swizzle};
        const Case none{.kernel = "f16", .a = &kF16, .b = &kF16};
        const Operand x = operand(none, place, std::max(copy.rows, 8), copy.row_bytes, 0, 32, 0);
        const int w = swizzle == 0 ? 16 : swizzle == 6 ? 32 : swizzle == 4 ? 64 : 128;
        Bytes rows(static_cast<std::size_t>(copy.rows * copy.row_bytes)),
            source(static_cast<std::size_t>(x.lines * w * 2));
        for (std::uint8_t& byte : rows) byte = static_cast<std::uint8_t>(random());
        for (int row = 0; row < copy.rows; ++row)
          for (int byte = 0; byte < copy.row_bytes; ++byte) {
            int offset = swizzle == 0 ? row % 8 * 16 + row / 8 * x.stride + byte / 16 * x.leading + byte % 16
                                      : row % 8 * w + row / 8 * x.stride + byte;
            if (swizzle != 0) offset ^= (offset >> 7 & (w / 16 - 1)) << 4;
            source[static_cast<std::size_t>(offset)] =
                rows[static_cast<std::size_t>(row * copy.row_bytes + byte)];
          }
        Words expected = fill;
        for (int row = 0; row < copy.rows; ++row)
          for (const int lane : copy.lanes(row))
            for (int chunk = 0; chunk < copy.row_bytes / 16; ++chunk) {
              const std::array<std::uint8_t, 16> bytes =
                  decompressed(&rows[static_cast<std::size_t>(row * copy.row_bytes + 16 * chunk)],
                               packing == 0 ? 8 : 2 + 2 * packing);
              std::memcpy(&expected[static_cast<std::size_t>(lane * columns + at + 4 * chunk)], bytes.data(),
                          16);
            }
        const auto encoded = [](int offset) { return static_cast<std::uint64_t>(offset / 16); };
        const std::uint64_t descriptor = encoded(x.leading) << 16 | encoded(x.stride) << 32 | 1ULL << 46 |
                                         static_cast<std::uint64_t>(swizzle) << 61;
        CHECK((operate(fill, source, descriptor, at, static_cast<int>(3 * shape) + packing) == expected));
      }
}

TEST_CASE("a shift moves the lanes of the partition that it names", "[kernels]") {
  constexpr int columns = 16, at = 4;
  const Words fill = numbered(128 * columns);
  for (int partition = 0; partition < 4; ++partition) {
    Words expected = fill;
    for (int lane = 32 * partition; lane < 32 * partition + 31; ++lane)
      for (int column = at; column < at + 8; ++column)
        expected[static_cast<std::size_t>(lane * columns + column)] =
            fill[static_cast<std::size_t>((lane + 1) * columns + column)];
    CHECK((operate(fill, {}, 0, static_cast<std::uint32_t>(partition * 32 << 16 | at), 18) == expected));
  }
}

// ---- Reductions of loads: sm_103a

/// The operations of a .red, in the order of the kernel's: min before max; of f32 also .abs and .NaN.
struct Reduction {
  bool is_max;
  char type;
  bool abs = false, nan = false;
};
constexpr Reduction kReductions[] = {{false, 'u'},
                                     {true, 'u'},
                                     {false, 's'},
                                     {true, 's'},
                                     {false, 'f'},
                                     {true, 'f'},
                                     {false, 'f', true},
                                     {true, 'f', true},
                                     {false, 'f', false, true},
                                     {true, 'f', true, true}};

/// A key by which words are ordered: of f32 -0 is below +0.
std::int64_t key(const Reduction& what, std::uint32_t word) {
  if (what.type == 'u') return word;
  if (what.type == 's' || word >> 31 == 0) return static_cast<std::int32_t>(word);
  return -1 - static_cast<std::int64_t>(word & 0x7FFF'FFFF);
}

std::uint32_t reduced(const Reduction& what, const std::uint32_t* words, int count) {
  std::uint32_t out = 0x7FFF'FFFF;  // NaN, if there is no number
  bool is_first = true;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t word = what.abs ? words[i] & 0x7FFF'FFFF : words[i];
    if (what.type == 'f' && (word & 0x7FFF'FFFF) > 0x7F80'0000) {
      if (what.nan) return 0x7FFF'FFFF;
      continue;
    }
    if (is_first || (what.is_max ? key(what, word) > key(what, out) : key(what, word) < key(what, out)))
      out = word;
    is_first = false;
  }
  return out;
}

TEST_CASE("loads that reduce what each thread loads", "[kernels]") {
  constexpr int columns = 16, threads = 128;
  Words fill = numbered(threads * columns, 5);
  for (std::size_t i = 0; i < fill.size(); ++i) {
    static constexpr std::uint32_t kSpecial[] = {0,           0x8000'0000, 0x7F80'0000,
                                                 0xFF80'0000, 0x7FC0'1234, 0xFF81'0000};
    if (i % 7 == 0 || i / columns % 32 == 3)
      fill[i] = kSpecial[i / 7 % 4 + (i % 3 == 0 || i / columns == 3 ? 2 : 0)];
    if (i / columns == 35) fill[i] = 0x7FC0'0001;
    if (i / columns / 2 == 20) fill[i] = (i + i / columns) % 2 == 0 ? 0x8000'0000 : 0;  // zeros of both signs
  }
  for (int operation = 0; operation < 20; ++operation) {
    INFO(operation);
    Words out(threads * 9), expected = out;
    CHECK(fault_of(function("moves.sm_103a", "reduce")
                       .launch({.block = {threads}},
                               {ptx::buffer(fill), ptx::value(operation), ptx::buffer(out)})) == "");
    const Shape& shape = kShapes[operation < 10 ? 0 : 4];
    for (int thread = 0; thread < threads; ++thread) {
      std::uint32_t* const to = &expected[static_cast<std::size_t>(thread * 9)];
      for (int r = 0; r < 8; ++r)
        to[r] = loaded(fill, columns, thread / 32 * 32 + shape.lane(thread % 32, r),
                       shape.column(thread % 32, r, 8), false);
      to[8] = reduced(kReductions[operation % 10], to, 8);
    }
    CHECK((out == expected));
  }
}

// ---- Every number of registers, in PTX written here

constexpr int kAllColumns = 512;

/// Kernels of one warp, which fills tensor memory; then it loads `out` by each number of registers, or stores `in` and leaves
/// all of tensor memory behind each other in `out`.
std::string moves(const Shape& shape, bool packs, bool stores) {
  const auto list = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += fmt::format("{}%w{}", i == 0 ? "" : ", ", i);
    return "{" + out + "}";
  };
  std::string out = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 fill, .param .u64 in, .param .u64 out)
{
  .reg .b32 %w<128>;  .reg .b32 %r<8>;  .reg .b64 %rd<8>;  .shared .align 4 .b32 at;
  ld.param.u64 %rd1, [fill];  ld.param.u64 %rd2, [in];  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 512;  add.u64 %rd2, %rd2, %rd4;  add.u64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd4, %r1, 2048;  add.u64 %rd1, %rd1, %rd4;
  mov.u32 %r2, at;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 512;
  bar.sync 0;
  ld.shared.b32 %r3, [at];
)";
  const auto each = [&](const char* what, const char* pointer, int first, int count, bool is_load) {
    for (int i = 0; i < count; ++i)
      out += is_load ? fmt::format("{} %w{}, [{}+{}];\n", what, i, pointer, first + 4 * i)
                     : fmt::format("{} [{}+{}], %w{};\n", what, pointer, first + 4 * i, i);
  };
  for (int part = 0; part < 4; ++part) {
    each("ld.global.b32", "%rd1", 512 * part, 128, true);
    out += fmt::format("tcgen05.st.sync.aligned.32x32b.x128.b32 [%r3+{}], {};\n", 128 * part, list(128));
  }
  out += "tcgen05.wait::st.sync.aligned;\n";
  int first = 0;
  for (int number = 1; number <= shape.max; number *= 2, first += 128 * 128) {
    const int count = number * shape.registers;
    const std::string split = shape.name == "16x32bx2" ? ", 64" : "";
    const std::string form = fmt::format(".sync.aligned.{}.x{}{}.b32 ", shape.name, number,
                                         !packs   ? ""
                                         : stores ? ".unpack::16b"
                                                  : ".pack::16b");
    if (!stores) {
      out += "tcgen05.ld" + form + list(count) + ", [%r3]" + split + ";\ntcgen05.wait::ld.sync.aligned;\n";
      each("st.global.b32", "%rd3", first, count, false);
      continue;
    }
    each("ld.global.b32", "%rd2", first, count, true);
    out += "tcgen05.st" + form + "[%r3]" + split + ", " + list(count) + ";\ntcgen05.wait::st.sync.aligned;\n";
    for (int part = 0; part < 4; ++part) {
      out +=
          fmt::format("tcgen05.ld.sync.aligned.32x32b.x128.b32 {}, [%r3+{}];\ntcgen05.wait::ld.sync.aligned;\n",
                      list(128), 128 * part);
      each("st.global.b32", "%rd3", 4 * first + 16384 * part, 128, false);
    }
  }
  return out + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 512;\nret;\n}\n";
}

TEST_CASE("loads and stores of every number of registers", "[kernels]") {
  for (const Shape& shape : kShapes)
    for (const bool packs : {false, true})
      for (const bool stores : {false, true}) {
        INFO(shape.name << (packs ? ", packed" : "") << (stores ? ", st" : ", ld"));
        const Result<ptx::Module> module = ptx::Module::load(moves(shape, packs, stores));
        INFO((module ? "" : module.error().message()));
        REQUIRE(module);
        const Result<ptx::Function> function = module->function("k");
        INFO((function ? "" : function.error().message()));
        REQUIRE(function);
        // Of each number 128 words of 32 threads, 512 bytes apart; of stores four such parts.
        const std::size_t part = 32 * 128;
        const Words fill = numbered(32 * kAllColumns), in = numbered(8 * 4 * part, 1 << 16);
        Words out(8 * 4 * part);
        CHECK(fault_of(function->launch({.block = {32}},
                                        {ptx::buffer(fill), ptx::buffer(in), ptx::buffer(out)})) == "");
        Words memory = fill;
        int wrong = 0, compared = 0;
        std::size_t number = 0;
        for (int count = shape.registers; count <= shape.max * shape.registers; count *= 2, ++number) {
          const auto place = [&](int t, int r) {
            const int column = shape.column(t, r, packs ? kSplit / 2 : kSplit);
            return std::pair{shape.lane(t, r), column};
          };
          for (int t = 0; t < 32; ++t)
            for (int r = 0; r < count; ++r) {
              const auto [lane, column] = place(t, r);
              const std::size_t i = number * part + static_cast<std::size_t>(t * 128 + r);
              if (stores)
                store(memory, kAllColumns, lane, column, packs, in[i]);
              else
                ++compared, wrong += out[i] != loaded(memory, kAllColumns, lane, column, packs);
            }
          if (!stores) continue;
          for (int lane = 0; lane < 32; ++lane)
            for (int column = 0; column < kAllColumns; ++column) {
              const std::uint32_t expected = memory[static_cast<std::size_t>(lane * kAllColumns + column)];
              const std::uint32_t got = out[number * 4 * part + static_cast<std::size_t>(column / 128) * part +
                                            static_cast<std::size_t>(lane * 128 + column % 128)];
              ++compared;
              wrong += packs && expected >> 16 == 0 ? (got & 0xFFFF) != expected : got != expected;
            }
        }
        CHECK(wrong == 0);
        CHECK(compared > 0);
      }
}

// ---- Kernels of Triton

/// Every element of D is another number of f16: 2^(n / 8 - 8) (1 + m / 128 + n % 8 / 1024), by three places of K; the others
/// are products with 0 of numbers other than 0.
void fill_halves(int k, Matrix& a, Matrix& b) {
  const int places[] = {k - 1, 5, k / 2};
  std::mt19937 random(3);
  for (int i = 0; i < k; ++i)
    for (int x = 0; x < 128; ++x) {
      a.at(x, i) = i % 2 ? static_cast<double>(random() % 64) : 0;
      b.at(i, x) = i % 2 ? 0 : static_cast<double>(random() % 64);
    }
  for (int x = 0; x < 128; ++x) {
    const double scale = std::ldexp(1, x / 8 - 8);
    a.at(x, places[0]) = 1, b.at(places[0], x) = scale;
    a.at(x, places[1]) = x / 128.0, b.at(places[1], x) = scale;
    a.at(x, places[2]) = 1, b.at(places[2], x) = scale * (x % 8) / 1024;
  }
}

TEST_CASE("Triton's kernels leave the exact product", "[kernels]") {
  for (const std::string name : {"matmul", "matmul_tma_device"}) {
    INFO(name);
    const Result<ptx::Module> module = ptx::Module::load_file("tests/kernels/sm_100/triton_" + name + ".ptx");
    INFO((module ? "" : module.error().message()));
    REQUIRE(module);
    const Result<ptx::Function> function = module->function(name);
    INFO((function ? "" : function.error().message()));
    REQUIRE(function);
    const int k = 192;
    Matrix a(128, k), b(k, 128);
    fill_halves(k, a, b);
    // The one reads B by its strides, the other has the columns of B as rows.
    Bytes in_a = packed(a, kF16), in_b = packed(name == "matmul" ? b : b.transposed(), kF16), scratch(384);
    std::vector<std::uint16_t> d(128 * 128);
    std::vector<ptx::Argument> arguments{ptx::buffer(in_a), ptx::buffer(in_b), ptx::buffer(d)};
    std::vector<int> numbers{128, 128, k};
    if (name == "matmul") numbers.insert(numbers.end(), {k, 1, 128, 1, 128, 1});  // strides of A, B and D
    for (const int number : numbers) arguments.push_back(ptx::value(number));
    arguments.push_back(name == "matmul" ? ptx::null() : ptx::buffer(scratch));
    arguments.push_back(ptx::null());
    const ptx::Report report =
        function->launch({.block = {128}, .shared_bytes = name == "matmul" ? 40960U : 131120U}, arguments);
    // It has no tcgen05.fence, which is found and tolerated.
    CHECK((report.fault ? report.fault->message() : "") == "");
    int wrong = 0;
    std::set<std::uint16_t> seen;
    for (int row = 0; row < 128; ++row)
      for (int column = 0; column < 128; ++column) {
        double sum = 0;
        for (int i = 0; i < k; ++i) sum += a.at(row, i) * b.at(i, column);
        seen.insert(static_cast<std::uint16_t>(code_of(kF16, sum)));
        wrong += d[static_cast<std::size_t>(row * 128 + column)] != code_of(kF16, sum);
      }
    CHECK(wrong == 0);
    CHECK(seen.size() == 128 * 128);
  }
}

}  // namespace tensor_products_test
