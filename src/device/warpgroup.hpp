// SPDX-License-Identifier: Apache-2.0
// The state of a warpgroup with asynchronous products.
#pragma once

#include <vector>

#include "warpbit/device/calls.hpp"
#include "warpbit/state.hpp"

namespace warpbit::device {

inline constexpr int kWarpgroup = 128, kGroupWarps = 4;

/// Allocates a thread's fragments in its registers as a stack, like the variables that hold them. Lanes with
/// the same live fragments thus have them in the same registers, whatever they did before.
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
  /// The fragment that contains a register, or nullptr.
  const Part* find(int reg) const;

 private:
  std::vector<Part> parts_;
};

struct Warpgroup {
  /// Registers of operands that a product reads at once; those of fragments follow.
  static constexpr int kDescriptorA = 0, kDescriptorB = 1, kScaleD = 2, kFragments = 3;

  explicit Warpgroup(AsyncState::RegisterName name);
  /// Ensures that lanes have at least `count` registers.
  void reserve(int count);

  Registers registers;
  AsyncState async;
};

}  // namespace warpbit::device
