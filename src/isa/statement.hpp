// SPDX-License-Identifier: Apache-2.0
// Splits the text of one PTX statement into dots, commas, braces and brackets; knows no instruction families.
// The result views that text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// A number as PTX writes it (PTX manual, "Constants").
struct Literal {
  bool is_float = false;   ///< 1.0, 1e3, 0f3F800000, 0d3FF0000000000000
  bool single = false;     ///< written as 0f...
  std::uint64_t bits = 0;  ///< an integer modulo 2^64, or the bits of the f64 (0f: of the f32)
};

/// One item of an operand: a name or a literal.
struct Item {
  std::string_view text;
  bool is_literal = false;
  Literal literal;
};

/// Reads a number without a sign (PTX manual, "Integer Constants" and "Floating-Point Constants"); false if it is none.
bool read_number(std::string_view text, Literal& out);

struct OperandText {
  enum class Kind {
    scalar,   ///< one item: a name or a literal
    vector,   ///< {items}
    address,  ///< [name], [name+16]
  };
  Kind kind = Kind::scalar;
  std::string_view text;    ///< as written, without surrounding blanks
  std::vector<Item> items;  ///< of an address: its base
  std::int64_t offset = 0;  ///< of an address
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
