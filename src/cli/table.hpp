// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace warpbit::cli {

using Table = std::vector<std::vector<std::string>>;  // rows of cells, the first row and column are headings

void print(const Table& table, bool markdown);

}  // namespace warpbit::cli
