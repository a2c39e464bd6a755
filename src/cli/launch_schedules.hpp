// SPDX-License-Identifier: Apache-2.0
// A launch again in other orders of its threads (ptx::Launch::schedule), where nothing was found in the usual one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/launch_setup.hpp"

namespace warpbit::cli {

class OtherSchedules {
 public:
  /// Tries as many as are asked for, up to the first with a fault or a finding; unless asked as many as take little time, where
  /// the order of the threads decides on anything. `usual`: what was launched, with its arrays as it has left them; `report`:
  /// what that has told. None is tried behind a fault or a finding, or of a launch that names its schedule.
  OtherSchedules(std::optional<std::uint64_t> asked, const LaunchSetup& setup, const LoadedLaunch& usual,
                 const ptx::Report& report);

  /// What the first with a fault or a finding has told; nullptr: there was none.
  const ptx::Report* found() const { return found_ ? &*found_ : nullptr; }
  /// A line of what was tried, if anything was.
  void print() const;
  nlohmann::ordered_json json() const;

 private:
  /// A schedule that has left other bytes than the usual one.
  struct Other {
    std::uint64_t schedule;
    std::size_t array;  ///< among those of the arguments
    std::size_t byte;   ///< the first
  };

  std::uint64_t tried_ = 0;
  std::vector<Other> others_;
  std::optional<ptx::Report> found_;
};

}  // namespace warpbit::cli
