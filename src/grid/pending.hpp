// SPDX-License-Identifier: Apache-2.0
// What a block leaves on its way when it ends.
#pragma once

#include <vector>

#include "grid/block.hpp"

namespace warpbit::grid {

/// A fault of each copy, product and arrival at barrier.cluster that has not been waited for. `products`: nullptr if there are
/// none. `last`: the thread that ended last.
std::vector<Fault> pending_at_end(const async::Block& block, const Products* products, block::Who last);

}  // namespace warpbit::grid
