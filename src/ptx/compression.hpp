// SPDX-License-Identifier: Apache-2.0
// The vectors of spcompress and spdecompress (PTX manual, "Expected vector size for various operands").
#pragma once

#include <span>
#include <string_view>

namespace warpbit::ptx {

/// What the words say: bits of an element and of an index, how many elements become how many, and how often.
struct Compression {
  int element = 0, index = 0, from = 0, to = 0, number = 0;
};
Compression compression(std::span<const std::string_view> words);

/// How many registers they have.
struct VectorSizes {
  int metadata = 0, compressed = 0, dense = 0;
};
VectorSizes compression_sizes(bool compresses, std::span<const std::string_view> words);

}  // namespace warpbit::ptx
