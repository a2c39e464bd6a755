// SPDX-License-Identifier: Apache-2.0
// Points of the fragments, transcribed by hand from the formulas and figures of the PTX manual whose sections
// and numbers stand above them; no line comes from the library. The order of metadata and scale factors within
// a group of four lanes is that of figures, as tests/oracle/metadata.cpp has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace points {

// g = lane / 4, t = lane % 4, i = index of the element in the fragment.

struct Point {
  std::string operand;
  int row, column, product;
  // In registers.
  int lane, reg, low_bit, bits;
};
// In shared memory, or in memory: the byte where the element begins.
struct Byte {
  std::string operand;
  int row, column;
  std::uint64_t byte;
};
struct Points {
  std::string text;
  std::vector<Point> registers;
  std::vector<Byte> bytes;
  std::vector<std::string> options;  // of the command
};

inline constexpr auto kMxf8 =
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 ";
inline constexpr auto kMxf4 =
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 ";

inline const std::vector<Points>& table() {
  static const std::vector<Points> kTable = {
      // 9.7.14.5.1, figures 46 (A: row = lane % 4 [+ 4 from lane 16], column = i), 49 (B: row = i) and 51, 52
      // (row = (lane & 1) + (i & 2) [+ 4], column = (i & 4) + (lane & 2) + (i & 1)); computation 1 is matrix 0:
      // lanes 0-3, 16-19; 2: 4-7, 20-23; 4: 12-15, 28-31.
      {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
       {{"a", 0, 0, 0, 0, 0, 0, 16},
        {"a", 5, 2, 1, 21, 1, 0, 16},
        {"a", 7, 3, 3, 31, 1, 16, 16},
        {"b", 1, 6, 0, 18, 0, 16, 16},
        {"b", 3, 1, 3, 13, 1, 16, 16},
        {"d", 0, 0, 0, 0, 0, 0, 32},
        {"d", 7, 7, 3, 31, 7, 0, 32},
        {"c", 4, 7, 1, 22, 5, 0, 32}},
       {},
       {}},
      // 9.7.14.5.2, figures 53 to 55.
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
       {{"a", 1, 2, 0, 6, 0, 0, 64},
        {"a", 7, 3, 0, 31, 0, 0, 64},
        {"b", 3, 7, 0, 31, 0, 0, 64},
        {"d", 3, 3, 0, 13, 1, 0, 64}},
       {},
       {}},
      // 9.7.14.5.7, figures 71, 74, 77 (f16) and 72, 75 (tf32).
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       {{"a", 0, 0, 0, 0, 0, 0, 16},
        {"a", 9, 2, 0, 5, 1, 0, 16},
        {"a", 15, 7, 0, 31, 1, 16, 16},
        {"b", 2, 2, 0, 9, 0, 0, 16},
        {"b", 7, 7, 0, 31, 0, 16, 16},
        {"d", 9, 4, 0, 6, 2, 0, 32},
        {"d", 15, 7, 0, 31, 3, 0, 32}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
       {{"a", 10, 2, 0, 10, 1, 0, 32},
        {"a", 2, 6, 0, 10, 2, 0, 32},
        {"a", 15, 7, 0, 31, 3, 0, 32},
        {"b", 6, 2, 0, 10, 1, 0, 32}},
       {},
       {}},
      // 9.7.14.5.8, figures 79, 81, 83 (f16, bf16) and 80, 82 (f64).
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       {{"a", 3, 4, 0, 14, 0, 0, 16},
        {"a", 3, 5, 0, 14, 0, 16, 16},
        {"a", 11, 4, 0, 14, 1, 0, 16},
        {"a", 3, 13, 0, 14, 2, 16, 16},
        {"a", 15, 15, 0, 31, 3, 16, 16},
        {"b", 1, 2, 0, 8, 0, 16, 16},
        {"b", 15, 7, 0, 31, 1, 16, 16},
        {"d", 11, 5, 0, 14, 3, 0, 32},
        {"c", 0, 0, 0, 0, 0, 0, 32}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", {{"d", 11, 5, 0, 14, 1, 16, 16}}, {}, {}},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
       {{"a", 13, 10, 0, 21, 3, 0, 16}, {"b", 10, 5, 0, 21, 1, 0, 16}, {"c", 5, 2, 0, 21, 0, 0, 32}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
       {{"a", 3, 10, 0, 14, 4, 0, 64},
        {"a", 11, 6, 0, 14, 3, 0, 64},
        {"a", 15, 15, 0, 31, 7, 0, 64},
        {"b", 14, 3, 0, 14, 3, 0, 64},
        {"d", 15, 7, 0, 31, 3, 0, 64}},
       {},
       {}},
      // 9.7.14.5.9, figures 84 to 86.
      {"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
       {{"a", 1, 10, 0, 6, 0, 16, 8},
        {"a", 15, 15, 0, 31, 1, 24, 8},
        {"b", 11, 1, 0, 6, 0, 24, 8},
        {"d", 1, 5, 0, 6, 1, 0, 32}},
       {},
       {}},
      // 9.7.14.5.10, figures 88, 90 to 92.
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
       {{"a", 1, 25, 0, 6, 2, 8, 8},
        {"a", 9, 10, 0, 6, 1, 16, 8},
        {"a", 15, 31, 0, 31, 3, 24, 8},
        {"b", 25, 1, 0, 6, 1, 8, 8}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32",
       {{"a", 12, 20, 0, 17, 3, 0, 8}, {"b", 7, 4, 0, 17, 0, 24, 8}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
       {{"a", 12, 21, 0, 17, 3, 8, 8}, {"b", 31, 7, 0, 31, 1, 24, 8}, {"d", 12, 2, 0, 17, 2, 0, 32}},
       {},
       {}},
      // The same; four bits lie in the middle of a byte, six in its low bits (the padding of each type there).
      {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
       {{"a", 12, 21, 0, 17, 3, 10, 4}, {"b", 31, 7, 0, 31, 1, 24, 6}},
       {},
       {}},
      // 9.7.14.5.4, figures 59 to 61.
      {"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32",
       {{"a", 2, 11, 0, 9, 0, 12, 4},
        {"a", 7, 31, 0, 31, 0, 28, 4},
        {"b", 13, 2, 0, 9, 0, 20, 4},
        {"d", 2, 3, 0, 9, 1, 0, 32}},
       {},
       {}},
      // 9.7.14.5.13, figures 100 to 102.
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
       {{"a", 1, 69, 0, 6, 0, 5, 1},
        {"a", 1, 198, 0, 6, 2, 6, 1},
        {"a", 9, 196, 0, 6, 3, 4, 1},
        {"a", 15, 255, 0, 31, 3, 31, 1},
        {"b", 31, 0, 0, 0, 0, 31, 1},
        {"b", 195, 1, 0, 6, 1, 3, 1},
        {"b", 255, 7, 0, 31, 1, 31, 1}},
       {},
       {}},
      // 9.7.14.6.2.1, figures 118, 119: of A the stored elements; nibbles of e of lane 4 g + selector: row g in
      // the low half, g + 8 in the high half.
      {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       {{"a", 11, 5, 0, 14, 1, 16, 16},
        {"a", 7, 7, 0, 31, 0, 16, 16},
        {"b", 15, 7, 0, 31, 1, 16, 16},
        {"e", 3, 2, 0, 12, 0, 8, 4},
        {"e", 11, 3, 0, 12, 0, 28, 4}},
       {},
       {}},
      {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 3;",
       {{"e", 3, 2, 0, 15, 0, 8, 4}},
       {},
       {}},
      // 9.7.14.6.2.2, figures 120 to 122: lanes 4 g + 2 selector + p, p = 1 the row's chunks from 4 on.
      {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
       {{"a", 11, 12, 0, 14, 3, 0, 16},
        {"b", 29, 3, 0, 14, 3, 16, 16},
        {"e", 0, 0, 0, 0, 0, 0, 4},
        {"e", 15, 7, 0, 29, 0, 28, 4}},
       {},
       {}},
      {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;",
       {{"e", 3, 6, 0, 15, 0, 8, 4}, {"e", 11, 1, 0, 14, 0, 20, 4}},
       {},
       {}},
      // 9.7.14.6.2.5, figures 128, 129: lane 4 g + 2 selector + p holds all chunks of row g + 8 p.
      {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
       {{"a", 15, 15, 0, 31, 1, 24, 8}, {"e", 11, 5, 0, 13, 0, 20, 4}, {"e", 3, 5, 0, 12, 0, 20, 4}},
       {},
       {}},
      {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {d}, {a}, {b}, {c}, e, 1;",
       {{"e", 11, 5, 0, 15, 0, 20, 4}},
       {},
       {}},
      // 9.7.14.6.2.6, figures 130, 136, 137: lane 4 g + q, row g + 8 (q % 2), chunks from 8 (q / 2) on.
      {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32",
       {{"a", 3, 25, 0, 14, 2, 8, 8},
        {"e", 3, 0, 0, 12, 0, 0, 4},
        {"e", 11, 13, 0, 15, 0, 20, 4},
        {"e", 15, 15, 0, 31, 0, 28, 4}},
       {},
       {}},
      // 9.7.14.3, figures 43 to 45: of A lane 4 g + 2 thread-id + p has row g + 8 p; of B lane 4 g + thread-id
      // has column g; bytes from byte-id on.
      {std::string(kMxf8) + "{d}, {a}, {b}, {c}, sa, {2, 1}, sb, {3, 2};",
       {{"scale_a", 3, 0, 0, 14, 0, 16, 8},
        {"scale_a", 11, 0, 0, 15, 0, 16, 8},
        {"scale_b", 0, 5, 0, 22, 0, 24, 8}},
       {},
       {}},
      // The same, and 9.7.14.5.11, figure 93.
      {std::string(kMxf4) + "{d}, {a}, {b}, {c}, sa, {2, 0}, sb, {0, 3};",
       {{"scale_a", 9, 1, 0, 5, 0, 24, 8},
        {"scale_a", 1, 0, 0, 4, 0, 16, 8},
        {"scale_b", 1, 6, 0, 27, 0, 8, 8},
        {"a", 11, 53, 0, 14, 3, 20, 4}},
       {},
       {}},
      {"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
       {{"scale_b", 3, 7, 0, 28, 0, 24, 8}},
       {},
       {}},
      // 9.7.15.5, "Register Fragments" of wgmma: warp w has rows from 16 w on; D: row 16 w + g + 8 ((i / 2) %
      // 2),
      // column 2 t + i % 2 + 8 (i / 4).
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
       {{"d", 27, 4, 0, 46, 2, 0, 32}, {"d", 63, 7, 0, 127, 3, 0, 32}, {"a", 19, 13, 0, 46, 2, 16, 16}},
       {},
       {}},
      {"wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16", {{"d", 19, 13, 0, 46, 2, 16, 16}}, {}, {}},
      // 9.7.15.5.1, "Strides", "Swizzling Modes". K-major, 128-byte swizzle: 128 (n % 8) + 1024 (n / 8) + 2 k,
      // bits 4 to 6 exchanged by those of n % 8.
      {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
       {},
       {{"b", 3, 5, 0x2D6}, {"b", 12, 21, 0xAC8}, {"b", 0, 0, 0}, {"b", 15, 0, 0x1E}},
       {"--swizzle", "128"}},
      // No swizzle; start 0x400, LBO 128, SBO 256: 16 (n % 8) + 256 (n / 8) + 128 (k / 8) + 2 (k % 8).
      {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
       {},
       {{"b", 9, 10, 0x5A2}, {"b", 0, 0, 0x400}},
       {"--descriptor", "0x0000001000080040"}},
      // 9.7.14.5.15, figure 104 and the table of addresses; .trans exchanges rows and columns.
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", {{"r", 5, 3, 2, 21, 2, 16, 16}}, {}, {}},
      {"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", {{"r", 5, 3, 0, 14, 0, 16, 16}}, {}, {}},
      // Figure 106, and 4 bits of each byte.
      {"ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64", {{"r", 3, 9, 0, 14, 0, 8, 4}}, {}, {}},
      // 9.7.14.5.16, figure 107.
      {"stmatrix.sync.aligned.m8n8.x2.shared.b16", {{"r", 7, 7, 1, 31, 1, 16, 16}}, {}, {}},
      // 9.7.14.5.17, figures 109 and 110.
      {"movmatrix.sync.aligned.m8n8.trans.b16",
       {{"a", 3, 4, 0, 14, 0, 0, 16}, {"d", 4, 3, 0, 14, 0, 0, 16}},
       {},
       {}},
      // 9.7.14.4.2, "Matrix Storage for WMMA": a row (or column) after the other, at the stride.
      {"wmma.load.a.sync.aligned.row.m16n16k16.f16", {}, {{"p", 3, 5, 0x6A}}, {}},
      {"wmma.load.a.sync.aligned.row.m16n16k16.f16 {r}, [p], 32;", {}, {{"p", 3, 5, 0xCA}}, {}},
      {"wmma.store.d.sync.aligned.col.m16n16k16.f32", {}, {{"p", 3, 5, 0x14C}}, {}},
  };
  return kTable;
}

}  // namespace points
