// SPDX-License-Identifier: Apache-2.0
// A stack of its own, on which one function after another runs and may be left in the middle and gone on with.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace warpbit::device {

/// One thread of the machine resumes it and no other; a function that runs on it must have ended before it
/// goes. Both sanitizers know on which stack they are.
class Fibre {
 public:
  explicit Fibre(std::size_t stack_bytes);
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  /// What the next resume() begins with. Precondition: what ran before has ended; it lets no exception out.
  void begin(const std::function<void()>& function) { function_ = &function; }
  /// Runs on the fibre until it suspends or its function ends.
  void resume();
  /// Back to where it was resumed. Precondition: called on the fibre.
  void suspend();

 private:
  struct Stack {
    void* bottom = nullptr;
    std::size_t size = 0;
    const void* outer_bottom = nullptr;
    std::size_t outer_size = 0;
  };
  class Allocator;
  boost::context::fiber run(boost::context::fiber outside);

  Stack stack_;
  const std::function<void()>* function_ = nullptr;  // nothing: the fibre is to end
  boost::context::fiber inside_, outside_;
};

}  // namespace warpbit::device
