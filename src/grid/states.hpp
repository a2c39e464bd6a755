// SPDX-License-Identifier: Apache-2.0
// Which arrivals at barrier objects have left the state that a test takes, as far as the registers of a function say it:
//
//        mbarrier.arrive.shared.b64 %rd1, [bar];     one of %rd1
//     L: mbarrier.try_wait.shared.b64 %p1, [bar], %rd1;
//     @!%p1 bra L;
//        mov.b64 %rd2, %rd1;                         and of %rd2, unless something else writes to one of them
#pragma once

#include "grid/program.hpp"

namespace warpbit::grid {

/// Sets MbarrierOperation::states in a function, each of whose registers has a slot of its own; its steps are the last ones.
void find_states(Program& program, const FunctionCode& function);

}  // namespace warpbit::grid
