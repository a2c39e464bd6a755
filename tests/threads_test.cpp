// SPDX-License-Identifier: Apache-2.0
// How threads share work: each piece once, whoever helps, and nobody waits for one who has not begun.
#include "threads.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace warpbit {
namespace {

// How often each piece is done.
std::vector<int> times(int threads, std::uint64_t pieces) {
  std::vector<std::atomic<int>> done(pieces);
  for_each_piece(threads, pieces, [&](std::uint64_t i) { ++done[i]; });
  return {done.begin(), done.end()};
}

// Whether all that the latch expects arrive before long.
bool meet(std::latch& latch) {
  latch.count_down();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!latch.try_wait() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return latch.try_wait();
}

TEST_CASE("each piece is done once, by more threads than there are processors, too", "[threads]") {
  for (const int threads : {1, 2, 3, 40})
    for (const std::uint64_t pieces : {0, 1, 2, 39, 1000}) {
      INFO(threads << " threads, " << pieces << " pieces");
      CHECK(times(threads, pieces) == std::vector<int>(pieces, 1));
    }
}

TEST_CASE("several threads share work at the same time, each its own", "[threads]") {
  std::vector<std::vector<int>> done(4);
  std::vector<std::jthread> threads;
  for (std::vector<int>& one : done) threads.emplace_back([&one] { one = times(3, 500); });
  threads.clear();
  CHECK(done == std::vector(4, std::vector<int>(500, 1)));
}

TEST_CASE("as many threads as are asked for do work, and no more", "[threads]") {
  std::latch all(3);
  std::atomic<int> met = 0, inside = 0, most = 0, counted = 0;
  for_each_piece(3, 3, [&](std::uint64_t) { met += meet(all); });
  CHECK(met == 3);
  // Also where pieces share theirs.
  std::vector<std::atomic<int>> done(6 * 50);
  for_each_piece(3, 6, [&](std::uint64_t i) {
    counted += thread_count(0, 100) == 3 && thread_count(2, 100) == 2;
    for_each_piece(0, 50, [&](std::uint64_t j) {
      const int now = ++inside;
      for (int before = most; now > before && !most.compare_exchange_weak(before, now);) continue;
      std::this_thread::yield();
      ++done[i * 50 + j];
      --inside;
    });
  });
  CHECK(std::vector<int>(done.begin(), done.end()) == std::vector<int>(300, 1));
  CHECK(most <= 3);
  CHECK(counted == 6);
}

// The first two meet within the one outer piece that is left: a thread that has nothing else to do is there.
TEST_CASE("who waits helps those for whom he waits", "[threads]") {
  for (const std::uint64_t longer : {0, 1}) {
    std::latch begun(2), both(2);
    std::atomic<int> met = 0;
    for_each_piece(2, 2, [&](std::uint64_t i) {
      met += meet(begun);
      if (i == longer) for_each_piece(2, 2, [&](std::uint64_t) { met += meet(both); });
    });
    CHECK(met == 4);
  }
}

TEST_CASE("nobody waits for helpers that have not begun", "[threads]") {
  // All threads of the outer work are in pieces of it until the inner work is done.
  std::latch begun(2), end(2);
  std::atomic<int> inner = 0, met = 0;
  for_each_piece(2, 2, [&](std::uint64_t) {
    met += meet(begun);
    for_each_piece(2, 10, [&](std::uint64_t) { ++inner; });
    met += meet(end);
  });
  CHECK(met == 4);
  CHECK(inner == 20);
}

TEST_CASE("the first exception ends the work and comes out", "[threads]") {
  for (const int threads : {1, 4}) {
    std::atomic<int> done = 0;
    CHECK_THROWS_AS(for_each_piece(threads, 1'000'000'000,
                                   [&](std::uint64_t i) {
                                     ++done;
                                     if (i == 5) throw std::out_of_range("five");
                                   }),
                    std::out_of_range);
    CHECK(done >= 6);
    CHECK(times(threads, 20) == std::vector<int>(20, 1));
  }
}

TEST_CASE("a Stoppable holds for all that share", "[threads]") {
  for (const int threads : {1, 4}) {
    std::atomic<bool> stop = false;
    std::atomic<int> others = 0;
    const Stoppable here(stop);
    CHECK_THROWS_AS(for_each_piece(threads, 1'000'000'000,
                                   [&](std::uint64_t i) {
                                     others += stop_flag() != &stop;
                                     if (i == 100) stop = true;
                                   }),
                    Stopped);
    CHECK(others == 0);
  }
}

TEST_CASE("a process made by fork has helpers of its own", "[threads]") {
  const std::vector<int> once(100, 1);
  REQUIRE(times(4, 100) == once);
  const pid_t child = fork();
  if (child == 0) {
    std::latch all(3);
    std::atomic<int> met = 0;
    for_each_piece(3, 3, [&](std::uint64_t) { met += meet(all); });
    _exit(met == 3 && times(4, 100) == once ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(times(4, 100) == once);
}

TEST_CASE("there are no threads to give within a parallel region", "[threads]") {
  int in_a_team = 0, for_nothing = thread_count(7, 0);
#pragma omp parallel num_threads(2)
#pragma omp single
  in_a_team = thread_count(3, 10);
  CHECK(in_a_team == 1);
  CHECK(for_nothing == 1);
  CHECK(thread_count(100'000, 1'000'000) == kMaxThreads);
  CHECK(thread_count(100, 7) == 7);
}

}  // namespace
}  // namespace warpbit
