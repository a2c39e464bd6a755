// SPDX-License-Identifier: Apache-2.0
// How to fill the registers of one member of a capture, as plain numbers that can be passed to a device.
#pragma once

#include <cstdint>

#include "warpbit/inputs/philox.hpp"

namespace warpbit::inputs {

/// The content of a register.
enum class Fill : std::int32_t {
  elements,    ///< codes of a number format, by the profile
  bits,        ///< any bits
  metadata,    ///< nibbles, each one of `choices`
  offset,      ///< least + step i, i < count; the same in all lanes
  offsets,     ///< the same, but each lane has its own
  permuted,    ///< the same, but all lanes differ; count is a power of two, at least the number of lanes
  flag,        ///< 1, or 0 in one case of eight
  descriptor,  ///< the descriptor of a factor in shared memory (warpbit/descriptor.hpp)
};

/// The role of the elements in D = A B + C. Scale factors multiply A and B.
enum class Role : std::int32_t { left, right, left_scale, right_scale, sum };

/// The kind of inputs of a capture. All but `uniform` and `exhaustive` choose matching magnitudes of factors,
/// products and accumulator anew for each case.
enum class Profile : std::int32_t {
  uniform,       ///< any code, but few infinities and NaNs
  ordinary,      ///< numbers near 1
  narrow,        ///< any exponent, shared by all elements up to a few bits
  wide,          ///< exponents far apart
  underflow,     ///< products around the smallest numbers of the result, with zeros
  overflow,      ///< products around the largest
  specials,      ///< NaNs with payloads, infinities and zeros among numbers
  cancellation,  ///< products that cancel each other, beside small ones
  alignment,     ///< powers of two, with at most one more bit, and zeros; some products far below others
  mixed,         ///< case i has profile number i modulo kMixedProfiles
  exhaustive,    ///< all codes of a register, one case after the other
};
inline constexpr int kProfiles = 11, kMixedProfiles = 9;

/// Which codes of a floating-point format are infinities or NaNs.
enum class NoNumbers : std::int32_t {
  none,
  ieee,      ///< the largest exponent field: infinity and NaNs
  all_ones,  ///< NaN if exponent and fraction are all ones
};

/// The position of the neighbour of an element whose product may cancel with its own.
enum class Neighbour : std::int32_t { element, lane, word };

/// A code, from the top; an integer has no exponent bits.
///
///     random bits | sign (if is_signed) | exponent_bits | fraction_bits | ignored_low random bits
struct Format {
  std::int32_t bits = 0;  ///< of the whole code
  std::int32_t is_signed = 0;
  std::int32_t exponent_bits = 0, fraction_bits = 0, bias = 0, ignored_low = 0;
  std::int32_t subnormals = 0;  ///< exponent field 0 means zero and subnormals
  NoNumbers no_numbers = NoNumbers::none;
};

/// Exponents of the minimum and maximum nonzero magnitude of a format; 0 and 0 for integers.
struct Range {
  std::int32_t least = 0, most = 0;
};

/// The formats of D = A B + C, as far as they affect the magnitude of inputs. The same in all members of a
/// form.
struct Frame {
  Range left, right, scale, sum;
  std::int32_t sum_normal = 0;  ///< exponent of the smallest normal number of D
};

/// Registers of a member. Registers `first` to `first + registers - 1` of each lane are filled.
struct Member {
  Fill fill = Fill::bits;
  std::int32_t operand = 0;  ///< distinguishes the streams of one case
  std::int32_t lanes = 1, first = 0, registers = 1, register_bits = 32;

  // Fill::elements. Element e of a register begins at bit slot_bits e + low_bit.
  Role role = Role::left;
  Neighbour neighbour = Neighbour::element;
  std::int32_t slot_bits = 32, low_bit = 0;
  Format format;
  Frame frame;

  // Fill::metadata: `count` nibbles, the first one lowest. Fill::offset and its relatives.
  std::int32_t choices = 0, least = 0, step = 1, count = 1;

  // Fill::descriptor: `lines` (a multiple of 8) of `chunks` times 16 bytes each, within bytes [base, base +
  // bytes) of memory. mn: M or N is contiguous.
  std::int32_t base = 0, bytes = 0, lines = 8, chunks = 1, mn = 0;
};

/// Calls visit(name, number) for every number of a member, in this order; they define its text and the
/// equality of members. M is Member or const Member.
template <class M, class Visit>
void for_each_number(M& m, Visit visit) {
  visit("fill", m.fill);
  visit("operand", m.operand);
  visit("lanes", m.lanes);
  visit("first", m.first);
  visit("registers", m.registers);
  visit("register_bits", m.register_bits);
  visit("role", m.role);
  visit("neighbour", m.neighbour);
  visit("slot_bits", m.slot_bits);
  visit("low_bit", m.low_bit);
  visit("bits", m.format.bits);
  visit("is_signed", m.format.is_signed);
  visit("exponent_bits", m.format.exponent_bits);
  visit("fraction_bits", m.format.fraction_bits);
  visit("bias", m.format.bias);
  visit("ignored_low", m.format.ignored_low);
  visit("subnormals", m.format.subnormals);
  visit("no_numbers", m.format.no_numbers);
  visit("left_least", m.frame.left.least);
  visit("left_most", m.frame.left.most);
  visit("right_least", m.frame.right.least);
  visit("right_most", m.frame.right.most);
  visit("scale_least", m.frame.scale.least);
  visit("scale_most", m.frame.scale.most);
  visit("sum_least", m.frame.sum.least);
  visit("sum_most", m.frame.sum.most);
  visit("sum_normal", m.frame.sum_normal);
  visit("choices", m.choices);
  visit("least", m.least);
  visit("step", m.step);
  visit("count", m.count);
  visit("base", m.base);
  visit("bytes", m.bytes);
  visit("lines", m.lines);
  visit("chunks", m.chunks);
  visit("mn", m.mn);
}

}  // namespace warpbit::inputs
