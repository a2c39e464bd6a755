// SPDX-License-Identifier: Apache-2.0
// Elements that a body wants elsewhere than in the registers of an operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/registers.hpp"

namespace warpbit {

/// An element by its first byte in an operand's registers, side by side ([lane][register]), and in a panel.
struct GatheredElement {
  std::uint16_t in_operand, in_panel;
};

/// Where an element of `bytes` bytes, or the one that holds it, lies in the registers.
inline std::uint16_t byte_of(const TileRegisters& registers, const RegisterBits& at, int bytes) {
  return static_cast<std::uint16_t>((at.lane * registers.count + at.reg) * registers.bits / 8 +
                                    at.low_bit / (8 * bytes) * bytes);
}

/// All elements of an operand or of a part of it: runs of bytes that lie together in the registers and in the
/// panel.
class Gather {
 public:
  Gather() = default;
  /// The elements ascend in the panel.
  Gather(std::span<const GatheredElement> elements, int element_bytes);

  /// Whether the panel is the registers as they are.
  bool is_copy() const { return is_copy_; }
  std::size_t bytes() const { return runs_.size() * static_cast<std::size_t>(run_bytes_); }

  void to_panel(const std::byte* registers, std::byte* panel) const;
  void to_registers(const std::byte* panel, std::byte* registers) const;
  /// The panel: the registers if it is a copy, else in `to`.
  const std::byte* panel(const std::byte* registers, Scratch::Words& to) const;

 private:
  // Calls move(bytes of a run, run, its first byte in the panel) for each.
  template <class Move>
  void for_each_run(Move move) const;

  int run_bytes_ = 0;                        // 1, 2, 4, 8 or 16
  bool is_copy_ = false, has_gaps_ = false;  // in the panel
  std::vector<GatheredElement> runs_;        // by their first element
};

}  // namespace warpbit
