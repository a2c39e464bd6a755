// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace bench {
namespace {

constexpr std::string_view kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                           kBf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                           kE4m3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32";

constexpr std::array kRows{
    Row{"m16n8k16 f16->f32", "sm_90", kF16, 8},
    Row{"m16n8k16 f16->f32", "sm_80", kF16, 9},
    Row{"m16n8k16 bf16->f32", "sm_90", kBf16, 9},
    Row{"m16n8k16 f16->f16", "sm_90", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 9},
    Row{"m16n8k8 tf32->f32", "sm_90", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 9},
    Row{"m16n8k32 e4m3->f32", "sm_89", kE4m3, 9},
    Row{"m16n8k32 e4m3->f32", "sm_90", kE4m3, 9},
    Row{"m16n8k32 e4m3->f32", "sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", 9},
    Row{"sparse m16n8k32 f16->f32", "sm_90",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 12},
    Row{"m16n8k32 mxf8f6f4 e4m3->f32", "sm_120a",
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
        " {d}, {a}, {b}, {c}, scale_a, {0, 0}, scale_b, {0, 0};",
        12},
    Row{"m16n8k64 mxf4nvf4 e2m1->f32", "sm_120a",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
        " {d}, {a}, {b}, {c}, scale_a, {0, 0}, scale_b, {0, 0};",
        12},
    Row{"m16n8k32 s8->s32", "sm_80", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 1},
    Row{"m16n8k64 s4->s32", "sm_80", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 1},
    Row{"m16n8k256 b1->s32", "sm_80", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 1},
    Row{"m16n8k16 f64->f64", "sm_90", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 2.5},
    Row{"m64n256k16 f16->f32", "sm_90a", "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", 7,
        Kind::warpgroup},
    Row{"m128n256k16 f16->f32", "sm_100a", "tcgen05.mma.cta_group::1.kind::f16", 7, Kind::tensor},
    Row{"GEMM 1024 bf16->f32, 1 thread", "sm_90", kBf16, 0, Kind::gemm},
    Row{"GEMM 1024 bf16->f32, 2 threads", "sm_90", kBf16, 6, Kind::gemm, Values::ordinary, 2, 1.9},
    Row{"parse", "sm_90",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        " {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f4, %f5, %f6, %f7};",
        5000, Kind::parse},
    Row{"kernel: GEMM 512 bf16, 2 threads", "sm_90", kBf16, 2e9, Kind::launch, Values::ordinary, 2},
    Row{"PTX: GEMM 1024 bf16, 1 thread", "sm_90", kBf16, 3.5, Kind::ptx_mma},
    Row{"PTX: GEMM 1024 bf16, 2 threads", "sm_90", kBf16, 4, Kind::ptx_mma, Values::ordinary, 2},
    Row{"PTX: GEMM 1024 bf16 checked, 1 thread", "sm_90", kBf16, 5, Kind::ptx_mma_checked},
    Row{"PTX: wgmma 1024 bf16, 1 thread", "sm_90a", kBf16, 2, Kind::ptx_wgmma},
    Row{"PTX: wgmma 1024 bf16, 2 threads", "sm_90a", kBf16, 2, Kind::ptx_wgmma, Values::ordinary, 2},
    Row{"PTX: wgmma 1024 bf16 checked, 1 thread", "sm_90a", kBf16, 2, Kind::ptx_wgmma_checked},
    Row{"PTX: an instruction", "sm_90", {}, 20, Kind::ptx_products},
    Row{"PTX: 10,000 instructions loaded", "sm_90", {}, 5e7, Kind::ptx_load},
};

constexpr double kAnyBits = 3;  // the limit of random bits, times ordinary numbers

// What is computed by tiles, whose operands may be any bits.
bool takes_any_bits(const Row& row) {
  return row.threads == 1 && (row.kind == Kind::tile || row.kind == Kind::warpgroup ||
                              row.kind == Kind::tensor || row.kind == Kind::gemm);
}

}  // namespace

std::span<const Row> rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out(kRows.begin(), kRows.end());
    for (Row row : kRows)
      if (takes_any_bits(row)) {
        row.values = Values::any_bits;
        row.limit = kAnyBits;
        out.push_back(row);
      }
    return out;
  }();
  return all;
}

std::string name(const Row& row) {
  return std::string(row.name).append(row.values == Values::any_bits ? " any bits " : " ").append(row.target);
}

const Row* ordinary(const Row& row) {
  if (row.values == Values::ordinary) return nullptr;
  return &*std::ranges::find_if(kRows,
                                [&](const Row& x) { return x.name == row.name && x.target == row.target; });
}

}  // namespace bench
