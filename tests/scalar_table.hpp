// SPDX-License-Identifier: Apache-2.0
// The tables of scalar instructions under tests/isa/ (tests/isa/README.md): their patterns, and the statements that
// tools/isa/ask_scalar.py asked.
#pragma once

#include <functional>
#include <set>

#include "isa_table.hpp"
#include "ptx/forms.hpp"
#include "ptx/module.hpp"
#include "ptx/operands.hpp"

namespace scalar_table {

using isa_table::Row;

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text + at);
  for (std::string one; std::getline(in, one, at);) out.push_back(one);
  return out;
}

/// Of "add{,.sat}$T": {"add"}, {"", ".sat"}, {".u8", ...}.
inline std::vector<std::vector<std::string>> slots(const std::string& pattern) {
  static const std::map<std::string, std::string> kSets = [] {
    std::map<std::string, std::string> out;
    for (const Row& row : isa_table::read("scalar_sets")) out[row.at("name")] = row.at("words");
    return out;
  }();
  std::vector<std::vector<std::string>> out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = pattern[at] == '{'   ? pattern.find('}', at) + 1
                            : pattern[at] == '$' ? at + 2
                                                 : std::min(pattern.find_first_of("{$", at), pattern.size());
    const std::string piece = pattern.substr(at, end - at);
    at = end;
    if (piece[0] == '{')
      out.push_back(split(piece.substr(1, piece.size() - 2), ','));
    else if (piece[0] == '$')
      out.push_back(split(kSets.at(piece.substr(1)), ','));
    else
      out.push_back({piece});
  }
  return out;
}

/// Each name that a pattern stands for.
inline std::vector<std::string> names(const std::string& pattern) {
  std::vector<std::string> out = {""};
  for (const std::vector<std::string>& slot : slots(pattern)) {
    std::vector<std::string> longer;
    for (const std::string& first : out)
      for (const std::string& word : slot) longer.push_back(first + word);
    out = std::move(longer);
  }
  return out;
}

/// "%f" for f32, of a type that no register has those of its size.
inline std::string letter(const std::string& type) {
  static const std::map<std::string, std::string> kLetters = [] {
    std::map<std::string, std::string> out = {{"bf16", "%c"}, {"f32x2", "%q"}};
    for (const char* const name : {"bf16x2", "u16x2", "s16x2", "tf32"}) out[name] = "%r";
    for (char c = 'a'; c <= 'z'; ++c)
      if (const auto of = isa_table::type_of(std::string("%") + c)) out[*of] = std::string("%") + c;
    return out;
  }();
  return kLetters.at(type);
}

/// Forms that the assembler takes, and the manual does not have: they are recorded, and nothing is computed for them.
struct Undocumented {
  const char* pattern;
  const char* reason;
};
constexpr Undocumented kUndocumented[] = {
    {"fma{.rz,.rm,.rp}{,.relu}{,.oob}{.bf16,.bf16x2}", "the manual has .rn alone"},
    {"madc{.lo,.hi}{.u16,.s16}", "the manual has 32 and 64 bits"},
    {"madc.hi.sat.s32", "the manual has no .sat"},
    {"testp{.f32,.f64}", "the manual requires a test"},
};
inline std::set<std::string> undocumented() {
  std::set<std::string> out;
  for (const Undocumented& one : kUndocumented)
    for (const std::string& name : names(one.pattern)) out.insert(name);
  return out;
}

inline const std::map<std::string, std::string>& wide() {
  static const std::map<std::string, std::string> kWide = {
      {"u8", "u16"},   {"s8", "s16"},  {"b8", "b16"},   {"u16", "u32"},  {"s16", "s32"},
      {"b16", "b32"},  {"u32", "u64"}, {"s32", "s64"},  {"b32", "b64"},  {"f16", "f32"},
      {"bf16", "f32"}, {"f32", "f64"}, {"u64", "b128"}, {"s64", "b128"}, {"b64", "b128"}};
  return kWide;
}

/// The statement with fresh registers; none where an operand has no type.
inline std::optional<std::string> statement(const std::string& name, const std::string& notation) {
  std::vector<std::string> types;
  int vector = 1, fresh = 0, coordinates = 0, offsets = 0;
  const std::vector<std::string> words = split(name, '.');
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  for (const std::string& word : words) {
    if (warpbit::ptx::find_type(word)) types.push_back(word);
    if (word == "v2" || word == "v4" || word == "v8") vector = word[1] - '0';
    if (word.size() == 2 && word[1] == 'd' && word[0] >= '1' && word[0] <= '5') coordinates = word[0] - '0';
  }
  offsets = has("im2col::w") || has("im2col::w::128") ? 2 : std::max(coordinates - 2, 1);
  if (has("tile::gather4") || has("tile::scatter4")) coordinates = 5;
  bool known = true;
  const auto reg = [&](const std::string& type) -> std::string {
    std::string of = type;
    const std::size_t back = type == "T" || type == "W" ? 1 : type == "U" || type == "V" ? 2 : 0;
    if (back > types.size()) return known = false, "";
    if (back > 0) of = types[types.size() - back];
    if (type == "W") {
      if (!wide().contains(of)) return known = false, "";
      of = wide().at(of);
    }
    return letter(of) + std::to_string(fresh++);
  };
  const auto group = [&](const std::string& type, int count) {
    std::vector<std::string> parts;
    for (int i = 0; i < count; ++i) parts.push_back(reg(type));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  };
  const std::function<std::string(const std::string&)> spell = [&](const std::string& operand) -> std::string {
    const std::string type = operand.substr(operand.find(':') + 1);
    std::vector<std::string> parts;
    if (operand == "_") return operand;
    if (operand == "[t,c]") return fmt::format("[%q1, {}]", group("s32", coordinates));
    if (operand == "[h,x]" || operand == "[h,s]") {
      static const std::map<std::string, int> kTextures = {{"1d", 1},  {"2d", 2},   {"3d", 4},   {"a1d", 2},
                                                           {"a2d", 4}, {"cube", 4}, {"acube", 4}};
      const auto shape =
          std::ranges::find_if(words, [](const std::string& word) { return kTextures.contains(word); });
      if (shape == words.end()) return known = false, "";
      for (int i = 0; i < kTextures.at(*shape); ++i)
        parts.push_back(reg(i == 0 && shape->front() == 'a' ? "u32" : operand == "[h,x]" ? "T" : "s32"));
      return fmt::format("[%q1, {{{}}}]", fmt::join(parts, ", "));
    }
    if (operand == "{o}") return group("b16", offsets);
    if (operand[0] == '{') {
      for (const std::string& one : split(operand.substr(1, operand.size() - 2), ','))
        parts.push_back(spell(one));
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
    }
    if (operand[0] == '#' && operand.find(':') == operand.npos) return operand.substr(1);
    if (operand[0] == '#') return vector == 1 ? reg(type) : group(type, vector);
    if (operand[0] == '[') return operand == "[p]" ? "[%q0]" : "[%q1]";
    if (operand[0] == '!') return "!%p3";
    // -a.b0:u32
    const std::size_t dot = operand.find('.');
    const std::string part = dot == operand.npos ? "" : operand.substr(dot, operand.find(':') - dot);
    if (operand[0] == '-' || !part.empty()) return (operand[0] == '-' ? "-" : "") + reg(type) + part;
    return (operand[0] == '_' ? "_" : reg(type)) + (operand[1] == '|' ? "|%p5" : "");
  };
  std::vector<std::string> operands;
  for (const std::string& one : isa_table::operands(notation)) operands.push_back(spell(one));
  if (!known) return {};
  return fmt::format("{} {};", name, fmt::join(operands, ", "));
}

/// Registers of each type, as in isa_table::type_of.
inline std::string registers() {
  std::string out;
  for (char c = 'a'; c <= 'z'; ++c)
    if (const auto type = isa_table::type_of(std::string("%") + c))
      out += fmt::format(".reg .{} %{}<32>;\n", *type, c);
  return out;
}

/// A module whose first function has these statements.
inline std::string module(const std::string& statements) {
  return fmt::format(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n{}"
      ".shared .align 16 .b8 tile[1024];\n{}}}\n",
      registers(), statements);
}

/// Why the library does not take a statement as a scalar instruction; nothing if it does.
inline std::optional<warpbit::Error> refusal(const warpbit::ptx::FunctionText& function,
                                             const warpbit::ptx::Statement& statement, warpbit::Target target) {
  const auto forms =
      warpbit::ptx::match_scalar(statement.opcode, warpbit::ptx::words_of(function, statement), target);
  if (!forms) return forms.error();
  const auto form = warpbit::ptx::check_operands(function, statement, *forms);
  if (!form) return form.error();
  return {};
}

/// Whether it does, sooner. The tables are of PTX 9.0: forms that are later do not count.
inline bool takes(const warpbit::ptx::FunctionText& function, const warpbit::ptx::Statement& statement,
                  warpbit::Target target) {
  const auto words = warpbit::ptx::words_of(function, statement);
  auto forms = warpbit::ptx::scalar_matches(statement.opcode, words, target);
  std::erase_if(forms, [&](const warpbit::ptx::MatchedForm& one) {
    return warpbit::ptx::since(*one.form, words) > warpbit::Version{9, 0};
  });
  return !forms.empty() && warpbit::ptx::check_operands(function, statement, forms).ok();
}

}  // namespace scalar_table
