// SPDX-License-Identifier: Apache-2.0
// Kinds of random kernels: lists of groups of rows.
#pragma once

#include <span>

#include "verify/cases/random/rows/conversions.hpp"
#include "verify/cases/random/rows/floats.hpp"
#include "verify/cases/random/rows/halves.hpp"
#include "verify/cases/random/rows/integers.hpp"
#include "verify/cases/random/rows/memory.hpp"

#undef COMPARE
#undef ROUND
#undef ROUND_INT

namespace random_kernels {

struct Group {
  int percent;
  std::span<const Row> rows;
};

enum class Ftz { never, always, either };

struct Kind {
  std::string_view name;
  std::string_view inputs;   ///< classes of the eight words of a thread, in order; a double has two
  std::string_view carried;  ///< classes that loops and branches hand on
  Ftz ftz;
  int literals;  ///< percent of the sources that may be one
  Group groups[6];
};

inline constexpr Kind kKinds[] = {
    {"plain", "ffffffff", "f", Ftz::never, 12, {{55, kArithmetic}, {45, kDense}}},
    {"ftz", "ffffffff", "f", Ftz::always, 12, {{55, kArithmetic}, {45, kDense}}},
    {"literals", "ffffffff", "f", Ftz::never, 50, {{65, kArithmetic}, {35, kDense}}},
    {"guards", "ffffffff", "f", Ftz::either, 12, {{35, kArithmetic}, {30, kDense}, {35, kGuards}}},
    {"branches",
     "ffffffff",
     "f",
     Ftz::either,
     12,
     {{45, kArithmetic}, {33, kDense}, {12, kGuards}, {10, kBranches}}},
    {"loops", "ffffffff", "f", Ftz::either, 12, {{50, kArithmetic}, {38, kDense}, {12, kLoops}}},
    {"divisions", "ffffffff", "f", Ftz::either, 15, {{40, kArithmetic}, {30, kDense}, {30, kDivisions}}},
    {"functions", "ffffffff", "f", Ftz::either, 12, {{35, kArithmetic}, {25, kDense}, {40, kFunctions}}},
    {"doubles", "dddd", "d", Ftz::never, 15, {{85, kDoubles}, {15, kDoubleFunctions}}},
    {"integers", "rrrrrrrr", "rl", Ftz::never, 25, {{100, kIntegers}}},
    {"halves", "xxxxxhhh", "xh", Ftz::either, 12, {{85, kHalves}, {15, kHalvesToWide}}},
    {"bhalves", "yyyyybbb", "yb", Ftz::never, 12, {{85, kBhalves}, {15, kBhalvesToWide}}},
    {"packing", "rrrrrsss", "rs", Ftz::never, 20, {{100, kPacking}}},
    {"conversions", "ffrrhbd", "f", Ftz::either, 15, {{100, kConversions}}},
    {"memory",
     "ffffffrr",
     "f",
     Ftz::either,
     12,
     {{30, kArithmetic}, {25, kDense}, {30, kMemory}, {15, kMemoryExtra}}},
    {"mixed",
     "ffffffff",
     "fr",
     Ftz::either,
     15,
     {{45, kArithmetic}, {20, kDense}, {12, kFunctions}, {10, kDivisions}, {8, kGuards}, {5, kLoops}}},
    {"mixed_types",
     "ffffrrd",
     "frd",
     Ftz::either,
     15,
     {{25, kArithmetic}, {25, kBridges}, {15, kIntegers}, {15, kDoubles}, {10, kMemory}, {10, kBranches}}},
    {"special",
     "ffffrrd",
     "fr",
     Ftz::either,
     15,
     {{30, kArithmetic}, {15, kDense}, {15, kFunctions}, {15, kDivisions}, {20, kConversions}, {5, kByZero}}},
};

}  // namespace random_kernels
