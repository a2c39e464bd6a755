// SPDX-License-Identifier: Apache-2.0
// What a block and those who act in it hand to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace warpbit {

/// The size of a grid, a cluster or a block.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace device {

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

/// Bytes [first, last) of shared memory, or of global memory from `global` on, and a cursor in them.
struct View {
  std::int64_t first, last, at;
  bool is_global = false;
  std::byte* global = nullptr;
  int rank = -1;  ///< of the block of the cluster whose shared memory it is; -1: the thread's own
};

enum class Shuffle { index, up, down, exclusive_or };

/// What a thread waits for.
struct Request {
  enum class Kind { barrier, phase, cluster, active_mask, sync_warp, vote, shuffle, instruction, of_warpgroup };
  Kind kind;
  std::string_view name;  ///< the function, the instruction's form, or its statement
  Place at;
  std::uint32_t mask = 0;   ///< for requests with a mask
  std::uint64_t value = 0;  ///< argument of a vote or a shuffle, then its result; a phase's barrier object
  Shuffle how = {};
  int operand = 0, width = 32;  ///< for a shuffle
  bool in_vain = false;         ///< of a phase: nothing else can happen

  std::string_view form() const { return name.substr(0, name.find(' ')); }
  /// Whether it waits for what others do at any place: a phase of a barrier object, barrier.cluster.
  bool is_elsewhere() const { return kind == Kind::phase || kind == Kind::cluster; }
  bool is_masked() const { return kind >= Kind::sync_warp && kind <= Kind::shuffle; }
  bool is_instruction() const { return kind >= Kind::instruction; }
  /// Whether lanes with these two requests can execute them together.
  bool is_same(const Request& other) const {
    return kind == other.kind && name == other.name && mask == other.mask && (is_masked() || at == other.at);
  }
};

}  // namespace calls
}  // namespace device
}  // namespace warpbit
#pragma GCC visibility pop
