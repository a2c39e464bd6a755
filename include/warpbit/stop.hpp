// SPDX-License-Identifier: Apache-2.0
// Ending long calls early.
#pragma once

#include <atomic>

#pragma GCC visibility push(default)
namespace warpbit {

/// Thrown by a call that is ended early.
struct Stopped {};

/// While it lives, this library's calls from its thread end soon after `stop` becomes true: they throw
/// Stopped, and their output is invalid unless they were done. The Stoppables of one thread must be destroyed
/// in the reverse order.
class Stoppable {
 public:
  explicit Stoppable(const std::atomic<bool>& stop) : Stoppable(&stop) {}
  /// With nullptr nothing ends early.
  explicit Stoppable(const std::atomic<bool>* stop);
  ~Stoppable();
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;

 private:
  const std::atomic<bool>* before_;
};

}  // namespace warpbit
#pragma GCC visibility pop
