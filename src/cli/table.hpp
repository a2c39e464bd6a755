// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

using Row = std::vector<std::string>;
using Table = std::vector<Row>;  // the first row and column are headings

/// One row behind the other.
Row joined(Row row, const Row& more);

/// As Markdown, and where neither a terminal nor COLUMNS says a width, a line for each row. Else in that width: as
/// print_narrow, and where the columns do not fit beside each other, some of them below the others, with the
/// first again.
void print(const Table& table, bool markdown);

/// Gives what stands in a column, without the blanks around it, its colours.
using PaintCell = std::function<std::string(std::size_t column, const std::string& text)>;
/// Prints a table that is no wider than the output: the headings' column gives way first, then the widest, and
/// their cells are broken at blanks.
void print_narrow(const Table& table, const PaintCell& paint = {});

/// By commas (RFC 4180).
void print_csv(const Table& table);
/// A list of objects, whose members are named by the first row.
void print_json(const Table& table);

}  // namespace warpbit::cli
