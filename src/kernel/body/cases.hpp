// SPDX-License-Identifier: Apache-2.0
// Parts of a tile (PartRegisters in body.hpp), from registers to registers.
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

inline bool load_scales(const ScaleBytes& at, const PartRegisters& part, int rows, Scales& out) {
  bool special = false;
  const auto exponent = [&](std::byte code) {
    special |= static_cast<unsigned>(code) == kScaleNan;
    return scale_exponent(static_cast<unsigned>(code));
  };
  for (int i = 0; i < 2 * rows; ++i) out.a[i] = exponent(part.a_scales[at.a[i]]);
  for (int n = 0; n < 8; ++n) out.b[2 * n] = out.b[2 * n + 1] = exponent(part.b_scales[at.b[n]]);
  return special;
}

// The largest exponent fields, if 8 bits will do; none to look for where few products share the work.
inline void find_tops(const FusedParts& how, const PartRegisters& part, FusedBlocks& blocks) {
  blocks.a_top = blocks.b_top = 0;
  if (how.a_encoding.kind == Encoding::Kind::tf32) {
    if (kTakesFields && how.selection == nullptr) blocks.a_top = blocks.b_top = kTopOfFields;
    return;
  }
  const ExponentRange left = exponent_range(how.a_encoding, part.a, 2 * blocks.rows * how.depth);
  const ExponentRange right = exponent_range(how.b_encoding, part.b, kBlock / 2 * how.b_depth);
  if (left.far || right.far) return;
  blocks.a_top = left.top;
  blocks.b_top = right.top;
}

// The parts as blocks, one after the other.
class PartReader {
 public:
  PartReader(const FusedParts& how, const Parts& parts)
      : how_(how), parts_(parts), cursor_(parts), unpacker_(how, parts.rows) {}
  PartReader(const PartReader&) = delete;

  // What all have in common.
  FusedBlocks blocks() {
    FusedBlocks out;
    out.program = how_.program;
    out.rows = parts_.rows;
    out.columns = 1;
    out.depth = how_.depth;
    out.a = factors_.a.values;
    out.a_exponents = factors_.a.exponents;
    out.b = factors_.b.values;
    out.b_exponents = factors_.b.exponents;
    if (how_.selection != nullptr) {
      out.b = selected_.values;
      out.b_exponents = selected_.exponents;
      out.selected = reinterpret_cast<const std::uint8_t*>(selected_.nibbles);
      out.entry_places = reinterpret_cast<const std::uint8_t*>(selected_.entry_places);
    }
    if (how_.scales != nullptr) {
      out.a_scales = scales_.a;
      out.b_scales = scales_.b;
    }
    out.c = {nullptr, parts_.c_stride, 4 * parts_.c_stride, 0};
    out.d = {nullptr, parts_.d_stride, 4 * parts_.d_stride, 0};
    out.exact = {exact, this};
    out.next = [](FusedBlocks& blocks) { return static_cast<PartReader*>(blocks.reader)->next(blocks); };
    out.reader = this;
    return out;
  }

  // Brings the next one, if there is one.
  bool next(FusedBlocks& blocks) {
    if (!cursor_.next()) return false;
    const PartRegisters part = cursor_.part();
    blocks.c.base = const_cast<std::byte*>(part.c);  // C is only read
    blocks.d.base = part.d;
    blocks.a_special = blocks.b_special = nullptr;
    find_tops(how_, part, blocks);
    bool special, all_special = false;
    if (how_.selection != nullptr) {
      const Indices indices = select(how_, parts_.rows, part.e, selected_);
      all_special = !indices.regular;
      special = unpack_pairs_of_a(how_, parts_.rows, part.a, blocks.a_top, factors_.a);
      special |= unpack_quads_of_b(how_, part.b, blocks.b_top, indices.ascending, selected_);
    } else {
      special = unpack(part.a, part.b, blocks);
      if (special && blocks.a_top == kTopOfFields) {
        blocks.a_top = blocks.b_top = 0;
        special = unpack(part.a, part.b, blocks);
      }
    }
    if (how_.scales != nullptr) all_special |= load_scales(*how_.scales, part, parts_.rows, scales_);
    if (special || all_special) mark_specials(part.a, part.b, all_special, blocks);
    return true;
  }

 private:
  bool unpack(const std::byte* a, const std::byte* b, const FusedBlocks& blocks) {
    const bool of_a = unpacker_.a(a, blocks.a_top, factors_.a);
    return unpacker_.b(b, blocks.b_top, factors_.b) || of_a;
  }

  __attribute__((noinline)) void mark_specials(const std::byte* a, const std::byte* b, bool all,
                                               FusedBlocks& blocks) {
    const Encoding &of_a = how_.a_encoding, &of_b = how_.b_encoding;
    auto& [left, right, a_special, b_special] = factors_;
    arrange_a(of_a, a, parts_.rows, how_.depth, how_.by_register, left.codes);
    arrange_column(of_b, b, how_.b_depth, how_.by_register, right.codes);
    find_specials(of_a, left.codes, parts_.rows, how_.depth, 2, blocks.a_top, a_special);
    find_specials(of_b, right.codes, 1, how_.b_depth, kBlock / 2, blocks.b_top, b_special);
    if (all) b_special[0] = 0xFFFF;
    blocks.a_special = a_special;
    blocks.b_special = b_special;
  }

  static std::uint64_t exact(void* context, const LeftLane& at, std::uint64_t c) {
    const auto& reader = *static_cast<const PartReader*>(context);
    return reader.parts_.exact({reader.cursor_.index(), at.step, at.row, at.column, at.lane}, c);
  }

  const FusedParts& how_;
  const Parts& parts_;
  PartCursor cursor_;
  Unpacker unpacker_;
  Factors factors_;
  Selected selected_;
  Scales scales_;
};

void fused_parts(const FusedParts& how, const Parts& parts) {
  PartReader reader(how, parts);
  FusedBlocks blocks = reader.blocks();
  if (reader.next(blocks)) fused_from(blocks);
}

}  // namespace
}  // namespace warpbit
