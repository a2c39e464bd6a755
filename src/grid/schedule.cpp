// SPDX-License-Identifier: Apache-2.0
#include "grid/schedule.hpp"

#include <bit>

namespace warpbit::grid {

// A turn is at most about as long as the program.
Schedule::Schedule(std::uint64_t seed, std::size_t steps)
    : lengths_(static_cast<int>(std::bit_width(steps)) + 1), random_(seed) {}

// Short turns show what a few steps between two accesses do, long ones a warp that is far behind.
std::uint64_t Schedule::longest() {
  constexpr std::uint64_t kUnbroken = 8;
  return pick(kUnbroken) == 0 ? kUntilWait : std::uint64_t{1} << pick(static_cast<std::uint64_t>(lengths_));
}

}  // namespace warpbit::grid
