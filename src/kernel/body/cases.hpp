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
        found |= each == 2 ? 0x5555U << i % 2 : 0b11U << i / 2 % 8 * 2;
    lanes[block] = static_cast<std::uint16_t>(found);
  }
}

// The exponents of scale factors; true if one is NaN.
struct Scales {
  std::int16_t a[2 * kMaxRows], b[kBlock];
};
constexpr unsigned kScaleNan = 255;

inline bool load_scales(const FusedCases& cases, std::ptrdiff_t at, Scales& out) {
  const std::byte* a = cases.a_scales.base + at * cases.a_scales.stride;
  const std::byte* b = cases.b_scales.base + at * cases.b_scales.stride;
  bool special = false;
  const auto exponent = [&](std::byte code) {
    special |= static_cast<unsigned>(code) == kScaleNan;
    return static_cast<std::int16_t>(static_cast<int>(code) - 127);
  };
  for (int i = 0; i < 2 * cases.rows; ++i) out.a[i] = exponent(a[cases.a_scale_at[i]]);
  for (int n = 0; n < 8; ++n) out.b[2 * n] = out.b[2 * n + 1] = exponent(b[cases.b_scale_at[n]]);
  return special;
}

inline std::byte* moved(std::byte* base, std::ptrdiff_t index, std::ptrdiff_t stride) {
  return base == nullptr ? nullptr : base + index * stride;
}

// The largest exponent fields, if 8 bits will do; none to look for where few products share the work.
inline void find_tops(const FusedCases& cases, const std::byte* a, const std::byte* b, FusedBlocks& blocks) {
  blocks.a_top = blocks.b_top = 0;
  if (cases.a_encoding.kind == Encoding::Kind::tf32) {
    if (kTakesFields && cases.selection == nullptr) blocks.a_top = blocks.b_top = kTopOfFields;
    return;
  }
  const ExponentRange left = exponent_range(cases.a_encoding, a, 2 * cases.rows * cases.depth);
  const ExponentRange right = exponent_range(cases.b_encoding, b, kBlock / 2 * cases.b_depth);
  if (left.far || right.far) return;
  blocks.a_top = left.top;
  blocks.b_top = right.top;
}

// The cases [first, last) as blocks, one after the other.
class CaseReader {
 public:
  CaseReader(const FusedCases& cases, std::size_t first, std::size_t last)
      : cases_(cases), unpacker_(cases), next_(first), last_(last) {}
  CaseReader(const CaseReader&) = delete;

  // What all have in common.
  FusedBlocks blocks() {
    FusedBlocks out;
    out.program = cases_.program;
    out.rows = cases_.rows;
    out.columns = 1;
    out.depth = cases_.depth;
    out.a = factors_.a.values;
    out.a_exponents = factors_.a.exponents;
    out.b = factors_.b.values;
    out.b_exponents = factors_.b.exponents;
    if (cases_.selection != nullptr) {
      out.b = selected_.values;
      out.b_exponents = selected_.exponents;
      out.selected = reinterpret_cast<const std::uint8_t*>(selected_.nibbles);
      out.entry_places = reinterpret_cast<const std::uint8_t*>(selected_.entry_places);
    }
    if (cases_.a_scale_at != nullptr) {
      out.a_scales = scales_.a;
      out.b_scales = scales_.b;
    }
    out.c = cases_.c;
    out.d = cases_.d;
    out.exact = {exact, this};
    out.next = [](FusedBlocks& blocks) { return static_cast<CaseReader*>(blocks.reader)->next(blocks); };
    out.reader = this;
    return out;
  }

  // Brings the next one, if there is one.
  bool next(FusedBlocks& blocks) {
    if (next_ == last_) return false;
    const auto at = static_cast<std::ptrdiff_t>(next_++);
    const std::byte *a = cases_.a.base + at * cases_.a.stride, *b = cases_.b.base + at * cases_.b.stride;
    blocks.c.base = moved(cases_.c.base, at, cases_.c_stride);
    blocks.d.base = moved(cases_.d.base, at, cases_.d_stride);
    blocks.a_special = blocks.b_special = nullptr;
    find_tops(cases_, a, b, blocks);
    bool special, all_special = false;
    if (cases_.selection != nullptr) {
      const Indices indices = select(cases_, cases_.metadata.base + at * cases_.metadata.stride, selected_);
      all_special = !indices.regular;
      special = unpack_pairs_of_a(cases_, a, blocks.a_top, factors_.a);
      special |= unpack_quads_of_b(cases_, b, blocks.b_top, indices.ascending, selected_);
    } else {
      special = unpack(a, b, blocks);
      if (special && blocks.a_top == kTopOfFields) {
        blocks.a_top = blocks.b_top = 0;
        special = unpack(a, b, blocks);
      }
    }
    if (cases_.a_scale_at != nullptr) all_special |= load_scales(cases_, at, scales_);
    if (special || all_special) mark_specials(a, b, all_special, blocks);
    return true;
  }

 private:
  bool unpack(const std::byte* a, const std::byte* b, const FusedBlocks& blocks) {
    const bool of_a = unpacker_.a(a, blocks.a_top, factors_.a);
    return unpacker_.b(b, blocks.b_top, factors_.b) || of_a;
  }

  __attribute__((noinline)) void mark_specials(const std::byte* a, const std::byte* b, bool all,
                                               FusedBlocks& blocks) {
    const Encoding &of_a = cases_.a_encoding, &of_b = cases_.b_encoding;
    auto& [left, right, a_special, b_special] = factors_;
    arrange_a(of_a, a, cases_.rows, cases_.depth, cases_.by_register, left.codes);
    arrange_column(of_b, b, cases_.b_depth, cases_.by_register, right.codes);
    find_specials(of_a, left.codes, cases_.rows, cases_.depth, 2, blocks.a_top, a_special);
    find_specials(of_b, right.codes, 1, cases_.b_depth, kBlock / 2, blocks.b_top, b_special);
    if (all) b_special[0] = 0xFFFF;
    blocks.a_special = a_special;
    blocks.b_special = b_special;
  }

  static std::uint64_t exact(void* context, const LeftLane& at, std::uint64_t c) {
    const auto& reader = *static_cast<const CaseReader*>(context);
    return reader.cases_.exact({reader.next_ - 1, at.step, at.row, at.column, at.lane}, c);
  }

  const FusedCases& cases_;
  Unpacker unpacker_;
  std::size_t next_, last_;
  Factors factors_;
  Selected selected_;
  Scales scales_;
};

void fused_cases(const FusedCases& cases, std::size_t first, std::size_t last) {
  CaseReader reader(cases, first, last);
  FusedBlocks blocks = reader.blocks();
  if (reader.next(blocks)) fused_from(blocks);
}

}  // namespace
}  // namespace warpbit
