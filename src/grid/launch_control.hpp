// SPDX-License-Identifier: Apache-2.0
// What the response to a request for a cluster says (PTX manual, "clusterlaunchcontrol"). It is opaque there. This is what
// ptxas 13.0 makes of clusterlaunchcontrol.query_cancel for sm_100a, sm_103a and sm_120a, which have no instruction for it; all
// other bits are inferred to be 0, and those of a failure.
//
//     word    0            1                          2             3
//             first.x      first.y    first.z         success
//             31 ... 0     15 ... 0   31 ... 16       0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "grid/block.hpp"

namespace warpbit::grid {

using Response = std::array<std::byte, 16>;

/// `first`: the index of the first block of the cluster that was taken; nothing: the request has failed.
Response response_to(const std::optional<Extent>& first);

}  // namespace warpbit::grid
