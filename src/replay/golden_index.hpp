// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace warpbit {

/// The lines of golden/index.tsv, its heading first.
std::span<const std::string_view> golden_index();

}  // namespace warpbit
