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
  bool updates =
      false;  ///< a store of what is made of such a load of the same place, or by a comparison with one
  std::uint8_t element = 0;  ///< the bytes of one that is done at once, by all that the manual says
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
  scope,    ///< an atomic, of a scope that does not reach the other thread
  size,     ///< a load of more bytes than a store writes at once
  lanes,    ///< a lane loads data that another one of its warp stores
  overlap,  ///< one has more bytes than the other
  update    ///< both change what they have read, and one of them, at least, in two steps
};

/// Whether that matters less than a conflict of accesses that are not both strong.
inline bool is_minor(Misfit misfit) {
  return misfit == Misfit::scope || misfit == Misfit::overlap || misfit == Misfit::update;
}
/// Whether what nearly orders two such accesses may be the earlier one itself, which the later one's thread has read.
inline bool may_be_flags(Misfit misfit) {
  return misfit == Misfit::lanes || misfit == Misfit::overlap || misfit == Misfit::update;
}

}  // namespace warpbit::block
