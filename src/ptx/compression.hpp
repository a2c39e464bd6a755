// SPDX-License-Identifier: Apache-2.0
// The vectors of spcompress and spdecompress (PTX manual, "Expected vector size for various operands").
#pragma once

#include <span>
#include <string_view>

namespace warpbit::ptx {

/// How many registers they have.
struct VectorSizes {
  int metadata = 0, compressed = 0, dense = 0;
};
VectorSizes compression_sizes(bool compresses, std::span<const std::string_view> words);

}  // namespace warpbit::ptx
