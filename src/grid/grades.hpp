// SPDX-License-Identifier: Apache-2.0
// What a launch does where a rule is broken (warpbit/result.hpp).
#pragma once

#include "grid/block.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

/// Of all rules. Error: no_such_kernel_rule.
Result<Grades> grades_of(const ptx::Launch& how);

}  // namespace warpbit::grid
