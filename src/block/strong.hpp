// SPDX-License-Identifier: Apache-2.0
// Strong accesses, and where two of them do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "block/message.hpp"

namespace warpbit::block {

/// A statement whose accesses are strong.
struct StrongUse {
  std::uint8_t bytes =
      0;  ///< of an element; of a store all of them: an H200 was not seen to part them; 0: nothing is known
  Scope scope = Scope::gpu;
  bool is_atomic = false;
  bool is_data = false;  ///< a load by which nobody waits
};
/// By the number of a statement, that of the one at a place: of none, nothing is known.
inline StrongUse use_at(std::span<const StrongUse> all, device::Place at) {
  return all.empty() || at.line == 0 ? StrongUse() : all[(at.line - 1) % all.size()];
}
/// One of two strong accesses.
struct StrongSide {
  StrongUse use;
  int thread;
  bool writes;
};
/// Why two strong accesses to one byte are not morally strong, or tell nothing of each other (PTX manual, "Morally
/// Strong Operations").
enum class Misfit : std::uint8_t {
  none,
  scope,  ///< an atomic, of a scope that does not reach the other thread
  size,   ///< a load of more bytes than a store writes at once
  lanes   ///< a lane loads data that another one of its warp stores
};

}  // namespace warpbit::block
