// SPDX-License-Identifier: Apache-2.0
// Which memory a statement accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grid/warp.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

enum class AccessedSpace : std::uint8_t { global, shared, local, constant };

/// The addresses of a step's access to memory, one for each of these lanes, and the bytes from each; none for other steps. Rows of
/// matrices have 16 bytes (PTX manual, "ldmatrix", "stmatrix").
struct Accessed {
  std::vector<std::uint64_t> addresses = {};
  int bytes = 0;
  AccessedSpace space = AccessedSpace::global;
  Lanes lanes = 0;
  bool reads = false, writes = false;  ///< an atomic does both
};
Accessed accessed(Warp& warp, const Path& path, const Step& step, Lanes lanes);

/// What a step that begins is about to access, for these lanes.
std::vector<ptx::MemoryAccess> accesses_of(Warp& warp, const Path& path, const Step& step, Lanes lanes);
/// What copies access that a step of the block has begun: those of its cluster behind the first `known`.
void add_begun(Block& block, std::size_t known, std::vector<ptx::MemoryAccess>& to);
/// What an instruction of tensor memory has touched in the block's own memories that these lanes have executed.
void add_touched(Block& block, Lanes lanes, ptx::Observation& to);

}  // namespace warpbit::grid
