// SPDX-License-Identifier: Apache-2.0
// Whole cases of an mma, from registers to registers.
#pragma once

#include "kernel/body/fused.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/sparse.hpp"
#include "kernel/body/unpack.hpp"

namespace warpbit {
namespace {

inline bool is_special(const Encoding& e, const void* codes, int i, bool powers) {
  const auto* words = static_cast<const std::uint16_t*>(codes);
  if (e.kind == Encoding::Kind::half) return (words[i] & 0x7FFF) >= e.first_special;
  const std::uint32_t code = e.kind == Encoding::Kind::bf16
                                 ? std::uint32_t{words[i]} << 16
                                 : static_cast<const std::uint32_t*>(codes)[i] & 0xFFFFE000;
  const std::uint32_t exponent = code & 0x7F800000;
  return exponent == 0x7F800000 || (powers && exponent == 0 && code << 1 != 0);
}

void find_specials(const Encoding& e, const void* codes, int blocks, int depth, int each, int top,
                   std::uint16_t* lanes) {
  for (int block = 0; block < blocks; ++block) {
    unsigned found = 0;
    for (int i = 0; i < depth * each; ++i)
      if (is_special(e, codes, block * depth * each + i, top == 0))
        found |= each == 2 ? 0x5555U << i % 2 : 1U << i % kBlock;
    lanes[block] = static_cast<std::uint16_t>(found);
  }
}

// The exponents of scale factors, and the lanes that a NaN among them reaches.
struct Scales {
  std::int16_t a[2 * kMostRows], b[kBlock];
  bool special;
};
constexpr unsigned kScaleNan = 255;

inline void load_scales(const FusedCases& cases, std::ptrdiff_t at, Scales& out) {
  const std::byte* a = cases.a_scales.base + at * cases.a_scales.stride;
  const std::byte* b = cases.b_scales.base + at * cases.b_scales.stride;
  out.special = false;
  const auto exponent = [&](std::byte code) {
    out.special |= static_cast<unsigned>(code) == kScaleNan;
    return static_cast<std::int16_t>(static_cast<int>(code) - 127);
  };
  for (int i = 0; i < 2 * cases.rows; ++i) out.a[i] = exponent(a[cases.a_scale_at[i]]);
  for (int n = 0; n < 8; ++n) out.b[2 * n] = out.b[2 * n + 1] = exponent(b[cases.b_scale_at[n]]);
}

struct CaseContext {
  const FusedCases* cases;
  std::size_t index;
};

std::uint32_t exact_of_case(void* context, int /*step*/, int row, int /*column*/, int lane, std::uint32_t c) {
  const auto& at = *static_cast<const CaseContext*>(context);
  return at.cases->exact(at.cases->context, at.index, row, lane, c);
}

inline std::byte* moved(std::byte* base, std::size_t index, std::ptrdiff_t stride) {
  return base == nullptr ? nullptr : base + static_cast<std::ptrdiff_t>(index) * stride;
}

// The largest exponent fields, if 8 bits will do; none to look for where few products share the work.
inline void find_tops(const FusedCases& cases, const std::byte* a, const std::byte* b, FusedBlocks& blocks) {
  blocks.a_top = blocks.b_top = 0;
  if (cases.a_encoding.kind == Encoding::Kind::tf32) return;
  const ExponentRange left = exponent_range(cases.a_encoding, a, 2 * cases.rows * cases.depth);
  const ExponentRange right = exponent_range(cases.b_encoding, b, kBlock / 2 * cases.b_depth);
  if (left.far || right.far) return;
  blocks.a_top = left.top;
  blocks.b_top = right.top;
}

void fused_cases(const FusedCases& cases, std::size_t first, std::size_t last) {
  Factors factors;
  Factor &a = factors.a, &b = factors.b;
  Selected selected;
  Scales scales;
  CaseContext context{&cases, 0};
  FusedBlocks blocks;
  blocks.program = cases.program;
  blocks.rows = cases.rows;
  blocks.columns = 1;
  blocks.depth = cases.depth;
  blocks.a = a.values;
  blocks.a_exponents = a.exponents;
  blocks.b = b.values;
  blocks.b_exponents = b.exponents;
  if (cases.selection != nullptr) {
    blocks.b = selected.values;
    blocks.selected = reinterpret_cast<const std::uint8_t*>(selected.nibbles);
    blocks.entry_places = reinterpret_cast<const std::uint8_t*>(selected.entry_places);
  }
  blocks.exact = exact_of_case;
  blocks.context = &context;
  for (std::size_t i = first; i < last; ++i) {
    context.index = i;
    const auto at = static_cast<std::ptrdiff_t>(i);
    const std::byte *a_registers = cases.a.base + at * cases.a.stride,
                    *b_registers = cases.b.base + at * cases.b.stride;
    find_tops(cases, a_registers, b_registers, blocks);
    bool a_special, b_special, all_special = false;
    if (cases.selection != nullptr) {
      const Indices indices = select(cases, cases.metadata.base + at * cases.metadata.stride, selected);
      all_special = !indices.regular;
      a_special = unpack_pairs_of_a(cases, a_registers, blocks.a_top, a);
      b_special = unpack_quads_of_b(cases, b_registers, blocks.b_top, indices.ascending, selected);
      blocks.b_exponents = blocks.b_top == 0 ? static_cast<const void*>(selected.powers) : selected.exponents;
    } else {
      a_special = unpack_a(cases.a_encoding, a_registers, cases.rows, cases.depth, cases.by_register,
                           blocks.a_top, a.codes, a.values, a.exponents);
      b_special = unpack_b(cases.b_encoding, b_registers, cases.b_depth, cases.by_register, blocks.b_top,
                           b.codes, b.values, b.exponents);
    }
    if (cases.a_scale_at != nullptr) {
      load_scales(cases, at, scales);
      all_special |= scales.special;
      blocks.a_scales = scales.a;
      blocks.b_scales = scales.b;
    }
    blocks.a_special = blocks.b_special = nullptr;
    if (a_special || b_special || all_special) {
      arrange_a(cases.a_encoding, a_registers, cases.rows, cases.depth, cases.by_register, a.codes);
      arrange_b(cases.b_encoding, b_registers, cases.b_depth, cases.by_register, b.codes);
      find_specials(cases.a_encoding, a.codes, cases.rows, cases.depth, 2, blocks.a_top, factors.a_special);
      find_specials(cases.b_encoding, b.codes, 1, cases.b_depth, kBlock, blocks.b_top, factors.b_special);
      if (all_special) factors.b_special[0] = 0xFFFF;
      blocks.a_special = factors.a_special;
      blocks.b_special = factors.b_special;
    }
    blocks.c = cases.c;
    blocks.d = cases.d;
    blocks.c.base = moved(cases.c.base, i, cases.c_stride);
    blocks.d.base = moved(cases.d.base, i, cases.d_stride);
    fused(blocks);
  }
}

}  // namespace
}  // namespace warpbit
