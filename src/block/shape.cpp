// SPDX-License-Identifier: Apache-2.0
#include "block/shape.hpp"

#include <fmt/format.h>

namespace warpbit::block {
namespace {

// The maximum over all GPUs (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr std::uint64_t kMostThreads = 1024, kMostShared = 227 * 1024, kMostBlocks = 0x7FFF'FFFF,
                        kMostOfCluster = 16;

}  // namespace

std::string size(const Dim3& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

std::uint64_t product(const Dim3& d) {
  const std::uint64_t plane = std::uint64_t{d.x} * d.y;
  return plane > 0xFFFF'FFFF ? plane : plane * d.z;
}

std::optional<Error> check_shape(const Dim3& grid, const Dim3& block, std::uint64_t shared_bytes) {
  const auto refused = [](std::string seen, std::string accepted) {
    return Error{Errc::launch_shape, "launch", std::move(seen), std::move(accepted)};
  };
  const auto in = [](std::uint64_t n, std::uint64_t most) { return n >= 1 && n <= most; };
  if (!in(product(block), kMostThreads) || block.z > 64)
    return refused(fmt::format("a block of {} threads", size(block)), "1 to 1024 threads, z at most 64");
  if (!in(product(grid), kMostBlocks))
    return refused(fmt::format("a grid of {} blocks", size(grid)), "1 to 2147483647 blocks");
  if (shared_bytes > kMostShared)
    return refused(fmt::format("{} bytes of shared memory", shared_bytes),
                   fmt::format("at most {}", kMostShared));
  return std::nullopt;
}

device::Index3 position(std::uint64_t number, const Dim3& size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

std::optional<Error> check_cluster(const Dim3& grid, const Dim3& cluster) {
  const auto refused = [&](std::string accepted) {
    return Error{Errc::launch_shape, "launch", fmt::format("a cluster of {} blocks", size(cluster)),
                 std::move(accepted)};
  };
  const auto divides = [](unsigned n, unsigned of) { return n != 0 && of % n == 0; };
  if (!divides(cluster.x, grid.x) || !divides(cluster.y, grid.y) || !divides(cluster.z, grid.z))
    return refused(fmt::format("extents that divide the grid of {} blocks", size(grid)));
  if (product(cluster) > kMostOfCluster) return refused(fmt::format("at most {} blocks", kMostOfCluster));
  return std::nullopt;
}

}  // namespace warpbit::block
