// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

using Table = std::vector<std::vector<std::string>>;  // rows of cells, the first row and column are headings

/// As Markdown, and where neither a terminal nor COLUMNS says a width, a line for each row. Else in that width: as
/// print_within, and where the columns do not fit beside each other, some of them below the others, with the
/// first again.
void print(const Table& table, bool markdown);

/// Prints a table that is no wider than `columns`: the headings' column gives way first, then the widest, and
/// their cells are broken at blanks. `paint` may colour what stands in a column, which it is given without the
/// blanks around it.
void print_within(const Table& table, std::size_t columns,
                  const std::function<std::string(std::size_t column, const std::string& text)>& paint);

/// By commas (RFC 4180).
void print_csv(const Table& table);
/// A list of objects, whose members are named by the first row.
void print_json(const Table& table);

}  // namespace warpbit::cli
