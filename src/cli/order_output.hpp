// SPDX-License-Identifier: Apache-2.0
// What warpbit order prints, and a share of its search as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "warpbit/find_order.hpp"

namespace warpbit::cli {

/// What the kernels' names say; nothing without --kernel.
using NamedOrder = std::optional<KernelOrder>;

/// The orders that explain D, or the nearest.
void print_search(const OrderSearch& search, const NamedOrder& named, bool as_json);

/// A share of a search, which others are added to, and from JSON again. Throw what nlohmann's library throws, or a Refusal.
nlohmann::ordered_json part_json(const OrderSearch& search);
OrderSearch search_of(const nlohmann::ordered_json& part);
nlohmann::ordered_json named_json(const NamedOrder& named);
NamedOrder named_of(const nlohmann::ordered_json& part);

}  // namespace warpbit::cli
