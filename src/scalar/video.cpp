// SPDX-License-Identifier: Apache-2.0
// Video instructions (PTX manual, "Video Instructions"): elements of both sources are extended, computed with in more bits than
// a register has, saturated, and put into the third source or combined with it.
//
//     vadd.s32.u32.s32.sat  d.b1, a.h1, b.b0, c      one lane:  c with its byte 1 replaced by clamp8(a's high half + b's byte 0)
//     vadd4.u32.u32.u32.add d.b10, a, b, c           four:      c + (a's byte 0 + b's byte 0) + (a's byte 1 + b's byte 1)
//
// Two and four lanes are what the manual's pseudocode says. One lane is what ptxas 13.0 makes of it, sequences of arithmetic
// with 64 bits, which differ from the pseudocode in:
//
//     .sat, d of 8, 16 bits   what is negative becomes the greatest, too:                    vsub.s32...sat d.b0 of -1: 0x7f
//     .sat, d.u32 whole       what is above the range is not saturated:                      vadd.u32...sat d of 2^32: 0
//     vshl, vshr with .sat    the lowest 34 bits become 32, which a part of d takes a part of
//     d.h1                    has the upper half of the result's 32 bits:                    vadd d.h1 of 0x12345678: 0x1234
//     .min, .max              compare 64 bits; after vadd, vsub and a saturated shift 32 bits that are sign-extended
//     vset with .min, .max    c is of a's type
//     vmad                    a, b and c are of 32 bits and signed, whatever they are extended from
#include <algorithm>
#include <cstdlib>

#include "scalar/operation.hpp"

namespace warpbit::scalar {
namespace {

using s64 = std::int64_t;
using u64 = std::uint64_t;

std::size_t lanes(Function function) {
  return function == Function::video4 ? 4 : function == Function::video2 ? 2 : 1;
}

// ---- Elements

// Of two registers, b above a.
u64 element(u64 registers, const Part& part, std::size_t lane) {
  return cut(registers >> part.element[lane] * part.bits, part.bits);
}
u64 both(const Sources& s) {
  return cut(s[0], 32) | s[1] << 32;
}

s64 extended(u64 value, int bits, Type type) {
  return ptx::is_signed(type) ? extend(value, bits) : static_cast<s64>(value);
}
s64 source_a(const Operation& o, const Sources& s, std::size_t lane) {
  return extended(element(both(s), o.parts[1], lane), o.parts[1].bits, o.type);
}
s64 source_b(const Operation& o, const Sources& s, std::size_t lane) {
  return extended(element(both(s), o.parts[2], lane), o.parts[2].bits, o.third);
}

s64 greatest(int bits, Type type) {
  return (s64{1} << (ptx::is_signed(type) ? bits - 1 : bits)) - 1;
}
s64 least(int bits, Type type) {
  return ptx::is_signed(type) ? -greatest(bits, type) - 1 : 0;
}
s64 clamped(s64 value, int bits, Type type) {
  return std::clamp(value, least(bits, type), greatest(bits, type));
}

// The bits of `word` where the mask has ones, those of `other` elsewhere.
u64 merged(u64 word, u64 other, u64 mask) {
  return (word & mask) | (other & ~mask);
}

// ---- What a lane computes

using Compute = s64 (*)(const Operation& o, s64 a, s64 b);

s64 add(const Operation&, s64 a, s64 b) {
  return a + b;
}
s64 sub(const Operation&, s64 a, s64 b) {
  return a - b;
}
s64 absdiff(const Operation&, s64 a, s64 b) {
  return a < b ? b - a : a - b;
}
s64 minimum(const Operation&, s64 a, s64 b) {
  return std::min(a, b);
}
s64 maximum(const Operation&, s64 a, s64 b) {
  return std::max(a, b);
}
// Rounded to the nearest; a half away from 0.
s64 average(const Operation&, s64 a, s64 b) {
  return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
}
int amount(const Operation& o, s64 b) {
  return static_cast<int>(o.clamp ? std::min(b, s64{32}) : b & 31);
}
s64 shl(const Operation& o, s64 a, s64 b) {
  return static_cast<s64>(static_cast<u64>(a) << amount(o, b));
}
s64 shr(const Operation& o, s64 a, s64 b) {
  return a >> amount(o, b);
}
s64 compare(const Operation& o, s64 a, s64 b) {
  switch (o.compare) {
    case Compare::eq: return a == b;
    case Compare::ne: return a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    default: return a >= b;
  }
}

// ---- Two and four lanes

template <Compute compute>
Results lanes_of(const Operation& o, const Sources& s) {
  const Part& to = o.parts[0];
  u64 out = cut(s[2], 32);
  for (std::size_t lane = 0; lane < lanes(o.function); ++lane) {
    if (to.element[lane] == Part::kNone) continue;
    s64 value = compute(o, source_a(o, s, lane), source_b(o, s, lane));
    if (o.sat) value = clamped(value, to.bits, o.to);
    const int at = to.element[lane] * to.bits;
    out = o.secondary == Secondary::add ? out + static_cast<u64>(value)
                                        : merged(static_cast<u64>(value) << at, out, ones(to.bits) << at);
  }
  return {cut(out, 32)};
}

// ---- One lane

template <Compute compute>
s64 saturated(const Operation& o, s64 value) {
  const int bits = o.parts[0].bits;
  if (compute == shl || compute == shr) return clamped(extend(static_cast<u64>(value), 34), 32, o.to);
  const s64 most = greatest(bits, o.to);
  if (bits < 32) return value < 0 ? most : std::min(value, most);
  return ptx::is_signed(o.to) ? clamped(value, bits, o.to) : std::max(value, s64{0});
}

u64 second(const Operation& o, s64 value, u64 third) {
  if (o.secondary == Secondary::add) return static_cast<u64>(value) + third;
  const s64 c = extended(third, 32, o.to);
  const bool is_less = ptx::is_signed(o.to) ? value < c : static_cast<u64>(value) < static_cast<u64>(c);
  return static_cast<u64>(is_less == (o.secondary == Secondary::min) ? value : c);
}

template <Compute compute>
Results lane_of(const Operation& o, const Sources& s) {
  const Part& to = o.parts[0];
  const u64 c = cut(s[2], 32);
  s64 value = compute(o, source_a(o, s, 0), source_b(o, s, 0));
  if (o.sat) value = saturated<compute>(o, value);
  const u64 word = cut(static_cast<u64>(value), 32);
  if (o.secondary != Secondary::none) {
    const bool is_word = compute == add || compute == sub || (o.sat && (compute == shl || compute == shr));
    return {cut(second(o, is_word ? extend(word, 32) : value, c), 32)};
  }
  const int at = to.element[0] * to.bits;
  const bool is_upper_half = to.bits == 16 && at == 16;
  return {merged(is_upper_half ? word : word << at, c, ones(to.bits) << at)};
}

// The last bit of a negated product or addend, and of .po, is added as a carry.
Results vmad(const Operation& o, const Sources& s) {
  const bool is_signed =
      ptx::is_signed(o.type) || ptx::is_signed(o.third) || o.negate_product || o.negate_addend;
  const auto factor = [](s64 value) { return extend(static_cast<u64>(value), 32); };
  const s64 product = factor(source_a(o, s, 0)) * factor(source_b(o, s, 0)), c = extend(s[2], 32);
  const s64 carry = o.plus_one || o.negate_product || o.negate_addend ? 1 : 0;
  const s64 sum = (o.negate_product ? ~product : product) + (o.negate_addend ? ~c : c) + carry;
  const s64 scaled = is_signed ? sum >> o.scale : static_cast<s64>(static_cast<u64>(sum) >> o.scale);
  return {cut(static_cast<u64>(o.sat ? clamped(scaled, 32, is_signed ? Type::s32 : Type::u32) : scaled), 32)};
}

constexpr Row kRows[] = {
    {"vadd", lane_of<add>, Function::video, Spread::parts},
    {"vsub", lane_of<sub>, Function::video, Spread::parts},
    {"vabsdiff", lane_of<absdiff>, Function::video, Spread::parts},
    {"vmin", lane_of<minimum>, Function::video, Spread::parts},
    {"vmax", lane_of<maximum>, Function::video, Spread::parts},
    {"vshl", lane_of<shl>, Function::video, Spread::parts},
    {"vshr", lane_of<shr>, Function::video, Spread::parts},
    {"vset", lane_of<compare>, Function::video, Spread::parts},
    {"vmad", vmad, Function::vmad, Spread::parts},
    {"vadd2", lanes_of<add>, Function::video2, Spread::parts},
    {"vsub2", lanes_of<sub>, Function::video2, Spread::parts},
    {"vavrg2", lanes_of<average>, Function::video2, Spread::parts},
    {"vabsdiff2", lanes_of<absdiff>, Function::video2, Spread::parts},
    {"vmin2", lanes_of<minimum>, Function::video2, Spread::parts},
    {"vmax2", lanes_of<maximum>, Function::video2, Spread::parts},
    {"vset2", lanes_of<compare>, Function::video2, Spread::parts},
    {"vadd4", lanes_of<add>, Function::video4, Spread::parts},
    {"vsub4", lanes_of<sub>, Function::video4, Spread::parts},
    {"vavrg4", lanes_of<average>, Function::video4, Spread::parts},
    {"vabsdiff4", lanes_of<absdiff>, Function::video4, Spread::parts},
    {"vmin4", lanes_of<minimum>, Function::video4, Spread::parts},
    {"vmax4", lanes_of<maximum>, Function::video4, Spread::parts},
    {"vset4", lanes_of<compare>, Function::video4, Spread::parts},
};

}  // namespace

std::span<const Row> video_rows() {
  return kRows;
}

std::array<Part, 3> whole_parts(Function function) {
  if (function == Function::video2) return {Part{16, {0, 1}}, {16, {0, 1}}, {16, {2, 3}}};
  if (function == Function::video4) return {Part{8, {0, 1, 2, 3}}, {8, {0, 1, 2, 3}}, {8, {4, 5, 6, 7}}};
  return {Part{}, {}, {32, {1}}};
}

// The last digit is of the lowest lane. A mask has the lanes that are written to their own elements.
void select_part(Operation& o, std::size_t operand, std::string_view word) {
  Part& part = o.parts[operand];
  const bool is_mask = operand == 0 && lanes(o.function) > 1;
  part = {static_cast<std::uint8_t>(word[0] == 'b' ? 8 : 16), {}};
  if (is_mask) part.element.fill(Part::kNone);
  const bool is_of_b = operand == 2 && lanes(o.function) == 1;
  for (std::size_t lane = 0; lane + 1 < word.size(); ++lane) {
    const auto digit = static_cast<std::uint8_t>(word[word.size() - 1 - lane] - '0');
    part.element[is_mask ? digit : lane] = static_cast<std::uint8_t>(digit + (is_of_b ? 32 / part.bits : 0));
  }
}

// A lane with an undefined bit is undefined; so is what is combined from one.
std::uint64_t undefined_parts(const Operation& o, const Sources& undefined) {
  const bool combines = o.secondary != Secondary::none || o.function == Function::vmad;
  const auto& [to, from_a, from_b] = o.parts;
  std::uint64_t out = cut(undefined[2], 32);
  for (std::size_t lane = 0; lane < lanes(o.function); ++lane) {
    if (to.element[lane] == Part::kNone) continue;
    const std::uint64_t reached = ones(to.bits) << to.element[lane] * to.bits;
    if (!combines) out &= ~reached;
    if ((element(both(undefined), from_a, lane) | element(both(undefined), from_b, lane)) != 0) out |= reached;
  }
  return combines && out != 0 ? ones(32) : out;
}

}  // namespace warpbit::scalar
