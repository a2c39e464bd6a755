// SPDX-License-Identifier: Apache-2.0
#include "grid/turn.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "threads.hpp"

namespace warpbit::grid {
namespace {

thread_local const Inside* t_inside = nullptr;

struct Entered {
  explicit Entered(const Inside& here) : before(std::exchange(t_inside, &here)) {}
  ~Entered() { t_inside = before; }
  Entered(const Entered&) = delete;
  const Inside* before;
};

}  // namespace

Turn::Turn(Turns& all) : all_(all), here_{&all, t_inside} {
  for (const Inside* one = t_inside; one != nullptr; one = one->outer)
    if (one->launch == &all) state_ = State::inside;
  while (state_ == State::taken && !all.mutex.try_lock_for(std::chrono::milliseconds(20))) {
    end_if(stop_flag());
    const std::int64_t process = all.process;
    if (process != 0 && process != getpid()) state_ = State::forked;
  }
  if (state_ == State::taken) all.process = getpid();
}

Turn::~Turn() {
  if (state_ != State::taken) return;
  all_.process = 0;
  all_.mutex.unlock();
}

std::optional<Error> Turn::refused(const std::string& kernel) const {
  if (state_ == State::taken) return {};
  const bool is_inside = state_ == State::inside;
  return Error{Errc::launch_shape, kernel,
               is_inside ? "a launch inside of another one of its module"
                         : "a launch of a module that was being launched when this process was forked",
               is_inside ? "one after the other" : "a module that this process loads"};
}

ptx::Launch Turn::inside(const ptx::Launch& how) const {
  ptx::Launch out = how;
  if (how.observe)
    out.observe = [this, &how](const ptx::Observation& seen) {
      const Entered entered(here_);
      return how.observe(seen);
    };
  if (how.progress)
    out.progress = [this, &how](std::uint64_t done, std::uint64_t blocks) {
      const Entered entered(here_);
      how.progress(done, blocks);
    };
  return out;
}

}  // namespace warpbit::grid
