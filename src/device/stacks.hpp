// SPDX-License-Identifier: Apache-2.0
// Memory for the stacks of the threads of a block.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::device {

/// Bytes [guard, bottom) cannot be accessed; those of the stack, [bottom, top), can. It grows from its top down.
struct Stack {
  /// A thread of a GPU has at most 512 KiB of local memory (CUDA C++ Programming Guide, "Technical Specifications
  /// per Compute Capability"): no frame of its steps over the guard.
  static constexpr std::size_t kGuard = std::size_t{1} << 20;

  std::byte *guard, *bottom, *top;
};

/// The stacks of one thread of the machine.
class Stacks {
 public:
  /// `count` stacks of at least `bytes` each. Errors: launch_shape, if the system has no room for them.
  static Result<Stacks> make(int count, std::size_t bytes);
  /// How many threads of the machine may have `count` stacks each: a stack and its guard are two of the mappings
  /// that a process may have (vm.max_map_count), of which a quarter is left to others. At least 1.
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

/// Where signals of this thread of the machine are handled: a stack that has overflowed has no room for it.
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
