// SPDX-License-Identifier: Apache-2.0
// Which bits of a result depend on undefined bits of the sources: of one scalar instruction, in one lane.
#pragma once

#include <array>

#include "scalar/operation.hpp"

namespace warpbit::grid {

/// `undefined`: of each source the bits that are undefined; so are those of the results. `same`: the first source
/// that is the same register, by source. Never fewer than depend on them; exactly those of bitwise operations and of such as move
/// bits by a defined amount.
scalar::Results undefined_bits(const scalar::Operation& operation, const scalar::Sources& value,
                               const scalar::Sources& undefined, const std::array<int, 4>& same);

}  // namespace warpbit::grid
