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
  static constexpr int kApart = 80;  // at the same place of a page loads would wait for stores
  alignas(64) float values[kMost + kApart];
  alignas(64) std::int32_t exponents[kMost + kApart];
  alignas(64) std::uint32_t codes[kMost];
  std::uint16_t special[kMostRows];
};

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

// Whether 16 bits of metadata say what they should: no index twice in a group; of one of two 0b0100 or 0b1110.
inline bool is_regular(const Selection& s, std::uint16_t metadata) {
  const unsigned low = metadata & 0x3333, high = metadata >> 2 & 0x3333, different = low ^ high;
  if (s.kept == 1) return (high & 0x1111) == 0x1111 && (low & 0x1111) == 0 && (different & 0x2222) == 0;
  return ((different | different >> 1) & 0x1111) == 0x1111;
}

// The places in B's panel of the elements of four groups of a row, by their numbers.
inline void select_groups(const Selection& s, std::uint16_t metadata, const std::uint8_t* place,
                          std::uint8_t* out) {
  for (int group = 0; group < 4; ++group) {
    const int low = metadata >> 4 * group & 3, high = metadata >> (4 * group + 2) & 3;
    if (s.kept == 1) {
      out[group] = place[2 * group + high / 2];
    } else {
      out[2 * group] = place[4 * group + low];
      out[2 * group + 1] = place[4 * group + high];
    }
  }
}

#if defined(__AVX2__)
// The same of eight groups, two of four.
inline __m128i select_groups(const std::byte* metadata, const std::uint16_t* at, const std::uint8_t* place) {
  const auto four = [&](int i) {  // sixteen bits are eight indices
    const std::uint64_t index = _pdep_u64(load<std::uint16_t>(metadata + at[i]), 0x0303030303030303);
    const __m128i within = _mm_cvtsi64_si128(static_cast<std::int64_t>(index + 0x0C0C080804040000));
    return _mm_shuffle_epi8(load<__m128i>(place + 16 * i), within);
  };
  return _mm_unpacklo_epi64(four(0), four(1));
}

// The places of a row of 16 or 32 elements, in the order of A's panel.
template <int kBlocks>
inline void select_row(const Selection& s, const std::byte* metadata, int row, __m128i (&out)[kBlocks]) {
  __m128i places[kBlocks];
#pragma GCC unroll 2
  for (int i = 0; i < kBlocks; ++i)
    places[i] = select_groups(metadata, s.metadata[row] + 2 * i, s.place + 32 * i);
#pragma GCC unroll 2
  for (int to = 0; to < kBlocks; ++to) {
    const __m128i number = load<__m128i>(s.stored + 16 * to);
    if constexpr (kBlocks == 1) {
      out[to] = _mm_shuffle_epi8(places[0], number);
    } else {  // numbers of the other block get their highest bit set, which gives 0
      const __m128i low = _mm_adds_epu8(number, _mm_set1_epi8(112));
      const __m128i high = _mm_adds_epu8(_mm_sub_epi8(number, _mm_set1_epi8(16)), _mm_set1_epi8(112));
      out[to] = _mm_or_si128(_mm_shuffle_epi8(places[0], low), _mm_shuffle_epi8(places[1], high));
    }
  }
}

template <int kBlocks>
inline void select_rows(const Selection& s, const std::byte* metadata, int rows, std::uint8_t* out) {
  for (int row = 0; row < rows; ++row) {
    __m128i first[kBlocks], second[kBlocks];
    select_row(s, metadata, 2 * row, first);
    select_row(s, metadata, 2 * row + 1, second);
#pragma GCC unroll 2
    for (int i = 0; i < kBlocks; ++i, out += 32) {
      store(out, _mm_unpacklo_epi8(first[i], second[i]));
      store(out + 16, _mm_unpackhi_epi8(first[i], second[i]));
    }
  }
}
#endif

// The places of all elements in B's panel: (row of blocks, element, row). False if one is not as it should be.
bool select(const FusedCases& cases, const std::byte* metadata, std::uint8_t* out) {
  const Selection& s = *cases.selection;
  const int fours = cases.depth / (4 * s.kept);
  bool regular = true;
  for (int row = 0; row < 2 * cases.rows; ++row)
    for (int four = 0; four < fours; ++four)
      regular &= is_regular(s, load<std::uint16_t>(metadata + s.metadata[row][four]));
  if (!regular) return false;
#if defined(__AVX2__)
  if (s.kept == 2 && cases.depth == 16) return select_rows<1>(s, metadata, cases.rows, out), true;
  if (s.kept == 2 && cases.depth == 32) return select_rows<2>(s, metadata, cases.rows, out), true;
#endif
  for (int row = 0; row < 2 * cases.rows; ++row) {
    std::uint8_t places[kMostDepth];
    for (int four = 0; four < fours; ++four)
      select_groups(s, load<std::uint16_t>(metadata + s.metadata[row][four]), s.place + four * 4 * s.width,
                    places + four * 4 * s.kept);
    std::uint8_t* to = out + row / 2 * 2 * cases.depth + row % 2;
    for (int k = 0; k < cases.depth; ++k) to[2 * k] = places[s.stored[k]];
  }
  return true;
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
  Factor a, b;
  std::uint8_t selected[2 * kMostRows * kMostDepth];
  Scales scales;
  CaseContext context{&cases, 0};
  FusedBlocks blocks;
  blocks.program = cases.program;
  blocks.rows = cases.rows;
  blocks.columns = 1;
  blocks.depth = cases.depth;
  blocks.b_depth = cases.b_depth;
  blocks.a = a.values;
  blocks.b = b.values;
  blocks.a_exponents = a.exponents;
  blocks.b_exponents = b.exponents;
  blocks.exact = exact_of_case;
  blocks.context = &context;
  const bool b_by_register = cases.by_register && cases.selection == nullptr;
  for (std::size_t i = first; i < last; ++i) {
    context.index = i;
    const auto at = static_cast<std::ptrdiff_t>(i);
    const std::byte *a_registers = cases.a.base + at * cases.a.stride,
                    *b_registers = cases.b.base + at * cases.b.stride;
    find_tops(cases, a_registers, b_registers, blocks);
    const bool a_special = unpack_a(cases.a_encoding, a_registers, cases.rows, cases.depth, cases.by_register,
                                    blocks.a_top, a.codes, a.values, a.exponents);
    const bool b_special = unpack_b(cases.b_encoding, b_registers, cases.b_depth, b_by_register, blocks.b_top,
                                    b.codes, b.values, b.exponents);
    bool all_special = false;
    if (cases.selection != nullptr) {
      all_special = !select(cases, cases.metadata.base + at * cases.metadata.stride, selected);
      if (all_special) __builtin_memset(selected, 0, sizeof selected);  // any places: no lane's sum counts
      blocks.selected = selected;
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
      arrange_b(cases.b_encoding, b_registers, cases.b_depth, b_by_register, b.codes);
      find_specials(cases.a_encoding, a.codes, cases.rows, cases.depth, 2, blocks.a_top, a.special);
      find_specials(cases.b_encoding, b.codes, 1, cases.b_depth, kBlock, blocks.b_top, b.special);
      if (all_special) b.special[0] = 0xFFFF;
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
