// SPDX-License-Identifier: Apache-2.0
// Where the elements of a matrix lie that a descriptor finds: the formulas of facts 6, case by case.
#pragma once

#include <cstdint>

namespace formulas {

// All in bytes. width: of the swizzle; 16 without one.
struct Described {
  std::uint64_t start, lbo, sbo, base_offset, width;

  // The descriptor itself.
  std::uint64_t bits() const {
    const std::uint64_t swizzle = width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0;
    return start / 16 | lbo / 16 << 16 | sbo / 16 << 32 | base_offset << 49 | swizzle << 62;
  }
};

// `bit` is where the element begins along the contiguous direction, `line` its index in the other one.
inline std::uint64_t before_swizzle(const Described& d, bool mn, bool sparse_b, std::uint64_t bit,
                                    std::uint64_t line) {
  const std::uint64_t chunk = bit / 128, w = d.width;
  if (!mn && w == 16) return line % 8 * 16 + line / 8 * d.sbo + chunk * d.lbo;
  if (!mn && sparse_b && w == 32) return line % 8 * 32 + line / 8 * d.sbo + chunk % 2 * 16 + chunk / 2 * d.lbo;
  if (!mn) return line % 8 * w + line / 8 * d.sbo + chunk * 16;
  if (w == 16) return chunk * d.sbo + line % 8 * 16 + line / 8 * d.lbo;
  return chunk % (w / 16) * 16 + chunk / (w / 16) * d.lbo + line % 8 * w + line / 8 * d.sbo;
}

// The bit where element (i, k) begins, i along M or N; of a sparse A, k is the compressed index. `mn`: M or N
// is contiguous, else K.
inline std::uint64_t described_bit(const Described& d, bool mn, bool sparse_b, std::uint64_t bits,
                                   std::uint64_t i, std::uint64_t k) {
  const std::uint64_t bit = (mn ? i : k) * bits;
  std::uint64_t address = d.start + before_swizzle(d, mn, sparse_b, bit, mn ? k : i);
  const std::uint64_t row = address / 128 + 8 - d.base_offset;
  if (d.width == 128) address ^= row % 8 << 4;
  if (d.width == 64) address ^= row % 4 << 4;
  if (d.width == 32) address ^= row % 2 << 4;
  return address * 8 + bit % 128;
}

}  // namespace formulas
