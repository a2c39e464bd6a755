// SPDX-License-Identifier: Apache-2.0
// What one execution of a statement moves and multiplies, by its operands.
#pragma once

#include <cstdint>
#include <vector>

#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Warp;
struct Path;

/// Of a step that begins, for these lanes. Not what only its execution knows: copies in bulk, tcgen05.mma and tcgen05.cp.
ptx::Counts cost(Warp& warp, const Path& path, const Step& step, Lanes lanes);

/// Bytes of global memory that lie side by side.
struct GlobalSpan {
  std::uint64_t address, bytes;
};
/// The sectors of what one execution, or one copy, moves: `sectors` and `least_sectors` alone.
ptx::Counts sectors_of(std::vector<GlobalSpan> spans);

}  // namespace warpbit::grid
