// SPDX-License-Identifier: Apache-2.0
// Work that several threads share.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "warpbit/stop.hpp"

#pragma GCC visibility push(default)  // the other two libraries share work, too
namespace warpbit {

/// The most threads that are ever asked for. libgomp ends the process if it cannot make those that it is asked for.
inline constexpr int kMaxThreads = 1024;

/// The number for `num_threads` of a parallel region with `pieces` pieces of work: `wanted`, or OpenMP's number where
/// it is 0; at most kMaxThreads, and one for each piece. Where the process cannot make that many now, half of those
/// that it can: the others need memory, too. 1 inside a parallel region whose threads may not share their work again,
/// and in a process made by fork, where libgomp waits for threads that the parent has. Never less than 1.
int thread_count(int wanted, std::uint64_t pieces);

/// What the Stoppable of this thread waits for (warpbit/stop.hpp), or null.
const std::atomic<bool>* stop_flag();
inline void end_if(const std::atomic<bool>* stop) {
  if (stop != nullptr && *stop) throw Stopped();
}

/// Calls work(i) once for each i < pieces, on thread_count() threads, to which the caller's Stoppable applies. An
/// exception that `work` lets out ends it, and comes out of here.
template <class Work>
void for_each_piece(int wanted, std::uint64_t pieces, const Work& work) {
  const int threads = thread_count(wanted, pieces);
  const std::atomic<bool>* const stop = stop_flag();
  if (threads == 1) {  // a parallel region of one thread costs more than a small instruction
    for (std::uint64_t i = 0; i < pieces; ++i) {
      end_if(stop);
      work(i);
    }
    return;
  }
  std::atomic<bool> failed = false;
  std::exception_ptr exception;
  const auto piece = [&](std::uint64_t i) {
    if (failed) return;
    const Stoppable here(stop);
    try {
      end_if(stop);
      work(i);
    } catch (...) {
      if (!failed.exchange(true)) exception = std::current_exception();
    }
  };
  if (pieces == static_cast<std::uint64_t>(threads)) {  // one each: nothing to hand out
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::uint64_t i = 0; i < pieces; ++i) piece(i);
  } else {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::uint64_t i = 0; i < pieces; ++i) piece(i);
  }
  if (exception) std::rethrow_exception(exception);
}

}  // namespace warpbit
#pragma GCC visibility pop
