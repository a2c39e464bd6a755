// SPDX-License-Identifier: Apache-2.0
// Which columns and which lines a table has.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "warpbit/profile.hpp"

namespace warpbit::profile {

/// The columns that have anything in these lines.
std::vector<ptx::CountColumn> columns_of(std::span<const ptx::LineCounts> lines);

/// Of more than `most` lines those with the greatest shares of any column, none with less than a hundredth of one, by their place in
/// the text. Line `kept` is among them.
std::vector<ptx::LineCounts> largest(std::span<const ptx::LineCounts> lines,
                                     std::span<const ptx::CountColumn> columns, std::size_t most, int kept);

/// The sum over lines.
ptx::Counts sum_of(std::span<const ptx::LineCounts> lines);

}  // namespace warpbit::profile
