// SPDX-License-Identifier: Apache-2.0
// Parts of a tile (PartRegisters in body.hpp), from registers to registers.
#pragma once

#include "kernel/body/fused.hpp"
#include "kernel/body/panels.hpp"
#include "kernel/body/sparse.hpp"
#include "kernel/body/unpack.hpp"

namespace warpbit {
namespace {

// Whether one of `count` codes is Inf or NaN or, with powers, subnormal.
inline bool has_special(const Encoding& e, const std::byte* codes, int count, bool powers) {
  using Eight = VectorOf<std::uint16_t, 8>::type;  // or four of 32 bits
  using Four = VectorOf<std::uint32_t, 4>::type;
  Eight found{};
  for (int i = 0; i < count * static_cast<int>(code_bytes(e)); i += 16) {
    const auto v = load<Eight>(codes + i);
    if (e.kind == Encoding::Kind::half) {
      found |= bits<Eight>((v & 0x7FFF) >= e.first_special);
    } else if (e.kind == Encoding::Kind::bf16) {
      const Eight magnitude = v & 0x7FFF;
      found |= bits<Eight>(magnitude >= 0x7F80);
      if (powers) found |= bits<Eight>((magnitude - 1) < Eight{} + 0x7F);
    } else {
      const Four magnitude = bits<Four>(v) & 0x7FFFE000;
      found |= bits<Eight>(magnitude >= 0x7F800000);
      if (powers) found |= bits<Eight>((magnitude - 1) < Four{} + 0x7FFFFF);
    }
  }
  struct Halves {
    std::uint64_t x, y;
  };
  const auto halves = bits<Halves>(found);
  return (halves.x | halves.y) != 0;
}

void find_specials(const Encoding& e, const void* codes, int blocks, int count, int top, std::uint8_t* found) {
  const auto* from = static_cast<const std::byte*>(codes);
  for (int i = 0; i < blocks; ++i, from += static_cast<std::size_t>(count) * code_bytes(e))
    found[i] = has_special(e, from, count, top == 0);
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
    out.a_encoding = &how_.a_encoding;
    out.b_encoding = &how_.b_encoding;
    out.b_depth = how_.b_depth;
    out.find_codes = [](FusedBlocks& blocks) { static_cast<PartReader*>(blocks.reader)->find_codes(blocks); };
    out.next = [](FusedBlocks& blocks) { return static_cast<PartReader*>(blocks.reader)->next(blocks); };
    out.reader = this;
    return out;
  }

  // Brings the next one, if there is one.
  bool next(FusedBlocks& blocks) {
    for (;;) {
      if (!cursor_.next()) return false;
      part_ = cursor_.part();
      blocks.c.base = const_cast<std::byte*>(part_.c);  // C is only read
      blocks.d.base = part_.d;
      blocks.a_codes = blocks.b_codes = nullptr;
      find_tops(how_, part_, blocks);
      if (how_.selection == nullptr) {
        blocks.has_special = unpack(blocks);
      } else {
        const Indices indices = select(how_, parts_.rows, part_.e, selected_);
        if (!indices.regular) {
          by_specification();
          continue;
        }
        blocks.has_special = unpack_pairs_of_a(how_, parts_.rows, part_.a, blocks.a_top, factors_.a) ||
                             unpack_quads_of_b(how_, part_.b, blocks.b_top, indices.ascending, selected_);
      }
      if (how_.scales != nullptr) blocks.has_special |= load_scales(*how_.scales, part_, parts_.rows, scales_);
      return true;
    }
  }

 private:
  bool unpack(const FusedBlocks& blocks) {
    return unpacker_.a(part_.a, blocks.a_top, factors_.a) || unpacker_.b(part_.b, blocks.b_top, factors_.b);
  }

  // For blocks of any operands.
  void find_codes(FusedBlocks& blocks) {
    auto& [left, right] = factors_;
    blocks.a_codes = left.codes;
    blocks.b_codes = right.codes;
    if (how_.selection == nullptr) {
      arrange_a(how_.a_encoding, part_.a, parts_.rows, how_.depth, how_.by_register, left.codes);
      arrange_column(how_.b_encoding, part_.b, how_.b_depth, how_.by_register, right.codes);
      return;
    }
    arrange_stored(how_, parts_.rows, part_.a, left.codes);
    arrange_quads(how_, part_.b, selected_, right.codes);
    find_met(how_, parts_.rows, selected_.metadata, met_);
    blocks.met = met_;
  }

  // A part whose metadata has a meaning that the bodies do not know.
  __attribute__((noinline)) void by_specification() {
    const auto element = [](std::byte* base, std::ptrdiff_t stride, int row, int lane, std::size_t bytes) {
      const int in_piece = (lane & 1) << 1 | (lane & 2) >> 1;
      return base + (4 * row + lane / 4) * stride + static_cast<std::size_t>(in_piece) * bytes;
    };
    const std::size_t c_bytes = how_.program->half_c ? 2 : 4, d_bytes = how_.program->half_d ? 2 : 4;
    std::uint64_t codes[kMaxRows * kBlock] = {};
    for (int i = 0; i < parts_.rows * kBlock; ++i) {
      const int row = i / kBlock, lane = i % kBlock;
      __builtin_memcpy(codes + i, element(const_cast<std::byte*>(part_.c), parts_.c_stride, row, lane, c_bytes),
                       c_bytes);
      codes[i] = parts_.exact({cursor_.index(), row, 0, lane}, codes[i]);
    }
    for (int i = 0; i < parts_.rows * kBlock; ++i)
      __builtin_memcpy(element(part_.d, parts_.d_stride, i / kBlock, i % kBlock, d_bytes), codes + i, d_bytes);
  }

  const FusedParts& how_;
  const Parts& parts_;
  PartCursor cursor_;
  PartRegisters part_;
  Unpacker unpacker_;
  Factors factors_;
  Selected selected_;
  Scales scales_;
  std::uint8_t met_[kMaxRows * 2 * kMaxPanelDepth + 4 * kLanes];
};

void fused_parts(const FusedParts& how, const Parts& parts) {
  PartReader reader(how, parts);
  FusedBlocks blocks = reader.blocks();
  if (reader.next(blocks)) fused_from(blocks);
}

}  // namespace
}  // namespace warpbit
