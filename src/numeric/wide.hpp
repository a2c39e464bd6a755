// SPDX-License-Identifier: Apache-2.0
// 128-bit integers.
#pragma once

#include <bit>
#include <cstdint>

namespace warpbit {

__extension__ using u128 = unsigned __int128;

/// The number of bits up to the highest 1; 0 for 0.
constexpr int bit_length(u128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return static_cast<int>(high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(x)));
}

}  // namespace warpbit
