// SPDX-License-Identifier: Apache-2.0
// Codes of elements, each from its own share of a register's 128 random bits. U holds a code: std::uint32_t,
// or std::uint64_t for formats of more than 32 bits.
#pragma once

#include "warpbit/inputs/setting.hpp"

namespace warpbit::inputs {

/// The lowest n bits of U set, n up to all of them.
template <class U>
WARPBIT_HOST_DEVICE constexpr U ones(std::int32_t n) {
  return (n < static_cast<std::int32_t>(8 * sizeof(U)) ? U{1} << n : U{0}) - 1;
}

/// Random bits of an element. At least the upper 16 bits of `choice` are random:
///
///     31    30..21           20..16        15..0
///     sign  exception, /1024 exponent ...  more of it, or 0
template <class U>
struct Random {
  U fraction;
  std::uint32_t choice;

  WARPBIT_HOST_DEVICE U sign() const { return choice >> 31; }
  /// A number below 1024.
  WARPBIT_HOST_DEVICE std::int32_t exception() const { return static_cast<std::int32_t>(choice >> 21 & 0x3FF); }
  /// One of four kinds.
  WARPBIT_HOST_DEVICE std::int32_t kind() const { return static_cast<std::int32_t>(choice >> 19 & 3); }
  /// A number below n, which is at most 2^11.
  WARPBIT_HOST_DEVICE std::int32_t exponent_below(std::int32_t n) const {
    return static_cast<std::int32_t>((choice & 0x1FFFFF) * static_cast<std::uint32_t>(n) >> 21);
  }
};

/// Where the random bits of element e of n, which is 1, 2, 4 or 8, are among those of its register: the word that has the
/// fraction (of 64 bits: the next one, too), the word that has the choice, and which bits of them.
struct Share {
  int fraction, choice;
  int fraction_right = 0, choice_left = 0;
  std::uint32_t fraction_mask = 0xFFFFFFFF, choice_mask = 0xFFFFFFFF;
};
WARPBIT_HOST_DEVICE inline Share share_of(int n, int e) {
  if (n == 1) return {0, 2};
  if (n == 2) return {2 * e, 2 * e + 1};
  if (n == 4) return {e, e, 0, 0, 0xFF, 0xFFFFFF00};
  const int half = 16 * (e % 2);
  return {e / 2, e / 2, half, 16 - half, 0xF, std::uint32_t{0xFFFF} << half};
}

template <class U, int N>
WARPBIT_HOST_DEVICE inline Random<U> random_of(const Share& s, const std::uint32_t (&words)[4][N], int i) {
  const std::uint32_t fraction = words[s.fraction][i] >> s.fraction_right & s.fraction_mask;
  const std::uint64_t high = sizeof(U) > 4 ? words[s.fraction + 1][i] : 0;
  return {static_cast<U>(fraction | high << 32), (words[s.choice][i] & s.choice_mask) << s.choice_left};
}

/// A floating-point format as masks and numbers, independent of the element.
template <class U>
struct Coding {
  U sign_place;          ///< the bit above exponent and fraction, ignored bits apart
  U sign;                ///< the same if it is a sign, else 0
  U random_high;         ///< bits above the sign
  U fraction, implicit;  ///< the fraction bits, and the bit above them
  U greatest;            ///< exponent and fraction of the maximum number
  U infinity, nan,
      least_payload;  ///< of infinity (the maximum number if there is none), of the NaN that payloads are added to
  U payload;          ///< bits of a payload; at least `least_payload` is added
  std::int32_t fraction_bits, ignored_low, bias;
  std::int32_t normal, least, most;  ///< exponents of the minimum normal, the minimum and the maximum number
};

template <class U>
WARPBIT_HOST_DEVICE inline Coding<U> coding_of(const Format& f) {
  const std::int32_t place = f.exponent_bits + f.fraction_bits;
  const bool ieee = f.no_numbers == NoNumbers::ieee, all_ones = f.no_numbers == NoNumbers::all_ones;
  Coding<U> out;
  out.sign_place = U{1} << place;
  out.sign = f.is_signed ? out.sign_place : U{0};
  out.random_high = ~ones<U>(place + f.is_signed);
  out.fraction = ones<U>(f.fraction_bits);
  out.implicit = U{1} << f.fraction_bits;
  out.greatest = ones<U>(place) - (ieee ? out.implicit : U{all_ones});
  out.infinity = out.greatest + U{ieee};
  out.nan = ieee ? out.infinity : ones<U>(place);
  out.least_payload = U{ieee};
  out.payload = ieee ? out.fraction : U{0};
  out.fraction_bits = f.fraction_bits;
  out.ignored_low = f.ignored_low;
  out.bias = f.bias;
  out.normal = f.subnormals ? 1 - f.bias : -f.bias;
  out.least = f.subnormals ? out.normal - f.fraction_bits : out.normal;
  out.most = static_cast<std::int32_t>(out.greatest >> f.fraction_bits) - f.bias;
  return out;
}

/// A code with these exponent and fraction bits, a sign if the format has one, and random ignored bits.
template <class U>
WARPBIT_HOST_DEVICE inline U floating_code(const Coding<U>& c, U magnitude, const Random<U>& r) {
  const U sign = (U{0} - r.sign()) & c.sign, high = r.fraction & c.random_high;
  const U low = static_cast<std::uint32_t>(r.fraction) >> 1 >> (31 - c.ignored_low);
  return (high | sign | magnitude) << c.ignored_low | low;
}

/// 1.fraction * 2^exponent, or the nearest representable magnitude (toward zero if subnormal); never 0 for an
/// exponent within the format's range.
template <class U>
WARPBIT_HOST_DEVICE inline U number_magnitude(const Coding<U>& c, std::int32_t exponent, U fraction) {
  const std::int32_t e = clamped(exponent, {c.least, c.most});
  const U kept = fraction & c.fraction;
  const U subnormal = (kept | c.implicit) >> larger(c.normal - e, 0);
  const U normal = static_cast<U>(e + c.bias) << c.fraction_bits | kept;
  const U magnitude = e < c.normal ? subnormal : normal;
  return magnitude < c.greatest ? magnitude : c.greatest;
}

/// Two of four are the maximum, infinity if the format has one; the others are NaN and zero.
template <class U>
WARPBIT_HOST_DEVICE inline U special_magnitude(const Coding<U>& c, const Random<U>& r) {
  const U payload = r.fraction & c.payload;
  const U nan = c.nan + payload + (payload == 0 ? c.least_payload : U{0});
  return r.kind() == 3 ? U{0} : r.kind() == 2 ? nan : c.infinity;
}

/// The code of a number, or of an exception: zero, or special.
template <class U>
WARPBIT_HOST_DEVICE inline U with_exceptions(const Coding<U>& c, const Setting& s, U number,
                                             const Random<U>& r) {
  const U special = special_magnitude(c, r);
  const U other = r.exception() >= 1024 - s.specials ? special : number;
  return floating_code(c, r.exception() < s.zeros ? U{0} : other, r);
}

/// Profile::alignment: a power of two at the level, or below it by the gap; with a spread, at most one more
/// bit, and slightly lower.
template <class U>
WARPBIT_HOST_DEVICE inline U aligned_element(const Coding<U>& c, const Setting& s, const Random<U>& r) {
  const auto random = static_cast<std::int32_t>(r.fraction & 0xFF);
  const U bit = static_cast<U>(random & s.spread) << ((random >> 1) * c.fraction_bits >> 7);
  const std::int32_t down = (r.kind() >> 1) * s.gap + (r.kind() & s.spread);
  return with_exceptions(c, s, number_magnitude(c, s.level - down, bit), r);
}

template <class U>
WARPBIT_HOST_DEVICE inline U floating_element(const Coding<U>& c, const Setting& s, const Random<U>& r) {
  return with_exceptions(c, s, number_magnitude(c, s.level - r.exponent_below(s.spread + 1), r.fraction), r);
}

/// Any code. Of 256 codes of infinities and NaNs, 255 become numbers: a few suffice to make most results NaN.
template <class U>
WARPBIT_HOST_DEVICE inline U uniform_element(const Coding<U>& c, const Random<U>& r) {
  const U magnitude = r.fraction >> c.ignored_low & (c.sign_place - 1);
  const U top = magnitude > c.greatest ? c.sign_place >> 1 << c.ignored_low : U{0};
  return r.fraction ^ (r.exception() < 4 ? U{0} : top);
}

/// 0, 1, the maximum and the minimum (unsigned: the second largest).
template <class U>
WARPBIT_HOST_DEVICE inline U special_integer(const Format& f, const Random<U>& r) {
  const U most = ones<U>(f.bits - f.is_signed), last = f.is_signed ? most + 1 : most - 1;
  return r.kind() < 2 ? static_cast<U>(r.kind()) : r.kind() == 2 ? most : last;
}

/// The maximum or the minimum, an accumulator near that, and occasionally any value.
template <class U>
WARPBIT_HOST_DEVICE inline U extreme_integer(const Format& f, Role role, const Setting& s, const Random<U>& r) {
  const U most = ones<U>(f.bits - f.is_signed), least = f.is_signed ? most + 1 : 0;
  const bool down = (s.negative & (f.is_signed | (role == Role::sum))) != 0;
  const U distance = r.fraction & (role == Role::sum ? ones<U>(s.width) : U{0});
  const U edge = down ? least : most, flip = down ? U{0} : ~U{0};
  return r.exception() < 128 ? r.fraction
                             : edge + (distance ^ flip) - flip;  // least + distance, most - distance
}

template <class U>
WARPBIT_HOST_DEVICE inline U power_of_two(const Format& f, const Random<U>& r) {
  const U flip = U{0} - (r.sign() & static_cast<U>(f.is_signed));
  return ((U{1} << r.exponent_below(f.bits)) ^ flip) - flip;
}

template <class U>
WARPBIT_HOST_DEVICE inline U small_integer(const Format& f, const Setting& s, const Random<U>& r) {
  const U low = r.fraction & ones<U>(s.width), extension = f.is_signed ? ~ones<U>(s.width) : U{0};
  return low | (low >> (s.width - 1) != 0 ? extension : U{0});
}

/// Calls pack(code), where code(r) is an element by the profile. Bits above the format's width may be set.
template <class U, class Pack>
WARPBIT_HOST_DEVICE inline void with_code(const Member& m, const Setting& setting, Pack pack) {
  const Setting s = setting;
  if (m.format.exponent_bits != 0) {
    const Coding<U> c = coding_of<U>(m.format);
    switch (s.profile) {
      case Profile::uniform: return pack([=](const Random<U>& r) { return uniform_element(c, r); });
      case Profile::alignment: return pack([=](const Random<U>& r) { return aligned_element(c, s, r); });
      default: return pack([=](const Random<U>& r) { return floating_element(c, s, r); });
    }
  }
  const auto with_zeros = [&](auto number) {
    pack([=](const Random<U>& r) {
      const U other = number(r);
      return r.exception() < s.zeros ? U{0} : other;
    });
  };
  const Format f = m.format;
  const Role role = m.role;
  switch (s.profile) {
    case Profile::uniform:
    case Profile::wide: return with_zeros([](const Random<U>& r) { return r.fraction; });
    case Profile::overflow:
      return with_zeros([=](const Random<U>& r) { return extreme_integer(f, role, s, r); });
    case Profile::specials: return with_zeros([=](const Random<U>& r) { return special_integer(f, r); });
    case Profile::alignment: return with_zeros([=](const Random<U>& r) { return power_of_two(f, r); });
    default: return with_zeros([=](const Random<U>& r) { return small_integer(f, s, r); });
  }
}

/// The value of an element that repeats its neighbour, so that the products may cancel: for A with the other
/// sign if it has one, for B occasionally with another lowest bit.
template <class U>
struct Twin {
  U flip = 0, carry = 0, lowest = 0;  // no twin: as it is
};
template <class U>
WARPBIT_HOST_DEVICE inline Twin<U> twin_of(const Member& m) {
  const Format& f = m.format;
  const bool left = m.role == Role::left && f.is_signed, integer = f.exponent_bits == 0;
  return {!left     ? U{0}
          : integer ? ~U{0}
                    : U{1} << (f.bits - 1),
          U{left && integer}, m.role == Role::right ? U{1} << f.ignored_low : U{0}};
}
/// `own` are the element's own random bits.
template <class U>
WARPBIT_HOST_DEVICE inline U twin_code(const Twin<U>& t, U code, std::uint32_t own) {
  return ((code ^ t.flip) + t.carry) ^ ((own & 7) == 0 ? t.lowest : U{0});
}

/// A register of single bits; the profile determines their density.
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
