// SPDX-License-Identifier: Apache-2.0
// Properties shared by the elements of one member in one case: their magnitude, the number of zeros.
#pragma once

#include "warpbit/inputs/member.hpp"

namespace warpbit::inputs {

WARPBIT_HOST_DEVICE inline std::int32_t larger(std::int32_t x, std::int32_t y) {
  return x > y ? x : y;
}
WARPBIT_HOST_DEVICE inline std::int32_t smaller(std::int32_t x, std::int32_t y) {
  return x < y ? x : y;
}
/// Precondition of this and of the next: least <= most.
WARPBIT_HOST_DEVICE inline std::int32_t clamped(std::int32_t x, Range to) {
  return smaller(larger(x, to.least), to.most);
}
WARPBIT_HOST_DEVICE inline Range clamped(Range x, Range to) {
  return {clamped(x.least, to), clamped(x.most, to)};
}
/// A number below n from 16 random bits; higher bits of `random` are ignored. 0 < n <= 2^16.
WARPBIT_HOST_DEVICE inline std::int32_t below(std::uint32_t random, std::int32_t n) {
  return static_cast<std::int32_t>((random & 0xFFFF) * static_cast<std::uint32_t>(n) >> 16);
}
/// The same, for a number in the range.
WARPBIT_HOST_DEVICE inline std::int32_t pick(std::uint32_t random, Range from) {
  return from.least + below(random, from.most - from.least + 1);
}

/// The elements of a member in a case. Ordinary ones have an exponent from level - spread to level.
struct Setting {
  Profile profile;            ///< never `mixed`
  std::int32_t level = 0;     ///< exponent
  std::int32_t spread = 0;    ///< of exponents
  std::int32_t gap = 0;       ///< alignment: how far below the small ones lie
  std::int32_t zeros = 0;     ///< of 1024
  std::int32_t specials = 0;  ///< of 1024
  std::int32_t width = 0;     ///< of small integers, in bits
  std::int32_t negative = 0;  ///< selects the edge that integers are near
};

/// Exponents of a case: of factors, scale factors and scaled products.
struct Levels {
  std::int32_t left, right, left_scale, right_scale, products;
};

/// The exponents that a profile requires of products, as D sees them.
WARPBIT_HOST_DEVICE inline Range wanted_products(Profile profile, const Frame& f, std::int32_t gap) {
  switch (profile) {
    case Profile::underflow: return {f.sum.least - 12, f.sum_normal + 3};
    case Profile::overflow: return {f.sum.most - 6, f.sum.most + 1};
    default: return {smaller(f.sum.least - 3 + gap, f.sum.most), f.sum.most};
  }
}

/// Chooses the exponents; `gap` is reserved below factors as far as their formats allow.
WARPBIT_HOST_DEVICE inline Levels choose_levels(Profile profile, const Frame& frame, Words random,
                                                std::int32_t left_gap, std::int32_t right_gap) {
  const Range left{frame.left.least + left_gap, frame.left.most};
  const Range right{frame.right.least + right_gap, frame.right.most};
  if (profile == Profile::ordinary || profile == Profile::specials)
    return {clamped(0, left), clamped(0, right), clamped(0, frame.scale), clamped(0, frame.scale), 0};
  const Range product{left.least + right.least, left.most + right.most};
  const Range scaling{2 * frame.scale.least, 2 * frame.scale.most};
  const Range reach{product.least + scaling.least, product.most + scaling.most};
  const std::int32_t target =
      pick(random.w[0], clamped(wanted_products(profile, frame, left_gap + right_gap), reach));
  const std::int32_t of_product = pick(random.w[0] >> 16, {larger(product.least, target - scaling.most),
                                                           smaller(product.most, target - scaling.least)});
  const std::int32_t of_left = pick(
      random.w[1], {larger(left.least, of_product - right.most), smaller(left.most, of_product - right.least)});
  const std::int32_t of_scales = target - of_product, of_left_scale = of_scales >> 1;
  return {of_left, of_product - of_left, of_left_scale, of_scales - of_left_scale, target};
}

/// The exponent of the accumulator beside products of this exponent.
WARPBIT_HOST_DEVICE inline std::int32_t sum_level(Profile profile, std::int32_t products,
                                                  std::uint32_t random) {
  switch (profile) {
    case Profile::ordinary:
    case Profile::specials: return products + pick(random, {-1, 3});
    case Profile::cancellation: return products - below(random, 40);
    case Profile::overflow: return products + pick(random, {-4, 1});
    case Profile::alignment: return products + below(random, 3);
    default: return products + pick(random, {-4, 4});
  }
}

WARPBIT_HOST_DEVICE inline std::int32_t spread_of(Profile profile, std::uint32_t random) {
  switch (profile) {
    case Profile::ordinary: return 2;
    case Profile::wide: return 4 + below(random, 40);
    case Profile::specials: return below(random, 13);
    case Profile::underflow: return below(random, 7);
    case Profile::alignment: return below(random >> 16, 2);
    default: return below(random, 4);
  }
}

/// Number of zeros in 1024. Aligned accumulators are rarely zero, whatever the factors.
WARPBIT_HOST_DEVICE inline std::int32_t zeros_of(Profile profile, Role role, std::uint32_t random) {
  switch (profile) {
    case Profile::underflow: return 128;
    case Profile::alignment: return role == Role::sum ? 256 : 256 * (1 + below(random, 3));
    case Profile::narrow:
    case Profile::wide: return below(random, 4) == 0 ? 256 : 0;
    default: return 0;
  }
}

/// Width in bits of a profile's small integers, at most `bits`.
WARPBIT_HOST_DEVICE inline std::int32_t width_of(const Member& m, Profile profile, std::uint32_t random) {
  if (profile == Profile::underflow) return smaller(2, m.format.bits);
  if (profile == Profile::ordinary) return smaller(4, m.format.bits);
  return 1 + below(random, m.role == Role::sum ? smaller(20, m.format.bits) : m.format.bits);
}

/// The setting of a member in a case.
WARPBIT_HOST_DEVICE inline Setting setting_of(const Member& m, Key key, Profile profile, std::uint64_t index) {
  constexpr std::uint32_t kCase = 0xFFFFFFFF;  // no operand has this number
  if (profile == Profile::mixed) profile = static_cast<Profile>(index % kMixedProfiles);
  Setting out{profile};
  if (profile == Profile::uniform || profile == Profile::exhaustive || m.fill != Fill::elements) return out;
  const Words random =
      philox(key, {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), kCase, 0}});
  out.width = width_of(m, profile, random.w[3] >> 16);
  out.negative = static_cast<std::int32_t>(random.w[2] >> (24 + static_cast<int>(m.role)) & 1);
  out.spread = spread_of(profile, random.w[2]);
  out.zeros = zeros_of(profile, m.role, random.w[1] >> 16);
  if (profile == Profile::specials) out.specials = 4 << (2 * (random.w[2] >> 16 & 3));

  std::int32_t gap = 0, left_gap = 0, right_gap = 0;
  if (profile == Profile::alignment) {
    gap = 8 + below(random.w[3] >> 16, 30);
    left_gap = smaller(below(random.w[2], gap + 1), m.frame.left.most - m.frame.left.least);
    right_gap = smaller(gap - left_gap, m.frame.right.most - m.frame.right.least);
  }
  const Levels levels = choose_levels(profile, m.frame, random, left_gap, right_gap);
  switch (m.role) {
    case Role::left: out.level = levels.left, out.gap = left_gap; break;
    case Role::right: out.level = levels.right, out.gap = right_gap; break;
    case Role::left_scale:
    case Role::right_scale:
      out.level = m.role == Role::left_scale ? levels.left_scale : levels.right_scale;
      out.spread = smaller(out.spread, 3);
      out.zeros = 0;
      break;
    case Role::sum:
      out.level = sum_level(profile, levels.products, random.w[3]);
      out.gap = gap;
      break;
  }
  return out;
}

}  // namespace warpbit::inputs
