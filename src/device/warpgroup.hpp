// SPDX-License-Identifier: Apache-2.0
// What a block keeps of a warpgroup that has asynchronous products.
#pragma once

#include <vector>

#include "warpbit/device/calls.hpp"
#include "warpbit/state.hpp"

namespace warpbit::device {

inline constexpr int kWarpgroup = 128, kGroupWarps = 4;

/// Where the fragments of a thread lie among its registers: one on top of the other, as variables live and end.
/// So lanes with the same fragments alive have them in the same registers, whatever they did before.
class RegisterStack {
 public:
  struct Part {
    int first, count;
    Place made;
    bool alive = true;
  };
  /// Returns the first register.
  int push(int bottom, int count, Place made);
  void release(int first);
  /// What a register is part of, or nullptr.
  const Part* find(int reg) const;

 private:
  std::vector<Part> parts_;
};

struct Warpgroup {
  /// Registers of what a product reads at once; those of fragments follow.
  static constexpr int kDescriptorA = 0, kDescriptorB = 1, kScaleD = 2, kFragments = 3;

  explicit Warpgroup(AsyncState::RegisterName name);
  /// Lanes have at least so many registers from now on.
  void reserve(int count);

  Registers registers;
  AsyncState async;
};

}  // namespace warpbit::device
