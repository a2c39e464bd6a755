// SPDX-License-Identifier: Apache-2.0
// Ending long calls early.
#pragma once

#include <atomic>

#pragma GCC visibility push(default)
namespace warpbit {

/// What a call throws that ended early.
struct Stopped {};

/// While it lives, calls of this library from its thread end soon after `stop` became true: they throw Stopped, and what
/// they write to is worth nothing, unless they were done. The Stoppables of one thread end in the reverse order.
class Stoppable {
 public:
  explicit Stoppable(const std::atomic<bool>& stop) : Stoppable(&stop) {}
  /// Null: nothing ends early.
  explicit Stoppable(const std::atomic<bool>* stop);
  ~Stoppable();
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  const std::atomic<bool>* before_;
};

}  // namespace warpbit
#pragma GCC visibility pop
