// SPDX-License-Identifier: Apache-2.0
// Whole cases of an mma, from registers to registers.
#pragma once

#include "kernel/body/fused.hpp"
#include "kernel/body/panels.hpp"

namespace warpbit {
namespace {

// A factor of one case: its codes in the order of the panel, and the panel.
struct Factor {
  static constexpr int kMost = kBlock * kMostDepth;
  alignas(64) float values[kMost];
  alignas(64) std::int16_t exponents[kMost];
  alignas(64) std::uint32_t codes[kMost];
  std::uint16_t special[kMostRows];
};

inline bool is_special(const Encoding& e, const std::uint32_t* codes, int i) {
  const auto* words = reinterpret_cast<const std::uint16_t*>(codes);
  if (e.kind == Encoding::Kind::half) return (words[i] & 0x7FFF) >= e.first_special;
  return (words[e.kind == Encoding::Kind::bf16 ? i : 2 * i + 1] & 0x7F80) == 0x7F80;
}

// The lanes that an Inf or NaN among the codes reaches, for each of so many blocks. The codes of a block are
// [k][each]; of A two for all lanes, of B one for each lane.
void find_specials(const Encoding& e, Factor& factor, int blocks, int depth, int each) {
  for (int block = 0; block < blocks; ++block) {
    unsigned lanes = 0;
    for (int i = 0; i < depth * each; ++i)
      if (is_special(e, factor.codes, block * depth * each + i))
        lanes |= each == 2 ? 0x5555U << i % 2 : 1U << i % kBlock;
    factor.special[block] = static_cast<std::uint16_t>(lanes);
  }
}

struct CaseContext {
  const FusedCases* cases;
  std::size_t index;
};

std::uint32_t exact_of_case(void* context, int row, int /*column*/, int lane, std::uint32_t c) {
  const auto& at = *static_cast<const CaseContext*>(context);
  return at.cases->exact(at.cases->context, at.index, row, lane, c);
}

inline std::byte* moved(std::byte* base, std::size_t index, std::ptrdiff_t stride) {
  return base == nullptr ? nullptr : base + static_cast<std::ptrdiff_t>(index) * stride;
}

void fused_cases(const FusedCases& cases, std::size_t first, std::size_t last) {
  Factor a, b;
  CaseContext context{&cases, 0};
  FusedBlocks blocks;
  blocks.program = cases.program;
  blocks.rows = cases.rows;
  blocks.columns = 1;
  blocks.depth = cases.depth;
  blocks.a = a.values;
  blocks.b = b.values;
  blocks.a_exponents = a.exponents;
  blocks.b_exponents = b.exponents;
  blocks.exact = exact_of_case;
  blocks.context = &context;
  const int a_count = 2 * cases.rows * cases.depth, b_count = kBlock * cases.depth;
  for (std::size_t i = first; i < last; ++i) {
    context.index = i;
    const auto at = static_cast<std::ptrdiff_t>(i);
    const std::byte *a_registers = cases.a + at * cases.a_stride, *b_registers = cases.b + at * cases.b_stride;
    const ExponentRange left = exponent_range(cases.a_encoding, a_registers, a_count);
    const ExponentRange right = exponent_range(cases.b_encoding, b_registers, b_count / 2);
    const bool far = left.far || right.far;
    blocks.a_top = far ? 0 : left.top;
    blocks.b_top = far ? 0 : right.top;
    arrange_a(cases.a_encoding, a_registers, cases.rows, cases.depth, cases.by_register, a.codes);
    arrange_b(cases.b_encoding, b_registers, cases.depth, cases.by_register, b.codes);
    const bool a_special = decode(cases.a_encoding, a.codes, a_count, blocks.a_top, a.values, a.exponents);
    const bool b_special = decode(cases.b_encoding, b.codes, b_count, blocks.b_top, b.values, b.exponents);
    blocks.a_special = blocks.b_special = nullptr;
    if (a_special || b_special) {
      find_specials(cases.a_encoding, a, cases.rows, cases.depth, 2);
      find_specials(cases.b_encoding, b, 1, cases.depth, kBlock);
      blocks.a_special = a.special;
      blocks.b_special = b.special;
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
