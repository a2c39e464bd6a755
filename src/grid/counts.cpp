// SPDX-License-Identifier: Apache-2.0
// What a profile's data need and no machine does: a page, which runs no kernel, has this file, too.
#include <array>

#include "warpbit/ptx.hpp"

namespace warpbit::ptx {

std::string_view name(Awaited awaited) {
  constexpr std::array<std::string_view, 10> kNames = {"barrier",     "mbarrier", "cluster_barrier", "copies",
                                                       "bulk_copies", "products", "registers",       "columns",
                                                       "lanes",       "warpgroup"};
  return kNames[static_cast<std::size_t>(awaited)];
}

std::string_view name(ReleasedBy by) {
  constexpr std::array<std::string_view, 4> kNames = {"arrival", "copy", "product", "end"};
  return kNames[static_cast<std::size_t>(by)];
}

Counts& Counts::operator+=(const Counts& other) {
  warps += other.warps;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  least_sectors += other.least_sectors;
  conflicts += other.conflicts;
  shared_bytes += other.shared_bytes;
  local_bytes += other.local_bytes;
  constant_bytes += other.constant_bytes;
  tensor_bytes += other.tensor_bytes;
  products += other.products;
  return *this;
}

}  // namespace warpbit::ptx
