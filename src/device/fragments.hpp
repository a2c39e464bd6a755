// SPDX-License-Identifier: Apache-2.0
// The AsyncFragments of a thread as registers of its warpgroup.
#pragma once

#include <vector>

#include "block/fault.hpp"

namespace warpbit::device {

/// Registers of operands that a product reads at once; those of fragments follow.
inline constexpr int kDescriptorA = 0, kDescriptorB = 1, kScaleD = 2, kFragments = 3;

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
  int push(int count, Place made);
  void release(int first);
  /// The fragment that contains a register, or nullptr.
  const Part* find(int reg) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace warpbit::device
