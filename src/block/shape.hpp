// SPDX-License-Identifier: Apache-2.0
// Which grids and blocks a GPU can launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "warpbit/fault.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// The number of threads or blocks, or any number above 2^32 if it exceeds that.
std::uint64_t product(const Dim3& d);
/// x, y and z of a number, x fastest (PTX manual, "%tid", "%cluster_ctarank").
device::Index3 position(std::uint64_t number, const Dim3& size);
/// "4 x 2 x 1".
std::string size(const Dim3& d);
/// launch_shape, if no GPU can launch this.
std::optional<Error> check_shape(const Dim3& grid, const Dim3& block, std::uint64_t shared_bytes);
/// The same for a cluster of a grid (PTX manual, "Cluster Dimension Directives").
std::optional<Error> check_cluster(const Dim3& grid, const Dim3& cluster);

}  // namespace warpbit::block
#pragma GCC visibility pop
