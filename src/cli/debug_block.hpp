// SPDX-License-Identifier: Apache-2.0
// What a block has at a place, as tables: the first row is headings.
#pragma once

#include <span>
#include <string_view>

#include "cli/terminal.hpp"
#include "warpbit/block_state.hpp"

namespace warpbit::cli {

/// A table of a block's state, by the name of its command and scope.
struct BlockTable {
  std::string_view name;  ///< "mbarriers"
  std::string_view none;  ///< what is said if it has no rows
  Table (*make)(const ptx::BlockState& of);
};
std::span<const BlockTable> block_tables();

/// "warp 2", or "warp 2, lanes 0-3".
std::string who_text(int warp, std::uint32_t lanes);

/// Words of tensor memory as a matrix of a type, which takes a part of a word if it is small. Of a word that nothing has written
/// there is a dot. Precondition: they exist.
struct TensorWords {
  std::size_t lane = 0, column = 0, lanes = 8, columns = 8;
};
Table tensor_table(const ptx::TensorMemoryState& of, const TensorWords& words, std::string_view type);

}  // namespace warpbit::cli
