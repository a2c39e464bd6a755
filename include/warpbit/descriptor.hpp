// SPDX-License-Identifier: Apache-2.0
// Matrix descriptors: how wgmma finds its operands in shared memory (PTX manual, "Matrix Descriptor Format" and
// "Strides"; the map of addresses is measured, src/target/NUMERICS.md, "Descriptors").
#pragma once

#include <cstdint>

#include "warpbit/result.hpp"

namespace warpbit {

/// How 16-byte chunks are exchanged within a span of bytes. The values are those of the descriptor's field.
enum class Swizzle : std::uint8_t { none = 0, bytes_128 = 1, bytes_64 = 2, bytes_32 = 3 };

/// The span in bytes: 128, 64 or 32; 16 without a swizzle, since a chunk stays where it is.
int span_bytes(Swizzle swizzle);

/// A descriptor, its fields in bytes.
///
///     63 62    51 50 49        45 ... 32      29 ... 16      13 ... 0
///     swizzle  base offset     stride / 16    leading / 16   start / 16     all other bits are ignored
struct Descriptor {
  std::uint32_t start = 0;    ///< address in shared memory; a multiple of 16 below 2^18, like the next two
  std::uint32_t leading = 0;  ///< leading dimension byte offset, LBO
  std::uint32_t stride = 0;   ///< stride dimension byte offset, SBO
  int base_offset = 0;        ///< 0 to 7
  Swizzle swizzle = Swizzle::none;

  static Descriptor decode(std::uint64_t bits);
  /// Errors: descriptor_field, which names the field, its value and what it can hold.
  Result<std::uint64_t> encode() const;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// Which of its two directions an operand in shared memory has contiguous.
enum class Major : std::uint8_t {
  k,   ///< K: rows of A, columns of B
  mn,  ///< M or N (imm-trans 1)
};

/// The bit in shared memory where an element of an operand begins: i along M (of A) or N (of B), k along K; of
/// a sparse A, k counts stored elements. Addresses are not bounded here. Precondition: 0 <= i, k.
std::uint64_t element_bit(const Descriptor& descriptor, Major major, int element_bits, int i, int k);

}  // namespace warpbit
