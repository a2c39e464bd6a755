// SPDX-License-Identifier: Apache-2.0
// The columns of a profile: what is counted of each line, and which lines a table has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/ptx.hpp"

namespace warpbit::profile {

/// What is counted of a line.
struct Column {
  std::string_view heading, unit;
  std::uint64_t ptx::Counts::*count;
  std::uint64_t ptx::Counts::*least = nullptr;  ///< as few of them as would do
  bool is_loss = false;                         ///< all of it is more than the least
};

/// Those that have anything in these lines.
std::vector<Column> columns_of(std::span<const ptx::LineCounts> lines);

/// "512", "512/64" of a column with a least; "-" for none.
std::string cell_text(const Column& column, const ptx::Counts& of);
/// Of the lanes that a warp has: "32", "16.5".
std::string lanes_text(const ptx::Counts& of);

/// The lines with the greatest shares of any column, by their place in the text.
std::vector<ptx::LineCounts> largest(std::span<const ptx::LineCounts> lines, std::span<const Column> columns,
                                     std::size_t most);

}  // namespace warpbit::profile
