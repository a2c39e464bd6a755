// SPDX-License-Identifier: Apache-2.0
// Codes of elements, each from its own share of a register's 128 random bits.
#pragma once

#include "warpbit/inputs/setting.hpp"

namespace warpbit::inputs {

WARPBIT_HOST_DEVICE inline std::uint64_t ones(std::int32_t n) {
  return n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// Random bits of an element. Of `choice` at least the upper 16 bits are random:
///
///     31    30..21           20..16        15..0
///     sign  exception, /1024 exponent ...  more of it, or 0
struct Random {
  std::uint64_t fraction;
  std::uint32_t choice;
};

/// The share of element e of n, which is 1, 2, 4 or 8.
WARPBIT_HOST_DEVICE inline Random share(const Words& x, int n, int e) {
  if (n == 1) return {x.w[0] | std::uint64_t{x.w[1]} << 32, x.w[2]};
  if (n == 2) return {x.w[2 * e], x.w[2 * e + 1]};
  if (n == 4) return {x.w[e] & 0xFF, x.w[e] & 0xFFFFFF00};
  const std::uint32_t half = x.w[e / 2] >> (16 * (e % 2)) & 0xFFFF;
  return {half & 0xF, half << 16};
}

WARPBIT_HOST_DEVICE inline bool is_negative(const Random& r) {
  return (r.choice >> 31) != 0;
}
/// Below 1024.
WARPBIT_HOST_DEVICE inline std::int32_t exception(const Random& r) {
  return static_cast<std::int32_t>(r.choice >> 21 & 0x3FF);
}
/// Four kinds of whatever it is.
WARPBIT_HOST_DEVICE inline int kind(const Random& r) {
  return static_cast<int>(r.choice >> 19 & 3);
}
WARPBIT_HOST_DEVICE inline std::int32_t exponent_below(const Random& r, std::int32_t n) {
  return static_cast<std::int32_t>(std::uint64_t{r.choice << 11} * static_cast<std::uint64_t>(n) >> 32);
}

/// Exponent and fraction of the greatest number.
WARPBIT_HOST_DEVICE inline std::uint64_t greatest(const Format& f) {
  const std::uint64_t all = ones(f.exponent_bits + f.fraction_bits);
  return f.no_numbers == NoNumbers::ieee ? all - ones(f.fraction_bits) - 1
                                         : all - (f.no_numbers == NoNumbers::all_ones ? 1 : 0);
}

/// A code of exponent and fraction bits, with a sign if the format has one, and random bits where they do not
/// count.
WARPBIT_HOST_DEVICE inline std::uint64_t floating_code(const Format& f, std::uint64_t magnitude,
                                                       const Random& r) {
  const int significant = f.is_signed + f.exponent_bits + f.fraction_bits;
  const std::uint64_t sign = f.is_signed && is_negative(r) ? ones(1) << (f.exponent_bits + f.fraction_bits) : 0;
  const std::uint64_t low = f.ignored_low ? r.fraction >> (64 - f.ignored_low) : 0;
  const std::uint64_t high = r.fraction & ~ones(significant);
  return ((high | sign | magnitude) << f.ignored_low | low) & ones(f.bits);
}

/// 1.fraction * 2^exponent, or the number nearest to it in magnitude that the format has, toward zero where it
/// is subnormal; never 0 for an exponent that the format has.
WARPBIT_HOST_DEVICE inline std::uint64_t number_code(const Format& f, std::int32_t exponent,
                                                     std::uint64_t fraction, const Random& r) {
  const std::int32_t normal = f.subnormals ? 1 - f.bias : -f.bias;
  const std::int32_t least = f.subnormals ? normal - f.fraction_bits : normal;
  const std::int32_t most = static_cast<std::int32_t>(greatest(f) >> f.fraction_bits) - f.bias;
  const std::int32_t e = clamped(exponent, {least, most});
  fraction &= ones(f.fraction_bits);
  const std::uint64_t magnitude = e < normal
                                      ? (fraction | ones(1) << f.fraction_bits) >> (normal - e)
                                      : static_cast<std::uint64_t>(e + f.bias) << f.fraction_bits | fraction;
  const std::uint64_t bound = greatest(f);
  return floating_code(f, magnitude < bound ? magnitude : bound, r);
}

/// Two of four are the greatest there is, infinity if the format has one; the others NaN and zero.
WARPBIT_HOST_DEVICE inline std::uint64_t special_code(const Format& f, const Random& r) {
  const std::uint64_t all = ones(f.exponent_bits + f.fraction_bits),
                      payload = r.fraction & ones(f.fraction_bits);
  if (kind(r) == 3) return floating_code(f, 0, r);
  if (f.no_numbers == NoNumbers::ieee)
    return floating_code(f, kind(r) == 2 ? greatest(f) + 1 + payload + (payload == 0 ? 1 : 0) : greatest(f) + 1,
                         r);
  return floating_code(f, kind(r) == 2 ? all : greatest(f), r);
}

/// At most one bit of the fraction.
WARPBIT_HOST_DEVICE inline std::uint64_t single_bit(const Format& f, const Random& r) {
  if (f.fraction_bits == 0 || (r.fraction & 1) == 0) return 0;
  return ones(1) << (r.fraction >> 1 & 0x7F) % static_cast<std::uint64_t>(f.fraction_bits);
}

WARPBIT_HOST_DEVICE inline std::uint64_t floating_element(const Format& f, const Setting& s, const Random& r) {
  if (exception(r) < s.zeros) return floating_code(f, 0, r);
  if (exception(r) >= 1024 - s.specials) return special_code(f, r);
  if (s.profile == Profile::alignment)
    return number_code(f, s.level - (kind(r) / 2 ? s.gap : 0) - kind(r) % 2 * s.spread,
                       s.spread ? single_bit(f, r) : 0, r);
  return number_code(f, s.level - exponent_below(r, s.spread + 1), r.fraction, r);
}

/// 0, 1, the greatest and the least (unsigned: the second greatest) one.
WARPBIT_HOST_DEVICE inline std::uint64_t special_integer(const Format& f, int which) {
  const std::uint64_t most = ones(f.bits - f.is_signed);
  const std::uint64_t list[] = {0, 1, most, f.is_signed ? most + 1 : most - 1};
  return list[which];
}

/// Near the greatest or the least one: an accumulator by `width` bits, a factor at once.
WARPBIT_HOST_DEVICE inline std::uint64_t extreme_integer(const Format& f, Role role, const Setting& s,
                                                         const Random& r) {
  if (exception(r) < 128) return r.fraction;
  const std::uint64_t most = ones(f.bits - f.is_signed), least = f.is_signed ? most + 1 : 0;
  const std::uint64_t distance = role == Role::sum ? r.fraction & ones(s.width) : 0;
  if (!f.is_signed && role != Role::sum) return most;
  return s.negative ? least + distance : most - distance;
}

WARPBIT_HOST_DEVICE inline std::uint64_t integer_element(const Format& f, Role role, const Setting& s,
                                                         const Random& r) {
  if (exception(r) < s.zeros) return 0;
  switch (s.profile) {
    case Profile::wide: return r.fraction;
    case Profile::overflow: return extreme_integer(f, role, s, r);
    case Profile::specials: return special_integer(f, kind(r));
    case Profile::alignment: {
      const std::uint64_t power = ones(1) << (r.fraction & 0x1F) % static_cast<std::uint64_t>(f.bits);
      return f.is_signed && is_negative(r) ? ~power + 1 : power;
    }
    default: {
      const std::uint64_t low = r.fraction & ones(s.width);
      const bool negative = f.is_signed && (low >> (s.width - 1)) != 0;
      return negative ? low | ~ones(s.width) : low;
    }
  }
}

/// The code with the other sign. What has none stays.
WARPBIT_HOST_DEVICE inline std::uint64_t negated(const Format& f, std::uint64_t code) {
  if (!f.is_signed) return code;
  return f.exponent_bits == 0 ? ~code + 1 : code ^ ones(1) << (f.bits - 1);
}

/// One element. `twin` says that it repeats its neighbour, so that the products may cancel, and now and then
/// differs in one bit; `own` are its own random bits then.
WARPBIT_HOST_DEVICE inline std::uint64_t element_code(const Member& m, const Setting& s, const Random& r,
                                                      bool twin, std::uint32_t own) {
  const Format& f = m.format;
  std::uint64_t code = s.profile == Profile::uniform ? r.fraction
                       : f.exponent_bits == 0        ? integer_element(f, m.role, s, r)
                                                     : floating_element(f, s, r);
  if (twin) {
    if (m.role == Role::left) code = negated(f, code);
    if (m.role == Role::right && (own & 7) == 0) code ^= ones(1) << f.ignored_low;
  }
  return code & ones(f.bits);
}

/// A register of single bits; more or fewer of them are 1, by the profile.
WARPBIT_HOST_DEVICE inline std::uint64_t bits_word(Profile profile, const Words& x) {
  switch (profile) {
    case Profile::narrow: return x.w[0] & x.w[1];
    case Profile::wide: return x.w[0] | x.w[1];
    case Profile::underflow: return x.w[0] & x.w[1] & x.w[2] & x.w[3];
    case Profile::overflow: return x.w[0] | x.w[1] | x.w[2] | x.w[3];
    case Profile::specials: return x.w[1] & 1 ? x.w[0] : x.w[1] & 2 ? 0 : 0xFFFFFFFF;
    case Profile::alignment: return ones(1) << (x.w[0] & 0x1F);
    default: return x.w[0];
  }
}

}  // namespace warpbit::inputs
