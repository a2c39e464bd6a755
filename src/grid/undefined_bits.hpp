// SPDX-License-Identifier: Apache-2.0
// Which bits of a result depend on undefined bits of the sources: of one scalar instruction, in one lane.
#pragma once

#include <array>

#include "scalar/operation.hpp"

namespace warpbit::grid {

/// What is undefined in the sources of an instruction. A register is a known number plus an unknown one, modulo its width:
/// those of one unknown differ by a known number. So an exclusive scan that is the inclusive one less the own element has a
/// value in the first lane whose element has none.
struct UndefinedSources {
  scalar::Sources bits;
  std::array<std::uint64_t, 4> unknown = {};  ///< its number; of a source without undefined bits 0
  std::array<int, 4> same = {};               ///< the first source that is the same register
};
struct UndefinedResults {
  scalar::Results bits;
  std::uint64_t unknown = 0;  ///< of the first result; 0: one that no register has yet
};

/// Never fewer bits than depend on undefined ones; exactly those of bitwise operations and of such as move bits by a defined amount.
UndefinedResults undefined_bits(const scalar::Operation& operation, const scalar::Sources& value,
                                const UndefinedSources& undefined);

}  // namespace warpbit::grid
