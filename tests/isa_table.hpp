// SPDX-License-Identifier: Apache-2.0
// The tables under tests/isa/ (tests/isa/README.md). Tests run in the project's root.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "form_words.hpp"
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

/// The column for a target: the assembler of the tables does not know sm_107, sm_107a and sm_107f, which have what sm_103,
/// sm_103a and sm_103f have of its forms (PTX ISA 9.4, "Release Notes": Table 72).
inline std::string column_of(std::string_view target) {
  constexpr std::string_view kLater = "sm_107", kLike = "sm_103";
  return target.starts_with(kLater) ? fmt::format("{}{}", kLike, target.substr(kLater.size()))
                                    : std::string(target);
}

/// The forms that came after the assembler of the tables, as the manual lists them: a row each.
inline std::vector<Row> later() {
  std::vector<Row> out;
  for (const Row& row : read("later"))
    for (const std::string& form : form_words::expanded(row.at("forms"))) {
      out.push_back(row);
      out.back()["instruction"] = form;
    }
  return out;
}

/// The rows of rejected.tsv, but for those that a later PTX has.
inline std::vector<Row> rejected() {
  std::set<std::string> later_forms;
  for (const Row& row : later()) later_forms.insert(row.at("instruction"));
  std::vector<Row> out = read("rejected");
  std::erase_if(out, [&](const Row& row) { return later_forms.contains(row.at("instruction")); });
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

/// True where .aligned is left out of wgmma: the assembler does not miss it, the manual requires it.
inline bool omits_aligned(std::string_view instruction) {
  return instruction.starts_with("wgmma.") && instruction.find(".aligned") == instruction.npos;
}

/// True for the many forms of wgmma and tcgen05.
inline bool is_asynchronous(const Row& row) {
  return row.at("family") == "wgmma" || row.at("family") == "wgmma.sp" ||
         row.at("family").starts_with("tcgen05.");
}

inline bool is_wmma(const Row& row) {
  return row.at("family").starts_with("wmma.");
}

/// True if a target that the assembler of the tables does not know (sm_70, sm_72) has the form, by the "Target
/// ISA Notes" of the manual: of mma the f16 forms of m8n8k4; floating-point wmma, and on sm_72 integer wmma,
/// but not sub-byte and single-bit wmma; of cvt what sm_75 has, which is f16 to and from f32 and f64; ldmatrix,
/// stmatrix and movmatrix begin later.
inline bool is_on_first_target(const Row& row, std::string_view target) {
  const std::string &family = row.at("family"), &text = row.at("instruction");
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (family == "mma") return has(".m8n8k4.") && has(".f16.f16.");
  if (row.at("sm_75") != "1") return false;
  if (family == "cvt") return true;
  const bool small = has(".m8n8k32.") || has(".m8n8k128."), integer = has("s8") || has("u8") || has(".s32");
  return is_wmma(row) && !small && (target == "sm_72" || !integer);
}

/// True if the form is legal there, says the assembler or, where it does not know the target, the manual.
inline bool is_legal(const Row& row, std::string_view target) {
  const std::string& cell = row.at(column_of(target));
  return !is_undocumented(row) && (cell == "n/a" ? is_on_first_target(row, target) : cell == "1");
}

/// True where the manual leaves open which element lies where ("Matrix Fragments for WMMA") and it was not
/// measured: the library refuses all wmma there.
inline bool has_unknown_fragments(const Row& row, std::string_view target) {
  return is_wmma(row) && (target == "sm_70" || target == "sm_72" || target == "sm_75");
}

/// True if the library should accept a row of instructions.tsv.
inline bool is_accepted(const Row& row, std::string_view target) {
  return is_legal(row, target) && !has_unknown_fragments(row, target);
}

/// True for the forms of mma.sp whose selector the assembler takes from 0 to 3 and the manual from 0 to 1
/// ("Matrix Fragments for sparse mma.m16n8k32 with .f16 and .bf16 types"). The library follows the manual.
inline bool has_lenient_selector(const Row& row) {
  return row.at("family") == "mma.sp" && row.at("instruction").ends_with(".m16n8k32.row.col.f32.f16.f16.f32");
}

/// True for scale-input-d of .kind::i8: the assembler takes any value, and the manual has none.
inline bool is_integer_scale(const Row& row) {
  return row.at("parameter") == "scale_input_d" && row.at("instruction").find(".kind::i8") != std::string::npos;
}

/// A value or a range of selectors.tsv, "-2..17", and all of them in a cell, "0..3,7".
inline std::vector<int> integers(const std::string& cell) {
  std::vector<int> out;
  std::istringstream in(cell);
  for (std::string range; std::getline(in, range, ',');) {
    const std::size_t dots = range.find("..");
    const int first = std::stoi(range), last = dots == range.npos ? first : std::stoi(range.substr(dots + 2));
    for (std::int64_t i = first; i <= last; ++i) out.push_back(static_cast<int>(i));
  }
  return out;
}

/// True if a value is in a cell of accepted values, "0..3,7", ">=0" or "any".
inline bool contains(const std::string& cell, int value) {
  if (cell == "any") return true;
  if (cell.starts_with(">=")) return value >= std::stoi(cell.substr(2));
  const std::vector<int> values = integers(cell);
  return std::ranges::find(values, value) != values.end();
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

inline void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  text.replace(at, from.size(), to);
}

/// The operands of a row of selectors.tsv with a literal, or a register type, in place of the immediate that it
/// is about. Other immediates are 1 where they are signs, and 0.
inline std::string with_immediate(const Row& row, const std::string& value) {
  std::string out = row.at("operands");
  const std::string& parameter = row.at("parameter");  // "f", "byte_id_a", "scale_d as literal"
  const std::string operand = parameter.substr(0, parameter.find(' '));
  const std::string given = (value.starts_with("b") ? ":" : ":=") + value;
  if (parameter != operand) replace(out, operand + ":pred", operand + given);
  static const std::regex kImmediate("([a-zA-Z_]+):imm");
  for (std::smatch at; std::regex_search(out, at, kImmediate);) {
    const std::string name = at[1], other = name.starts_with("imm_scale_") ? ":=1" : ":=0";
    replace(out, at.str(), name + (name == operand ? given : other));
  }
  for (const std::string side : {"a", "b"}) {
    const std::string pair = "sel_" + side + "(byte_id,thread_id):";
    if (out.find(pair + "{imm,imm}") == out.npos) continue;
    const bool byte = parameter == "byte_id_" + side, thread = parameter == "thread_id_" + side;
    replace(out, pair + "{imm,imm}",
            fmt::format("{}={{{},{}}}", pair, byte ? value : "0", thread ? value : "0"));
  }
  return out;
}

/// Whether a register was tried for a row of selectors.tsv.
inline bool tried_register(const Row& row) {
  return row.at("tested").ends_with(" register");
}

/// The operands of a row, "d:4xf32 [p:b64] {stride:b32}", one by one.
inline std::vector<std::string> operands(const std::string& notation) {
  std::vector<std::string> out;
  std::istringstream in(notation);
  for (std::string operand; in >> operand;) out.push_back(operand);
  return out;
}

inline std::string joined(const std::vector<std::string>& operands) {
  return fmt::format("{}", fmt::join(operands, " "));
}

/// The name of an operand: "d", "p", "sel_a".
inline std::string role(const std::string& operand) {
  const std::size_t first = operand.find_first_not_of("[{");
  return operand.substr(first, operand.find_first_of("(:", first) - first);
}

/// The least value of "imm", "imm(0..3)", "imm(-1,1)" or "imm(>=0)".
inline std::string least(const std::string& immediate) {
  const std::size_t first = immediate.find_first_of("-0123456789");
  return first == immediate.npos
             ? "0"
             : immediate.substr(first, immediate.find_first_not_of("-0123456789", first) - first);
}

/// The lists of operands that a row stands for: with an operand that may be absent, `{stride:b32}`, and
/// without.
inline std::vector<std::string> operand_lists(const std::string& notation) {
  std::vector<std::string> all = operands(notation);
  std::vector<std::string> out = {notation};
  if (std::erase_if(all, [](const std::string& operand) { return operand.starts_with("{"); }) > 0)
    out.push_back(joined(all));
  return out;
}

/// A statement of the assembler: "d:4xf32 c:={0,0} e:b32" with fresh registers for types, the least value for
/// immediates. Registers as in type_of.
inline std::string statement(const std::string& instruction, const std::string& notation) {
  static const std::map<std::string, std::string> kLetters = {
      {"b8", "%y"}, {"b16", "%c"}, {"b32", "%r"}, {"b64", "%q"}, {"f32", "%f"}, {"f64", "%d"}, {"pred", "%p"}};
  static const std::regex kVector("([0-9]+)x(.*)");
  std::map<std::string, int> used;
  const auto with_registers = [&](std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const auto type =
          std::ranges::find_if(kLetters, [&](const auto& x) { return text.starts_with(x.first); });
      if (type == kLetters.end()) {
        out += text.front();
        text.remove_prefix(1);
      } else {
        out += fmt::format("{}{}", type->second, used[type->first]++);
        text.remove_prefix(type->first.size());
      }
    }
    return out;
  };

  std::vector<std::string> out;
  for (const std::string& operand : operands(notation)) {
    std::string value = operand.substr(operand.find(':') + 1);
    if (value.starts_with("=")) value.erase(0, 1);
    if (value.starts_with("imm")) value = least(value);
    if (operand.starts_with("[")) value.insert(0, "[");                  // p:b64]
    if (operand.starts_with("{")) value.pop_back();                      // stride:b32}
    if (std::smatch vector; std::regex_match(value, vector, kVector)) {  // 4xf32
      const std::vector<std::string> types(std::stoul(vector[1]), vector[2]);
      value = fmt::format("{{{}}}", fmt::join(types, ", "));
    }
    out.push_back(with_registers(value));
  }
  return fmt::format("{} {};", instruction, fmt::join(out, ", "));
}

/// False if the assembler's check takes the spelling and it crashes on the way to code.
inline bool is_usable(const Row& variant) {
  return !variant.at("code generation").starts_with("ptxas crashed");
}

/// The declared type of a register of spellings.tsv, by its letter.
inline std::optional<std::string> type_of(std::string_view name) {
  static const std::map<char, std::string> kTypes = {
      {'u', "u32"}, {'s', "s32"}, {'r', "b32"}, {'f', "f32"}, {'h', "f16x2"}, {'d', "f64"},
      {'q', "b64"}, {'v', "u64"}, {'w', "s64"}, {'c', "b16"}, {'t', "u16"},   {'i', "s16"},
      {'g', "f16"}, {'y', "b8"},  {'z', "u8"},  {'o', "s8"},  {'k', "b128"},  {'p', "pred"}};
  if (name.size() < 2 || name[0] != '%' || !kTypes.contains(name[1])) return std::nullopt;
  return kTypes.at(name[1]);
}

}  // namespace isa_table
