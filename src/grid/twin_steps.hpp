// SPDX-License-Identifier: Apache-2.0
// Whether a mistake changes anything that a kernel does on the way to the same bytes.
#pragma once

#include "grid/twin_launch.hpp"

namespace warpbit::grid {

/// Whether all statements of the first block read and write the same with a mistake and without it, but for those at the line of
/// the mistake. False, too, where that line has several, or there are too many to look at. `restore` is called in between: then memory
/// must be what it was.
bool have_same_steps(const LaunchOnce& with, const LaunchOnce& without, const ptx::Launch& how,
                     std::span<const ptx::Argument> arguments, int line, const std::function<void()>& restore);

}  // namespace warpbit::grid
