// SPDX-License-Identifier: Apache-2.0
// What a guard decides: the steps that are executed or not, up to the one where all ways meet again.
//
//        @%p1 bra SKIP;
//        fma.rn.f32 %f1, %f1, %f2, %f3;     %f1 depends on %p1 behind SKIP, and nothing else does
//     SKIP:
#pragma once

#include <optional>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

struct Decided {
  int join = 0;                ///< the step where the ways meet
  std::vector<Place> written;  ///< registers and predicates that some step on a way writes
  bool stores = false;         ///< to local memory
};

/// What the guard of a step decides, a step that is no branch being its own way. Nothing if a step on a way does more than to change
/// registers and local memory of its lanes, or if the ways meet nowhere behind it.
std::optional<Decided> decided_by(const Program& program, int step);

}  // namespace warpbit::grid
