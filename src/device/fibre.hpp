// SPDX-License-Identifier: Apache-2.0
// A stack of its own, on which one function after another runs and may be left in the middle and gone on with.
#pragma once

#include <boost/context/detail/fcontext.hpp>  // fiber unwinds what it leaves, which abandon() must not
#include <cstddef>
#include <functional>

#include "device/stacks.hpp"

namespace warpbit::device {

/// Thrown to end the function of a fibre. Whoever throws it has kept why.
struct Unwind {};

/// One thread of the machine resumes it and no other. Both sanitizers know on which stack they are.
class Fibre {
 public:
  explicit Fibre(Stack stack) : stack_(stack) {}
  Fibre(Fibre&&) = default;

  /// What the next resume() begins with; it must live until it has ended. Precondition: what ran before has
  /// ended or was abandoned; it lets no exception out.
  void begin(const std::function<void()>& function);
  /// Runs on the fibre until it suspends, its function ends or it is abandoned.
  void resume();
  /// Back to where it was resumed. Precondition: called on the fibre.
  void suspend();
  /// The same for good: no destructor of what is on its stack runs.
  [[noreturn]] void abandon();

  bool is_abandoned() const { return is_abandoned_; }
  /// Whether the function needed more than its stack, and used the guard's bytes.
  bool has_overflowed() const { return has_overflowed_; }
  /// Called when an access to `address` failed: if it lies in the guard, opens the guard the first time, so that
  /// the access can be repeated, and abandons the fibre the second time. Returns false for another address.
  bool survives(const void* address);

  /// The fibre that runs on this thread of the machine, or nullptr.
  static Fibre* running();

 private:
  // The exceptions in flight and in handlers, which the C++ runtime keeps for each thread of the machine (Itanium
  // C++ ABI, "Caught Exception Stack"): each fibre has its own.
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

/// While one exists, neither a fibre's stack overflow nor an Unwind that may not leave a function of a kernel
/// (which is noexcept, or a destructor) ends the process: SIGSEGV and std::terminate are handled here first.
class Rescue {
 public:
  Rescue();
  ~Rescue();
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;
};

}  // namespace warpbit::device
