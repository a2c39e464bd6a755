// SPDX-License-Identifier: Apache-2.0
// Registers whose values are not needed at the same time lie in one slot: a kernel has as many slots as registers that are
// live at once, however many it declares.
//
//     step      0      1      2      3
//     point    0 1    2 3    4 5    6 7     point 2 i lies before step i, 2 i + 1 behind it
//     %r1        |____|                     written by step 0, read last by step 1
//     %r2              |___________|        written by step 1: where %r1 was
#pragma once

#include "grid/program.hpp"

namespace warpbit::grid {

/// Gives the registers of a function their slots; before, each has its own. `first_list`: of Program::places, the first
/// that is the function's; its steps and its lists are the last ones. Registers share a slot if they have as many bits, and no
/// point lies in the ranges of both. A range reaches over all points at which some way leads from there to a read without
/// a write between: what is read before it is written lives from the beginning on. So each read finds what it would find if
/// nothing were shared, of a value that was never written too.
/// Registers that no step has lose theirs. Without `shares`, no two registers share a slot.
void share_slots(Program& program, FunctionCode& code, std::size_t first_list, bool shares);

}  // namespace warpbit::grid
