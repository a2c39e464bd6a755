// SPDX-License-Identifier: Apache-2.0
// Tiles of scaled groups (GroupProgram in body.hpp).
#pragma once

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// What the bodies execute for such a tile with a dense A, but for where the scale factors lie; null for any other
/// tile.
const GroupProgram* group_program(const Tile& tile);

}  // namespace warpbit
