// SPDX-License-Identifier: Apache-2.0
// spdecompress in one lane (PTX manual, "spdecompress"). Elements and indices lie in registers from the lowest bits on.
#pragma once

#include <cstdint>
#include <span>

#include "ptx/compression.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::scalar {

/// Of each `from` elements makes `to`, most of which are 0: an index says where each of them goes, and of two with one index the
/// later one stays. The first index that is none of these places, or -1. Precondition: vectors of
/// ptx::compression_sizes, no two of which overlap.
int decompress(const ptx::Compression& of, std::span<const std::uint32_t> metadata,
               std::span<const std::uint32_t> compressed, std::span<std::uint32_t> dense);

}  // namespace warpbit::scalar
#pragma GCC visibility pop
