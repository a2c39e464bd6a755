// SPDX-License-Identifier: Apache-2.0
#include "grid/records.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/type.hpp"

namespace warpbit::grid::steps {

std::string_view Records::type() const {
  const Origin& origin = warp_.program().origins[static_cast<std::size_t>(step_.statement)];
  std::string_view out;
  for (const std::string_view word : words_of(*origin.function, statement_of(origin)))
    if (const auto type = ptx::find_type(word)) out = ptx::row(*type).name;
  return out;
}

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
    return bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(end - both));
  };
  const std::span<const std::byte> one = common(of.shared(), both), other = common(value, both - first);
  found.rule = KernelRule::lanes_store_differently;
  found.error.seen =
      fmt::format("lanes {} and {} store different bytes from {:#x} on: {} and {}{}", before, lane, both,
                  block::hex(one), block::hex(other), block::apart(one, other, type()));
  found.error.accepted = "lanes that store to one place must store the same; the last lane's bytes stay";
}

}  // namespace warpbit::grid::steps
