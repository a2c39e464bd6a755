// SPDX-License-Identifier: Apache-2.0
// The swizzles of shared memory as exclusive or: which 16 bytes of a line hold what.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace warpbit::diagnosis {

// The 16 bytes with index i of a line lie at index i ^ (line / apart & mask).
struct Swizzling {
  int apart = 1, mask = 0;
  int of(int line) const { return line / apart & mask; }
  std::string text() const {
    return fmt::format("({} & {})", apart == 1 ? "line" : fmt::format("line / {}", apart), mask);
  }
};

// Those of lines with so many times 16 bytes.
inline std::vector<Swizzling> swizzlings(int chunks) {
  std::vector<Swizzling> out;
  for (int mask = 1; mask < 8 && mask < chunks; mask = 2 * mask + 1)
    for (int apart = 1; apart <= 8; apart *= 2) out.push_back({apart, mask});
  return out;
}

// One on one side and the other, which may be none, on the other.
inline std::string swizzle_text(std::string_view operand, const Swizzling& one, const Swizzling& other) {
  if (other.mask == 0)
    return fmt::format("{} is swizzled on one side only: 16 bytes with index i are those with index i ^ {}",
                       operand, one.text());
  return fmt::format("{} is swizzled by {} on one side and by {} on the other", operand, one.text(),
                     other.text());
}

}  // namespace warpbit::diagnosis
