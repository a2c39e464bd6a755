// SPDX-License-Identifier: Apache-2.0
// What people take for PTX: source and compiled code.
#pragma once

#include <optional>
#include <string_view>

#include "warpbit/result.hpp"

namespace warpbit::ptx {

/// What a file is that is no PTX, and how PTX is made of it; nothing if it may be PTX.
std::optional<Error> not_ptx(std::string_view content);

}  // namespace warpbit::ptx
