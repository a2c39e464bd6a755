// SPDX-License-Identifier: Apache-2.0
// Where registers lie in memory, and ranges of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace warpbit {

/// Bytes of a memory, both ends included.
struct ByteRange {
  std::uint64_t first = 0, last = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Registers of one operand over (case, lane, register): a base pointer and byte strides. Registers are
/// little-endian and may be unaligned.
struct OperandView {
  const std::byte* base = nullptr;
  std::ptrdiff_t case_stride = 0, lane_stride = 0, register_stride = 0;

  /// A dense array [cases][lanes][registers] of registers of `register_bits` bits.
  static OperandView dense(const void* base, int lanes, int registers, int register_bits);
};

/// The same for the destination.
struct ResultView {
  std::byte* base = nullptr;
  std::ptrdiff_t case_stride = 0, lane_stride = 0, register_stride = 0;

  /// A dense array [cases][lanes][registers] of registers of `register_bits` bits.
  static ResultView dense(void* base, int lanes, int registers, int register_bits);
};

}  // namespace warpbit
#pragma GCC visibility pop
