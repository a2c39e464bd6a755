// SPDX-License-Identifier: Apache-2.0
// For kernels too, which other headers may not compile in.
#pragma once

#include <cstdint>

namespace warpbit {

/// How 16-byte chunks are exchanged within a span of bytes. The values are those of a matrix descriptor's
/// field.
enum class Swizzle : std::uint8_t { none = 0, bytes_128 = 1, bytes_64 = 2, bytes_32 = 3 };

}  // namespace warpbit
