// SPDX-License-Identifier: Apache-2.0
// Video instructions (PTX manual, "Video Instructions"): elements of both sources are extended, computed with in more bits than
// a register has, saturated, and put into the third source or combined with it.
//
//     vadd.s32.u32.s32.sat  d.b1, a.h1, b.b0, c      one lane:  c with its byte 1 replaced by clamp8(a's high half + b's byte 0)
//     vadd4.u32.u32.u32.add d.b10, a, b, c           four:      c + (a's byte 0 + b's byte 0) + (a's byte 1 + b's byte 1)
#include <algorithm>
#include <cstdlib>

#include "scalar/operation.hpp"

namespace warpbit::scalar {
namespace {

__extension__ using s128 = __int128;

std::size_t lanes(Function function) {
  return function == Function::video4 ? 4 : function == Function::video2 ? 2 : 1;
}

// ---- Elements

// Of two registers, b above a.
std::uint64_t element(std::uint64_t registers, const Part& part, std::size_t lane) {
  return cut(registers >> part.element[lane] * part.bits, part.bits);
}
std::uint64_t both(const Sources& s) {
  return cut(s[0], 32) | s[1] << 32;
}

s128 extended(std::uint64_t value, int bits, Type type) {
  return ptx::is_signed(type) ? static_cast<s128>(extend(value, bits)) : static_cast<s128>(value);
}

s128 clamped(s128 value, int bits, Type type) {
  const bool is_signed = ptx::is_signed(type);
  const s128 most = (s128{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(value, is_signed ? -most - 1 : s128{0}, most);
}

// ---- What a lane computes

using Compute = s128 (*)(const Operation& o, s128 a, s128 b);

s128 add(const Operation&, s128 a, s128 b) {
  return a + b;
}
s128 sub(const Operation&, s128 a, s128 b) {
  return a - b;
}
s128 absdiff(const Operation&, s128 a, s128 b) {
  return a < b ? b - a : a - b;
}
s128 minimum(const Operation&, s128 a, s128 b) {
  return std::min(a, b);
}
s128 maximum(const Operation&, s128 a, s128 b) {
  return std::max(a, b);
}
// Rounded to the nearest; a half away from 0.
s128 average(const Operation&, s128 a, s128 b) {
  return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
}
int amount(const Operation& o, s128 b) {
  return static_cast<int>(o.clamp ? std::min(b, s128{32}) : b & 31);
}
s128 shl(const Operation& o, s128 a, s128 b) {
  return a * (s128{1} << amount(o, b));
}
s128 shr(const Operation& o, s128 a, s128 b) {
  return a >> amount(o, b);
}
s128 compare(const Operation& o, s128 a, s128 b) {
  switch (o.compare) {
    case Compare::eq: return a == b;
    case Compare::ne: return a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    default: return a >= b;
  }
}

s128 second(Secondary secondary, s128 value, s128 c) {
  switch (secondary) {
    case Secondary::min: return std::min(value, c);
    case Secondary::max: return std::max(value, c);
    default: return value + c;
  }
}

template <Compute compute>
Results video(const Operation& o, const Sources& s) {
  const auto& [to, from_a, from_b] = o.parts;
  std::uint64_t merged = cut(s[2], 32);
  s128 combined = extended(merged, 32, o.to);
  for (std::size_t lane = 0; lane < lanes(o.function); ++lane) {
    if (to.element[lane] == Part::kNone) continue;
    s128 value = compute(o, extended(element(both(s), from_a, lane), from_a.bits, o.type),
                         extended(element(both(s), from_b, lane), from_b.bits, o.third));
    if (o.sat) value = clamped(value, to.bits, o.to);
    if (o.secondary != Secondary::none) {
      combined = second(o.secondary, value, combined);
    } else {
      const int at = to.element[lane] * to.bits;
      merged &= ~(ones(to.bits) << at);
      merged |= cut(static_cast<std::uint64_t>(value), to.bits) << at;
    }
  }
  return {o.secondary == Secondary::none ? merged : cut(static_cast<std::uint64_t>(combined), 32)};
}

// The last bit of a negated product or addend, and of .po, is added as a carry.
Results vmad(const Operation& o, const Sources& s) {
  const bool is_signed =
      ptx::is_signed(o.type) || ptx::is_signed(o.third) || o.negate_product || o.negate_addend;
  const Type type = is_signed ? Type::s32 : Type::u32;
  const s128 product = extended(element(both(s), o.parts[1], 0), o.parts[1].bits, o.type) *
                       extended(element(both(s), o.parts[2], 0), o.parts[2].bits, o.third);
  const s128 c = extended(cut(o.negate_addend ? ~s[2] : s[2], 32), 32, type);
  const s128 carry = o.plus_one || o.negate_product || o.negate_addend ? 1 : 0;
  const s128 result = ((o.negate_product ? ~product : product) + c + carry) >> o.scale;
  return {cut(static_cast<std::uint64_t>(o.sat ? clamped(result, 32, type) : result), 32)};
}

constexpr Row kRows[] = {
    {"vadd", video<add>, Function::video, Spread::parts},
    {"vsub", video<sub>, Function::video, Spread::parts},
    {"vabsdiff", video<absdiff>, Function::video, Spread::parts},
    {"vmin", video<minimum>, Function::video, Spread::parts},
    {"vmax", video<maximum>, Function::video, Spread::parts},
    {"vshl", video<shl>, Function::video, Spread::parts},
    {"vshr", video<shr>, Function::video, Spread::parts},
    {"vset", video<compare>, Function::video, Spread::parts},
    {"vmad", vmad, Function::vmad, Spread::parts},
    {"vadd2", video<add>, Function::video2, Spread::parts},
    {"vsub2", video<sub>, Function::video2, Spread::parts},
    {"vavrg2", video<average>, Function::video2, Spread::parts},
    {"vabsdiff2", video<absdiff>, Function::video2, Spread::parts},
    {"vmin2", video<minimum>, Function::video2, Spread::parts},
    {"vmax2", video<maximum>, Function::video2, Spread::parts},
    {"vset2", video<compare>, Function::video2, Spread::parts},
    {"vadd4", video<add>, Function::video4, Spread::parts},
    {"vsub4", video<sub>, Function::video4, Spread::parts},
    {"vavrg4", video<average>, Function::video4, Spread::parts},
    {"vabsdiff4", video<absdiff>, Function::video4, Spread::parts},
    {"vmin4", video<minimum>, Function::video4, Spread::parts},
    {"vmax4", video<maximum>, Function::video4, Spread::parts},
    {"vset4", video<compare>, Function::video4, Spread::parts},
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
