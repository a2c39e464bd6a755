// SPDX-License-Identifier: Apache-2.0
// Memory for the stacks of the threads of a block.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::device {

/// Bytes [guard, bottom) are inaccessible; [bottom, top) are the stack, which grows down from its top.
struct Stack {
  /// A thread of a GPU has at most 512 KiB of local memory (CUDA C++ Programming Guide, "Technical
  /// Specifications per Compute Capability"), so its frames cannot step over the guard.
  static constexpr std::size_t kGuard = std::size_t{1} << 20;

  std::byte *guard, *bottom, *top;
};

/// The stacks of one host thread.
class Stacks {
 public:
  /// Allocates `count` stacks of at least `bytes` each. Errors: launch_shape if the system has no room for
  /// them.
  static Result<Stacks> make(int count, std::size_t bytes);
  /// The maximum number of host threads with `count` stacks each. A stack and its guard take two of the
  /// mappings that a process may have (vm.max_map_count); a quarter of these is left to others. At least 1.
  static int max_workers(int count);

  const Stack& operator[](int i) const { return stacks_[static_cast<std::size_t>(i)]; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  explicit Stacks(std::unique_ptr<std::byte, Unmap> memory) : memory_(std::move(memory)) {}

  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<Stack> stacks_;
};

/// The signal stack of this host thread: an overflowed stack has no room for a handler.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace warpbit::device
