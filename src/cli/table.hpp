// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace warpbit::cli {

using Table = std::vector<std::vector<std::string>>;  // rows of cells, the first row and column are headings

void print(const Table& table, bool markdown);

/// By commas (RFC 4180).
void print_csv(const Table& table);
/// A list of objects, whose members are named by the first row.
void print_json(const Table& table);

}  // namespace warpbit::cli
