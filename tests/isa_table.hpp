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

/// True for the forms of mma.sp whose selector the assembler takes from 0 to 3 and the manual from 0 to 1
/// ("Matrix Fragments for sparse mma.m16n8k32 with .f16 and .bf16 types"). The library follows the manual.
inline bool has_lenient_selector(const Row& row) {
  return row.at("family") == "mma.sp" && row.at("instruction").ends_with(".m16n8k32.row.col.f32.f16.f16.f32");
}

/// A value or a range of selectors.tsv, "-2..17", and all of them in a cell, "0..3,7".
inline std::vector<int> integers(const std::string& cell) {
  std::vector<int> out;
  std::istringstream in(cell);
  for (std::string range; std::getline(in, range, ',');) {
    const std::size_t dots = range.find("..");
    const int first = std::stoi(range), last = dots == range.npos ? first : std::stoi(range.substr(dots + 2));
    for (int i = first; i <= last; ++i) out.push_back(i);
  }
  return out;
}

/// The targets of a row of selectors.tsv.
inline std::vector<warpbit::Target> targets(const Row& row) {
  std::vector<warpbit::Target> out;
  std::istringstream in(row.at("targets"));
  for (std::string name; std::getline(in, name, ' ');) {
    const auto target = warpbit::Target::find(name);
    REQUIRE(target.ok());
    out.push_back(*target);
  }
  return out;
}

/// The operands of a row of selectors.tsv with a value, or a register type, in place of its immediate.
inline std::string with_immediate(const Row& row, const std::string& value) {
  std::string out = row.at("operands");
  const std::string open = row.at("parameter") + ":imm";
  const std::size_t at = out.find(open);
  REQUIRE(at != out.npos);
  return out.replace(at, open.size(), row.at("parameter") + ":" + value);
}

/// False if the assembler's check takes the spelling and it crashes on the way to code.
inline bool is_usable(const Row& variant) {
  return !variant.at("code generation").starts_with("ptxas crashed");
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
