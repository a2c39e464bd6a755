// SPDX-License-Identifier: Apache-2.0
// Remarks as processes tell them to one another.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "warpbit/review.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::review {

nlohmann::json json_of(const Remark& one);
/// Nothing if it is no such object.
std::optional<Remark> remark_of(const nlohmann::json& from);

}  // namespace warpbit::review
#pragma GCC visibility pop
