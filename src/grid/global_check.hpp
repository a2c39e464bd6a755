// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "grid/block.hpp"
#include "grid/global_accesses.hpp"

namespace warpbit::grid {

/// An access that is being recorded.
struct GlobalAccesses::Check {
  const GlobalAccess& by;
  const GlobalLanes& what;
  std::size_t skipped = 0;                 ///< bytes of the lane before those of the line
  std::unique_lock<std::mutex> lock = {};  ///< of a page
  std::unique_ptr<GlobalConflicts> found = {};
  Entry entry = entry_by(by);  ///< without its place
  block::StrongUse use = by.strong ? by.order.use_at(Block::place(by.site)) : block::StrongUse();

  static Entry entry_by(const GlobalAccess& by);
  /// Whether it may not fit strong writes of so many bytes, which are of .gpu scope.
  bool may_misfit(std::size_t bytes) const {
    return use.bytes != 0 &&
           (use.element != bytes || (entry.writes && (use.updates || use.scope != block::Scope::gpu)));
  }
  void hold(std::mutex* page);  ///< nullptr: nobody else is there
  const std::byte* value(const Entry& now, std::size_t byte) const;
  template <class Visit>
  void for_each_piece(const Entry& now, Visit visit) const;
  void store(const Entry& now, std::byte* data) const;
  void store_row(int lane, int lanes, std::byte* to) const;
  bool repeats(const Entry& now, const std::byte* data) const;  ///< whether that is there already
  void report(const Entry& old, const Entry& now, LineBits bytes, const std::byte* data);
};

}  // namespace warpbit::grid
