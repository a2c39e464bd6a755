// SPDX-License-Identifier: Apache-2.0
// What PTX leaves open: results that depend on the order in which threads run, on time, or on where a GPU runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

/// Sets Step::result_is_read and Step::may_go_on in a function, each of whose registers has a slot of its own; its steps are the last ones.
void find_read_results(Program& program, const FunctionCode& function);
/// Finds the statements that leave something open, and has their steps noted.
void find_freedoms(Program& program);

/// Who has executed a statement in a launch. `add` may be called by all host threads.
class Executors {
 public:
  static constexpr std::uint64_t kNone = 0, kSeveral = ~std::uint64_t{0};
  /// `thread`: its number in the launch; kSeveral - 1 for several.
  void add(std::uint64_t thread) {
    std::uint64_t seen = who_.load(std::memory_order_relaxed);
    while (seen != kSeveral && seen != thread + 1) {
      const std::uint64_t next = seen == kNone ? thread + 1 : kSeveral;
      if (who_.compare_exchange_weak(seen, next, std::memory_order_relaxed)) return;
    }
  }
  /// kNone, kSeveral, or the number of the only thread, from 1.
  std::uint64_t who() const { return who_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> who_ = kNone;
};

/// What a launch of so many threads has left open, by line. `executors`: of each of Program::freedoms.
std::vector<ptx::OrderDependence> left_open(const Program& program, std::span<const Executors> executors,
                                            std::uint64_t threads);

}  // namespace warpbit::grid
