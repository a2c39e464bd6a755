// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace warpbit {
namespace {

// The threads, up to `wanted`, that can be made beside those that there are. They end before this returns.
int makeable(int wanted) {
  std::vector<std::thread> made;
  std::latch end(1);
  try {
    made.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(made.size()) < wanted) made.emplace_back([&end] { end.wait(); });
  } catch (const std::exception&) {  // a limit of processes or of memory
  }
  end.count_down();
  for (std::thread& thread : made) thread.join();
  return static_cast<int>(made.size());
}

bool g_is_forked = false;
const int g_fork_is_noticed = pthread_atfork(nullptr, nullptr, [] { g_is_forked = true; });

thread_local const std::atomic<bool>* t_stop = nullptr;

}  // namespace

const std::atomic<bool>* stop_flag() {
  return t_stop;
}
Stoppable::Stoppable(const std::atomic<bool>* stop) : before_(std::exchange(t_stop, stop)) {}
Stoppable::~Stoppable() {
  t_stop = before_;
}

int thread_count(int wanted, std::uint64_t pieces) {
  if (g_is_forked || omp_get_active_level() >= omp_get_max_active_levels()) return 1;
  const int limit = static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, kMaxThreads));
  const int count = std::clamp(wanted > 0 ? wanted : omp_get_max_threads(), 1, limit);
  // libgomp keeps the threads of each thread that shares work.
  thread_local int made = 1;
  if (count > made) {
    const int found = 1 + makeable(count - 1);
    made = found == count ? count : std::max(1, found / 2);
  }
  return std::min(count, made);
}

}  // namespace warpbit
