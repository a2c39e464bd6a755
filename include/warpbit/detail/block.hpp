// SPDX-License-Identifier: Apache-2.0
// What a block and those who act in it hand to each other.
#pragma once

#include <cstdint>

namespace warpbit::device {

/// The source location of a wrapper's call. (std::source_location is missing in clang 14.)
struct Place {
  const char* file = "";
  unsigned line = 0;

  static constexpr Place here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const Place&, const Place&) = default;
};

/// x, y and z.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
  friend bool operator==(const Index3&, const Index3&) = default;
};

namespace calls {

/// Bytes [first, last) of shared memory, and a cursor in them.
struct SharedView {
  std::int64_t first, last, at;
};

enum class Shuffle { index, up, down, exclusive_or };

}  // namespace calls
}  // namespace warpbit::device
