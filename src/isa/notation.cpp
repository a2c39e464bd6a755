// SPDX-License-Identifier: Apache-2.0
// Converts operands in the notation of the instruction table into a statement's text and the types of its
// names.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "isa/instruction.hpp"

namespace warpbit {
namespace {

using TypeMap = std::map<std::string, std::string, std::less<>>;

// Splits "d:4xf32 c:={0,0}" at blanks outside brackets.
std::vector<std::string_view> tokens(std::string_view notation) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= notation.size(); ++i) {
    const char c = i < notation.size() ? notation[i] : ' ';
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c != ' ' || (depth > 0 && i < notation.size())) continue;
    if (i > first) out.push_back(notation.substr(first, i - first));
    first = i + 1;
  }
  return out;
}

Error malformed(std::string_view token) {
  return {Errc::statement_syntax, "operand notation", fmt::format("'{}'", token),
          "role:4xb32, role:b32, role:={0,0}, role:{b16,b16}, role:=0, [role:b64] or {role:b32}"};
}

class Writer {
 public:
  Result<void> add(std::string_view token) {
    if (!text.empty()) text += ", ";
    const char open = token.front(), close = open == '[' ? ']' : '}';
    if (open == '[' || open == '{') {
      if (token.size() < 2 || token.back() != close) return malformed(token);
      const std::string_view inner = token.substr(1, token.size() - 2);
      const std::size_t colon = inner.rfind(':');
      if (colon == inner.npos) return malformed(token);
      const std::string name = fresh(inner.substr(colon + 1));
      text += open == '[' ? "[" + name + "]" : name;
      return {};
    }
    const std::size_t colon = token.rfind(':');
    if (colon == token.npos || colon + 1 >= token.size()) return malformed(token);
    return value(token, token.substr(colon + 1));
  }

  std::string text;
  TypeMap types;

 private:
  // After the colon: 4xf32, b32, imm..., =literals, ={b16,b16}, {imm|b16,b16}.
  Result<void> value(std::string_view token, std::string_view v) {
    if (v.front() == '=' || v.front() == '{') {
      if (v.front() == '=') v.remove_prefix(1);
      for (std::size_t i = 0; i < v.size();) {
        const std::size_t end = std::min(v.find_first_of("{,}", i), v.size());
        text += item(v.substr(i, end - i));
        if (end < v.size()) text += v[end];
        i = end + 1;
      }
      return {};
    }
    if (v.starts_with("imm")) {
      text += least(v.substr(3));
      return {};
    }
    int count = 0;
    const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), count);
    if (error != std::errc{}) {
      text += fresh(v);
      return {};
    }
    const auto digits = static_cast<std::size_t>(end - v.data());
    if (count < 1 || count > 512 || digits + 1 >= v.size() || v[digits] != 'x') return malformed(token);
    text += "{";
    for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i ? ", " : "", fresh(v.substr(digits + 1)));
    text += "}";
    return {};
  }

  // The minimum in "(-1,1)", "(0..3)", "(>=0)" or nothing.
  static std::string least(std::string_view range) {
    const std::size_t first = range.find_first_of("-0123456789");
    return first == range.npos ? "0" : std::string(range.substr(first, range.find_first_of(".,)") - first));
  }

  // A type gives a register of that type, "imm" an immediate.
  std::string item(std::string_view v) {
    if (v == "imm") return "0";
    return !v.empty() && v[0] >= 'a' && v[0] <= 'z' ? fresh(v) : std::string(v);
  }

  std::string fresh(std::string_view type) {
    std::string name = fmt::format("%r{}", types.size());
    types.emplace(name, type);
    return name;
  }
};

}  // namespace

Result<Instruction> Instruction::parse(std::string_view text, std::string_view notation, Target target) {
  const std::vector<std::string_view> parts = tokens(notation);
  if (parts.empty()) return parse(text, target);
  Writer writer;
  for (const std::string_view token : parts)
    if (Result<void> added = writer.add(token); !added) return added.error();
  return parse(fmt::format("{} {};", text, writer.text), target,
               [&](std::string_view name) -> std::optional<std::string> {
                 const auto at = writer.types.find(name);
                 return at == writer.types.end() ? std::nullopt : std::optional(at->second);
               });
}

}  // namespace warpbit
