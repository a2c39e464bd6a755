// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpbit/record.hpp"

namespace warpbit {

/// Writes what `m`, one of the fills of `member`, says of the cases [first, first + cases) into the array of
/// the member, as inputs::word does for each register.
void fill_inputs(const CaptureMember& member, const inputs::Member& m, inputs::Key key, inputs::Profile profile,
                 std::uint64_t first, std::uint64_t cases, std::byte* array);

}  // namespace warpbit
