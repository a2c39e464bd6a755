// SPDX-License-Identifier: Apache-2.0
// A separate stack for running functions that can be suspended and resumed.
#pragma once

#include <boost/context/detail/fcontext.hpp>  // fiber unwinds what it leaves, which abandon() must not
#include <cstddef>
#include <functional>

#include "device/stacks.hpp"

namespace warpbit::device {

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
