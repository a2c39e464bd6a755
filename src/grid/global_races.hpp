// SPDX-License-Identifier: Apache-2.0
// What is told of conflicts in global memory.
#pragma once

#include "async/global_copies.hpp"
#include "grid/block.hpp"

namespace warpbit::grid {

/// What is told of lanes that store different values to one place by one instruction; which one stays, of global memory (that
/// of shared memory: store_order).
constexpr const char *kWhichStays = "which one stays is not defined, here the highest lane's",
                     *kOneLaneStores = "one lane must store, or all must store the same value";

/// The fault of the second access, whose warps are numbered in the cluster of both.
Fault fault_within(const Grid& grid, const block::Cluster& cluster, const GlobalConflict& found);
/// The fault of an access by `who` to bytes of a copy that has not been waited for.
Fault fault_of_copy(const Grid& grid, const async::GlobalCopies::Conflict& found, block::Who who, bool writes);
/// The fault of a copy in bulk that reads what its cluster has written through the generic proxy.
Fault fault_unfenced(const Grid& grid, const block::Cluster& cluster, const GlobalConflict& found);
/// That of accesses of different clusters, with its places in the kernel.
Fault fault_between(const Grid& grid, const GlobalConflict& found);

/// A side by a thread of another cluster, by its number there.
void place_elsewhere(const Grid& grid, std::uint64_t cluster, int thread, FaultSide& side);
/// The index of the first block of a cluster.
Extent first_block(const Grid& grid, std::uint64_t cluster);

}  // namespace warpbit::grid
