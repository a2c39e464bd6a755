// SPDX-License-Identifier: Apache-2.0
#include "grid/records.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit::grid::steps {
void Records::explain(Fault& found, Block& of, int lane, std::int64_t first,
                      std::span<const std::byte> value) const {
  const bool of_warp = found.other && found.other->warp == found.warp && found.other->lanes.size() == 1 &&
                       found.other->at == found.at && found.address;
  if (!of_warp) return;
  const int before = found.other->lanes.front();
  if ((has_stored_ >> before & 1) == 0) return;
  const Stored& stored = stored_[static_cast<std::size_t>(before)];
  const std::int64_t end =
                         std::min(stored.first + stored.bytes, first + static_cast<std::int64_t>(value.size())),
                     both = std::max(first, stored.first);
  if (found.address->byte < stored.first || found.address->byte >= end) return;
  const auto common = [&](std::span<const std::byte> bytes, std::int64_t at) {
    return block::hex(bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - both)));
  };
  found.rule = KernelRule::lanes_store_differently;
  found.error.seen = fmt::format("lanes {} and {} store different bytes from {:#x} on: {} and {}", before, lane,
                                 both, common(of.shared(), both), common(value, both - first));
  found.error.accepted = "lanes that store to one place must store the same; the last lane's bytes stay";
}

}  // namespace warpbit::grid::steps
