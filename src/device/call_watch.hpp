// SPDX-License-Identifier: Apache-2.0
// What a launch calls and which global memory it accesses, where a test is watched (test_process.hpp).
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test_process.hpp"
#include "warpbit/detail/block.hpp"

namespace warpbit::device {

/// A place of the source that calls something.
struct CallSite {
  std::string file;
  unsigned line = 0;
  std::string call;

  friend auto operator<=>(const CallSite&, const CallSite&) = default;
};

/// Global memory that one host thread accesses. Whoever writes says so before.
class GlobalAccesses {
 public:
  void reads(const std::byte* from, std::size_t bytes);
  void writes(const std::byte* to, std::size_t bytes);
  /// What was read, in order; no byte twice.
  std::vector<std::span<std::byte>> read() const;
  /// The same for two launches that leave the same bytes behind, by address; bytes that are as they were do not count.
  std::uint64_t changes() const;

 private:
  std::map<std::uintptr_t, std::uintptr_t> reads_;           // from, to
  std::map<std::uintptr_t, std::vector<std::byte>> before_;  // what was there; no two overlap
};

/// Of one launch.
class CallWatch {
 public:
  /// All calls are of interest, or the one that has a mistake, which outlives this. `first`: when it is executed first.
  CallWatch() = default;
  explicit CallWatch(const PlantedCall& planted, std::function<void()> first = {})
      : planted_(&planted), first_(std::move(first)) {}

  /// Whether a call on that line is of interest.
  bool looks_at(unsigned line) const { return planted_ == nullptr || planted_->line == line; }
  /// The thread's call; what is planted there, or nullptr.
  const PlantedCall* at(std::string_view call, Place place);
  /// How often the planted call was executed.
  std::uint64_t executed() const { return executed_; }
  const std::set<CallSite>& sites() const { return sites_; }

  /// Of a launch that is compared, which has one host thread; else nullptr.
  GlobalAccesses* accesses = nullptr;

 private:
  const PlantedCall* planted_ = nullptr;
  std::function<void()> first_;
  std::atomic<std::uint64_t> executed_ = 0;
  std::mutex mutex_;  // guards the next
  std::set<CallSite> sites_;
};

}  // namespace warpbit::device
