// SPDX-License-Identifier: Apache-2.0
// By which calls a statement is reached. Calls inside each other are a stack, and stacks have numbers: 0 is the kernel itself. A
// site is a statement in a stack, as one number:
//
//     stack 0             stack 1 (called at 5)   stack 2 (called at 9)
//     0 1 2 .. n-1        n n+1 .. 2n-1           2n ..                    of n statements
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace warpbit::grid {

/// Those of a program. Threads may use it at the same time.
class Stacks {
 public:
  /// The stack of a call in another one, at a statement. Beyond as many as sites have bits for: the stack of the caller.
  int call(int from, std::int32_t statement, std::size_t statements) {
    const std::lock_guard lock(mutex_);
    if ((callers_.size() + 2) * statements > kMostSites) return from;
    const auto [at, is_new] = numbers_.try_emplace({from, statement}, static_cast<int>(callers_.size()) + 1);
    if (is_new) callers_.emplace_back(from, statement);
    return at->second;
  }
  /// The statements of its calls, the kernel's own first.
  std::vector<std::int32_t> calls(int stack) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::int32_t> out;
    for (; stack != 0; stack = callers_[static_cast<std::size_t>(stack - 1)].first)
      out.insert(out.begin(), callers_[static_cast<std::size_t>(stack - 1)].second);
    return out;
  }

 private:
  static constexpr std::size_t kMostSites = std::size_t{1} << 23;  // GlobalAccesses has 24 bits for them

  mutable std::mutex mutex_;
  std::map<std::pair<int, std::int32_t>, int> numbers_;
  std::vector<std::pair<int, std::int32_t>>
      callers_;  // of stack i + 1: the stack and the statement of its call
};

}  // namespace warpbit::grid
