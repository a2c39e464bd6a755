// SPDX-License-Identifier: Apache-2.0
// Work that several threads share.
//
//     caller    share |-- part --|-- part --|-- part --| share returns
//     helper          . woken ...|-- part --|-- part -|  asleep
//     helper          . woken, but finds no processor in time: never begins, and nobody waits for it
//
// Helpers are threads of this library. They are made when they are first wanted, and sleep in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // the other two libraries share work, too
namespace warpbit {

/// The most threads that ever share some work.
inline constexpr int kMaxThreads = 1024;

/// How many threads may share some work of so many pieces: `wanted`, or OpenMP's number where it is 0; at most
/// kMaxThreads, and one for each piece. 1 inside a parallel region of OpenMP whose threads may not share their work
/// again; within work that is shared, no more than share that. Never less than 1.
int thread_count(int wanted, std::uint64_t pieces);

/// Calls work(0), and up to threads - 1 helpers call work(1), work(2), ... at the same time, each of which begins when
/// the system gives it a processor; those that have not begun when a call has returned never do. Waits, asleep, for
/// those that have. So each call takes parts of the work, small ones, until there are none that nobody has begun.
///
/// Helpers have the caller's Stoppable. Of the exceptions that calls let out, the first comes out of here. Where the
/// system makes no more threads, fewer help. Work may share its own work; helpers that have ended theirs help there.
/// After fork, the child has helpers of its own.
void share(int threads, const std::function<void(int)>& work);

/// What the Stoppable of this thread waits for (warpbit/result.hpp), or null.
const std::atomic<bool>* stop_flag();
inline void end_if(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Stopped();
}

/// Calls work(i) once for each i < pieces, on thread_count() threads, to which the caller's Stoppable applies. An
/// exception that `work` lets out ends it, and comes out of here.
template <class Work>
void for_each_piece(int wanted, std::uint64_t pieces, const Work& work) {
  std::atomic<std::uint64_t> next = 0;
  const std::atomic<bool>* const stop = stop_flag();
  const auto take = [&](int) {
    try {
      for (std::uint64_t i = next++; i < pieces; i = next++) {
        end_if(stop);
        work(i);
      }
    } catch (...) {
      next = pieces;
      throw;
    }
  };
  share(thread_count(wanted, pieces), std::cref(take));
}

}  // namespace warpbit
#pragma GCC visibility pop
