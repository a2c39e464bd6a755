// SPDX-License-Identifier: Apache-2.0
// The tables under tests/isa/ (tests/isa/README.md). Tests run in the project's root.
#pragma once

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/target.hpp"

namespace isa_table {

/// A row: column name -> cell.
using Row = std::map<std::string, std::string, std::less<>>;

inline std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) out.push_back(cell);
  return out;
}

/// All rows of tests/isa/<name>.tsv.
inline std::vector<Row> read(const std::string& name) {
  std::ifstream in("tests/isa/" + name + ".tsv");
  std::string line;
  REQUIRE(std::getline(in, line));
  const std::vector<std::string> head = cells(line);
  std::vector<Row> out;
  while (std::getline(in, line)) {
    std::vector<std::string> row = cells(line);
    REQUIRE(row.size() <= head.size());
    row.resize(head.size());  // empty cells at the end
    Row& named = out.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) named[head[i]] = row[i];
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

/// The columns of instructions.tsv that are targets.
inline std::vector<warpbit::Target> target_columns(const Row& row) {
  std::vector<warpbit::Target> out;
  for (const auto& [column, cell] : row) {
    if (!column.starts_with("sm_")) continue;
    const auto target = warpbit::Target::find(column);
    REQUIRE(target.ok());
    out.push_back(*target);
  }
  return out;
}

inline bool is_undocumented(const Row& row) {
  return row.at("note").starts_with("undocumented");
}

/// The declared type of a register of spellings.tsv, by its letter.
inline std::optional<std::string> type_of(std::string_view name) {
  static const std::map<char, std::string> kTypes = {{'u', "u32"},   {'s', "s32"}, {'r', "b32"}, {'f', "f32"},
                                                     {'h', "f16x2"}, {'d', "f64"}, {'q', "b64"}, {'v', "u64"},
                                                     {'w', "s64"},   {'c', "b16"}};
  if (name.size() < 2 || name[0] != '%' || !kTypes.contains(name[1])) return std::nullopt;
  return kTypes.at(name[1]);
}

}  // namespace isa_table
