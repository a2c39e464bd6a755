// SPDX-License-Identifier: Apache-2.0
// Launches of a module, one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "warpbit/ptx.hpp"

namespace warpbit::grid {

/// Of a module.
struct Turns {
  std::timed_mutex mutex = {};
  std::atomic<std::int64_t> process = 0;  ///< of the thread that has it; 0: nobody has
};

/// The launches in whose callbacks a thread is, the innermost first.
struct Inside {
  const Turns* launch;
  const Inside* outer;
};

/// That of one launch.
class Turn {
 public:
  /// Waits for it. Throws Stopped.
  explicit Turn(Turns& all);
  ~Turn();
  Turn(const Turn&) = delete;
  /// launch_shape of a launch that would wait for ever.
  std::optional<Error> refused(const std::string& kernel) const;
  /// The same launch, whose callbacks know that they are inside of it. It must not live longer than this and `how`.
  ptx::Launch inside(const ptx::Launch& how) const;

 private:
  Turns& all_;
  Inside here_;
  enum class State : std::uint8_t { taken, inside, forked } state_ = State::taken;
};

}  // namespace warpbit::grid
