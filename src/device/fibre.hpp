// SPDX-License-Identifier: Apache-2.0
// Separate stacks, for running functions that can be suspended and resumed.
#pragma once

#include <signal.h>  // stack_t

#include <boost/context/detail/fcontext.hpp>  // fiber unwinds what it leaves, which abandon() must not
#include <cstddef>
#include <functional>
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
  std::vector<std::byte> memory_;
  stack_t before_{};
};

/// Thrown to end a fibre's function. The thrower has recorded the reason.
struct Unwind {};

/// Only one host thread resumes it. The sanitizers are informed of every switch of stacks.
class Fibre {
 public:
  explicit Fibre(Stack stack) : stack_(stack) {}
  Fibre(Fibre&&) = default;

  /// Sets the function of the next resume(); it must live until it has ended and let no exception out.
  /// Precondition: the previous function has ended or was abandoned.
  void begin(const std::function<void()>& function);
  /// Runs on the fibre until it suspends, its function ends or it is abandoned.
  void resume();
  /// Returns to the caller of resume(). Precondition: called on the fibre.
  void suspend();
  /// The same for good: destructors of objects on its stack do not run.
  [[noreturn]] void abandon();

  bool is_abandoned() const { return is_abandoned_; }
  /// Whether the function overflowed its stack into the guard's bytes.
  bool has_overflowed() const { return has_overflowed_; }
  /// Handles a failed access to `address`. If it lies in the guard, the first call opens the guard so that
  /// the access can be repeated, and the second one abandons the fibre. Returns false for other addresses.
  bool survives(const void* address);

  /// The fibre that runs on this host thread, or nullptr.
  static Fibre* running();

 private:
  // The C++ runtime keeps exceptions in flight and in handlers per host thread (Itanium C++ ABI, "Caught
  // Exception Stack"); each fibre needs its own.
  struct Exceptions {
    void* caught;
    unsigned uncaught;

    static Exceptions exchange(const Exceptions& now);
  };
  static void enter(boost::context::detail::transfer_t from);

  Stack stack_;
  const std::function<void()>* function_ = nullptr;
  boost::context::detail::fcontext_t inside_ = nullptr, outside_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
  Exceptions exceptions_{};
  bool is_abandoned_ = false, has_overflowed_ = false;
};

/// While one exists, neither a fibre's stack overflow nor an Unwind that leaves a noexcept function or a
/// destructor of a kernel ends the process: SIGSEGV and std::terminate are handled here first.
class Rescue {
 public:
  Rescue();
  ~Rescue();
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;
};

}  // namespace warpbit::device
