// SPDX-License-Identifier: Apache-2.0
// One PTX statement as its text has it: words, and operands as trees. Knows no instruction families. The result views that
// text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/lexer.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// An operand, or a part of one.
struct OperandText {
  enum class Kind : std::uint8_t {
    name,     ///< a register, a symbol, `_`
    literal,  ///< a constant: the value of its expression
    vector,   ///< {parts}
    list,     ///< (parts)
    address,  ///< [base + offset], [base + offset, parts]: the base is the first part
  };
  Kind kind = Kind::name;
  bool negated = false;          ///< !name
  bool negative = false;         ///< -name, in a module
  std::string_view text = {};    ///< as written
  std::string_view name = {};    ///< with its component: %tid.x
  std::string_view second = {};  ///< name|second
  Literal literal = {};
  std::int64_t offset = 0;  ///< of an address; name + offset; name[offset]
  char behind = '\0';       ///< what follows a name: '+' an offset, '[' an element, '|' a second one
  Position position = {};
  Position behind_at = {};  ///< of '+' and '['; of the second name
  std::vector<OperandText> parts = {};
  std::string_view type = {};  ///< of the register that a name is, without its dot; empty: unknown
};

struct Statement {
  std::string_view opcode;                   ///< up to the first dot
  std::vector<std::string_view> qualifiers;  ///< without their dots
  std::vector<OperandText> operands;
  bool terminated = false;  ///< by ';'
};

/// Exactly one statement; the closing ';' and all operands may be absent. Error: statement_syntax with the
/// column.
Result<Statement> split(std::string_view text);

/// The opcode and the qualifiers; ignores the rest.
Result<Statement> split_name(std::string_view text);

/// `opcode.qualifier...`, without empty qualifiers.
std::string spell(std::string_view opcode, std::span<const std::string_view> qualifiers);
std::string spell(const Statement& statement);
/// The same with the operands' texts and ';'.
std::string text(const Statement& statement);

}  // namespace warpbit
#pragma GCC visibility pop
