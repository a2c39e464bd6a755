// SPDX-License-Identifier: Apache-2.0
// Separate because kernels include it, which cannot compile other headers.
#pragma once

#include <cstdint>

namespace warpbit {

/// How 16-byte chunks are permuted within a span of bytes. The values are those of a matrix descriptor's
/// field; those of tensor memory have one more, which permutes atoms of 32 bytes.
enum class Swizzle : std::uint8_t {
  none = 0,
  bytes_128 = 1,
  bytes_64 = 2,
  bytes_32 = 3,
  bytes_128_atoms_32 = 4
};

}  // namespace warpbit
