// SPDX-License-Identifier: Apache-2.0
// Block formats in `warpbit format`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {

/// The block format of a name; none if it is a format of another kind, or none at all.
std::optional<BlockFormat> block_format_of(const std::string& name);
/// All of them, a row each.
Table block_format_table();
/// What the format is, or with numbers, given as text, what they become. Prints JSON if that is asked for. The exit status.
int print_block_format(const BlockFormat& format, const std::vector<std::string>& numbers, bool json);

/// "fp8: e4m3 is meant; e5m2 is the other"; empty for a name of one format.
std::string shared_name_note(const std::string& name);

}  // namespace warpbit::cli
