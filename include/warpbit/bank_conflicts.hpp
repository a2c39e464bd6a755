// SPDX-License-Identifier: Apache-2.0
// Bank conflicts: what the addresses of a warp cost in shared memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace warpbit {

/// Extra wavefronts of an access to shared memory.
struct BankConflicts {
  std::vector<int> phases;  ///< of each phase; 0 is free of conflicts
  int total = 0;
};

/// Shared memory has 32 banks of 4 bytes; the word at address a lies in bank a / 4 % 32. Lane i accesses
/// `line_bytes` bytes from addresses[i] on. The lanes go in phases of as many as need all banks at most (8
/// lanes of 16 bytes), and a phase takes a wavefront for each different word in its fullest bank, one at least.
/// Give only the lanes that access memory, in ascending order. Precondition: line_bytes is positive.
BankConflicts bank_conflicts(std::span<const std::uint64_t> addresses, int line_bytes = 16);

}  // namespace warpbit
#pragma GCC visibility pop
