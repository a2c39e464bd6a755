// SPDX-License-Identifier: Apache-2.0
// What a thread does when a test of an mbarrier answers false.
#pragma once

#include "grid/program.hpp"

namespace warpbit::grid {

/// Whether a thread may come from a test to an access of what others share, though that test and those behind it answer false.
/// Precondition: each register has a slot of its own; branches go to steps.
bool goes_on_when_false(const Program& program, int test);

}  // namespace warpbit::grid
