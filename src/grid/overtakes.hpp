// SPDX-License-Identifier: Apache-2.0
// Loads that come before a store of their own thread that stands before them. PTX lets a strong load do so (PTX manual,
// "Causality Order"): a release, an acquire and a fence.acq_rel order nothing between the two, a fence.sc alone does. So two
// threads may each store a flag, and each find the other's flag not set:
//
//     thread 0:  st.relaxed [x], 1        thread 1:  st.relaxed [y], 1
//                ld.relaxed r0, [y]                  ld.relaxed r1, [x]        r0 = r1 = 0
//
// A launch with a schedule (schedule.hpp) does that to some of them: the load and what is between, and in the warp's next turn
// the stores and fences.
#pragma once

#include "grid/program.hpp"

namespace warpbit::grid {

/// Sets Access::may_be_late of the strong stores of a function that a later strong load may overtake, and their target: the last
/// such load. All steps between are on one straight way, the accesses are to global memory and reach other blocks, and what
/// comes first writes no register that a late step reads. Each register has a slot of its own.
void find_overtakes(Program& program, const FunctionCode& function);

/// Of the steps from such a store up to its load: whether it comes late. The others compute registers, or are strong loads.
bool is_late(const Program& program, const Step& step);

}  // namespace warpbit::grid
