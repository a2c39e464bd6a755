// SPDX-License-Identifier: Apache-2.0
// Registers of a warp, a lane's side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "grid/warp.hpp"

namespace warpbit::grid::steps {

/// Registers of an operand, and where they are. Those of 32 bits are the rule.
struct SlotOperand {
  Warp& warp;
  Path& path;
  std::span<const Place> places;
  int bits;

  std::uint32_t* slot(std::size_t i) const { return warp.at(path, places[i]); }
};

/// Four registers, whose lanes are so many words apart on the other side.
void gather_four(const SlotOperand& from, std::uint32_t* to, std::size_t stride);
void scatter_four(const SlotOperand& to, const std::uint32_t* from, std::size_t stride);

/// [lane][register], without gaps; what has no register is 0.
void gather_slots(const SlotOperand& from, std::byte* to);
/// Back, for some lanes.
void scatter_slots(const SlotOperand& to, const std::byte* from, Lanes lanes);

}  // namespace warpbit::grid::steps
