// SPDX-License-Identifier: Apache-2.0
// What one execution of a statement moves and multiplies, by its operands.
#pragma once

#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Warp;
struct Path;

/// Of a step that begins, for these lanes. What only its execution knows is not counted: copies in bulk, tcgen05.mma.
ptx::Counts cost(Warp& warp, const Path& path, const Step& step, Lanes lanes);

}  // namespace warpbit::grid
