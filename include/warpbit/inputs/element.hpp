// SPDX-License-Identifier: Apache-2.0
// Codes of elements, each from its own share of a register's 128 random bits. U holds a code: std::uint32_t, or
// std::uint64_t for formats of more than 32 bits.
#pragma once

#include "warpbit/inputs/setting.hpp"

namespace warpbit::inputs {

/// The lowest n bits of U set, n up to all of them.
template <class U>
WARPBIT_HOST_DEVICE constexpr U ones(std::int32_t n) {
  return (n < static_cast<std::int32_t>(8 * sizeof(U)) ? U{1} << n : U{0}) - 1;
}

/// Random bits of an element. Of `choice` at least the upper 16 bits are random:
///
///     31    30..21           20..16        15..0
///     sign  exception, /1024 exponent ...  more of it, or 0
template <class U>
struct Random {
  U fraction;
  std::uint32_t choice;
};

/// The share of element e of n, which is 1, 2, 4 or 8.
template <class U>
WARPBIT_HOST_DEVICE inline Random<U> share(const Words& x, int n, int e) {
  if (n == 1) return {static_cast<U>(x.w[0] | std::uint64_t{x.w[1]} << 32), x.w[2]};
  if (n == 2) return {x.w[2 * e], x.w[2 * e + 1]};
  if (n == 4) return {x.w[e] & 0xFF, x.w[e] & 0xFFFFFF00};
  const std::uint32_t half = x.w[e / 2] >> (16 * (e % 2)) & 0xFFFF;
  return {half & 0xF, half << 16};
}

template <class U>
WARPBIT_HOST_DEVICE inline U sign_of(const Random<U>& r) {
  return r.choice >> 31;
}
/// Below 1024.
template <class U>
WARPBIT_HOST_DEVICE inline std::int32_t exception(const Random<U>& r) {
  return static_cast<std::int32_t>(r.choice >> 21 & 0x3FF);
}
/// Four kinds of whatever it is.
template <class U>
WARPBIT_HOST_DEVICE inline std::int32_t kind(const Random<U>& r) {
  return static_cast<std::int32_t>(r.choice >> 19 & 3);
}
/// A number below n, which is at most 2^11.
template <class U>
WARPBIT_HOST_DEVICE inline std::int32_t exponent_below(const Random<U>& r, std::int32_t n) {
  return static_cast<std::int32_t>((r.choice & 0x1FFFFF) * static_cast<std::uint32_t>(n) >> 21);
}

/// Exponent and fraction of the greatest number.
template <class U>
WARPBIT_HOST_DEVICE inline U greatest(const Format& f) {
  const U all = ones<U>(f.exponent_bits + f.fraction_bits);
  return f.no_numbers == NoNumbers::ieee ? all - ones<U>(f.fraction_bits) - 1
                                         : all - (f.no_numbers == NoNumbers::all_ones ? 1 : 0);
}

/// A code of exponent and fraction bits, with a sign if the format has one, and random bits where they do not
/// count.
template <class U>
WARPBIT_HOST_DEVICE inline U floating_code(const Format& f, U magnitude, const Random<U>& r) {
  const std::int32_t place = f.exponent_bits + f.fraction_bits;
  const U sign = (sign_of(r) & static_cast<U>(f.is_signed)) << place;
  const U high = r.fraction & ~ones<U>(place + f.is_signed);
  const U low = static_cast<std::uint32_t>(r.fraction) >> 1 >> (31 - f.ignored_low);
  return (high | sign | magnitude) << f.ignored_low | low;
}

/// 1.fraction * 2^exponent, or the number nearest to it in magnitude that the format has, toward zero where it
/// is subnormal; never 0 for an exponent that the format has.
template <class U>
WARPBIT_HOST_DEVICE inline U number_magnitude(const Format& f, std::int32_t exponent, U fraction) {
  const U bound = greatest<U>(f);
  const std::int32_t normal = f.subnormals ? 1 - f.bias : -f.bias;
  const std::int32_t least = f.subnormals ? normal - f.fraction_bits : normal;
  const std::int32_t most = static_cast<std::int32_t>(bound >> f.fraction_bits) - f.bias;
  const std::int32_t e = clamped(exponent, {least, most});
  fraction &= ones<U>(f.fraction_bits);
  const U subnormal = (fraction | U{1} << f.fraction_bits) >> larger(normal - e, 0);
  const U magnitude = e < normal ? subnormal : static_cast<U>(e + f.bias) << f.fraction_bits | fraction;
  return magnitude < bound ? magnitude : bound;
}

/// Two of four are the greatest there is, infinity if the format has one; the others NaN and zero.
template <class U>
WARPBIT_HOST_DEVICE inline U special_magnitude(const Format& f, const Random<U>& r) {
  const bool ieee = f.no_numbers == NoNumbers::ieee;
  const U infinity = greatest<U>(f) + (ieee ? 1 : 0);
  const U payload = r.fraction & ones<U>(ieee ? f.fraction_bits : 0);
  const U quiet = payload == 0 ? 1 : payload;
  const U nan = ieee ? infinity + quiet : ones<U>(f.exponent_bits + f.fraction_bits);
  return kind(r) == 3 ? U{0} : kind(r) == 2 ? nan : infinity;
}

/// At most one bit of the fraction.
template <class U>
WARPBIT_HOST_DEVICE inline U single_bit(const Format& f, const Random<U>& r) {
  const auto random = static_cast<std::int32_t>(r.fraction & 0xFF);
  const std::int32_t place = (random >> 1) * f.fraction_bits >> 7;
  return static_cast<U>(random & (f.fraction_bits != 0 ? 1 : 0)) << place;
}

template <class U>
WARPBIT_HOST_DEVICE inline U floating_element(const Format& f, const Setting& s, const Random<U>& r) {
  const bool aligned = s.profile == Profile::alignment;
  const std::int32_t down =
      aligned ? (kind(r) >> 1) * s.gap + (kind(r) & 1) * s.spread : exponent_below(r, s.spread + 1);
  const U fraction = aligned ? (s.spread ? single_bit(f, r) : U{0}) : r.fraction;
  const U number = number_magnitude(f, s.level - down, fraction);
  const U other = exception(r) >= 1024 - s.specials ? special_magnitude(f, r) : number;
  return floating_code(f, exception(r) < s.zeros ? U{0} : other, r);
}

/// 0, 1, the greatest and the least (unsigned: the second greatest) one.
template <class U>
WARPBIT_HOST_DEVICE inline U special_integer(const Format& f, const Random<U>& r) {
  const U most = ones<U>(f.bits - f.is_signed), last = f.is_signed ? most + 1 : most - 1;
  return kind(r) < 2 ? static_cast<U>(kind(r)) : kind(r) == 2 ? most : last;
}

/// The greatest or the least one, an accumulator near that, now and then any.
template <class U>
WARPBIT_HOST_DEVICE inline U extreme_integer(const Format& f, Role role, const Setting& s, const Random<U>& r) {
  const U most = ones<U>(f.bits - f.is_signed), least = f.is_signed ? most + 1 : 0;
  const U distance = role == Role::sum ? r.fraction & ones<U>(s.width) : U{0};
  const bool down = s.negative && (f.is_signed || role == Role::sum);
  return exception(r) < 128 ? r.fraction : down ? least + distance : most - distance;
}

template <class U>
WARPBIT_HOST_DEVICE inline U power_of_two(const Format& f, const Random<U>& r) {
  const U power = U{1} << exponent_below(r, f.bits);
  return f.is_signed && sign_of(r) != 0 ? ~power + 1 : power;
}

template <class U>
WARPBIT_HOST_DEVICE inline U small_integer(const Format& f, const Setting& s, const Random<U>& r) {
  const U low = r.fraction & ones<U>(s.width);
  return f.is_signed && low >> (s.width - 1) != 0 ? low | ~ones<U>(s.width) : low;
}

template <class U>
WARPBIT_HOST_DEVICE inline U integer_element(const Format& f, Role role, const Setting& s, const Random<U>& r) {
  const U code = s.profile == Profile::wide        ? r.fraction
                 : s.profile == Profile::overflow  ? extreme_integer(f, role, s, r)
                 : s.profile == Profile::specials  ? special_integer(f, r)
                 : s.profile == Profile::alignment ? power_of_two(f, r)
                                                   : small_integer(f, s, r);
  return exception(r) < s.zeros ? U{0} : code;
}

/// One element by the profile. Bits above the format's may be set.
template <class U>
WARPBIT_HOST_DEVICE inline U element_code(const Member& m, const Setting& s, const Random<U>& r) {
  if (s.profile == Profile::uniform) return r.fraction;
  return m.format.exponent_bits == 0 ? integer_element(m.format, m.role, s, r)
                                     : floating_element(m.format, s, r);
}

/// The code with the other sign. What has none stays.
template <class U>
WARPBIT_HOST_DEVICE inline U negated(const Format& f, U code) {
  if (!f.is_signed) return code;
  return f.exponent_bits == 0 ? ~code + 1 : code ^ U { 1 } << (f.bits - 1);
}

/// What an element becomes that repeats its neighbour, so that the products may cancel: of A with the other
/// sign, of B now and then with another lowest bit. `own` are random bits of its own.
template <class U>
WARPBIT_HOST_DEVICE inline U twin_code(const Member& m, U code, std::uint32_t own) {
  if (m.role == Role::left) return negated(m.format, code);
  return code ^ static_cast<U>((own & 7) == 0) << m.format.ignored_low;
}

/// A register of single bits; more or fewer of them are 1, by the profile.
WARPBIT_HOST_DEVICE inline std::uint32_t bits_word(Profile profile, const Words& x) {
  switch (profile) {
    case Profile::narrow: return x.w[0] & x.w[1];
    case Profile::wide: return x.w[0] | x.w[1];
    case Profile::underflow: return x.w[0] & x.w[1] & x.w[2] & x.w[3];
    case Profile::overflow: return x.w[0] | x.w[1] | x.w[2] | x.w[3];
    case Profile::specials: return x.w[1] & 1 ? x.w[0] : x.w[1] & 2 ? 0 : 0xFFFFFFFF;
    case Profile::alignment: return std::uint32_t{1} << (x.w[0] & 0x1F);
    default: return x.w[0];
  }
}

}  // namespace warpbit::inputs
