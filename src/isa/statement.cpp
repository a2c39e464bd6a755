// SPDX-License-Identifier: Apache-2.0
#include "isa/statement.hpp"

#include <fmt/format.h>

#include <utility>

#include "isa/reader.hpp"

namespace warpbit {
namespace {

class StatementReader : private Reader {
 public:
  explicit StatementReader(std::string_view text) : Reader(text, Lexer::Of::statement) {}

  /// The opcode and its qualifiers.
  void name(Statement& out) {
    if (token_.kind == Kind::end) refuse(Errc::statement_syntax, token_.position, "nothing", "an instruction");
    if (token_.is('@'))
      refuse(Errc::statement_syntax, token_.position, "a guard predicate",
             "the bare instruction; guards belong to the kernel around it");
    if (token_.kind != Kind::name) unexpected("the name of an instruction");
    out.opcode = token_.text;
    out.qualifiers.reserve(12);
    for (advance(); token_.kind == Kind::dotted; advance()) out.qualifiers.push_back(token_.text.substr(1));
  }

  void statement(Statement& out) {
    name(out);
    const bool ends = token_.kind == Kind::end || token_.is(';');
    if (token_.adjacent && !ends && !token_.is('{') && !token_.is('['))
      unexpected("'.', a blank, '{', '[' or ';'");
    if (!ends) {
      out.operands.reserve(4);
      do {
        if (!out.operands.empty() && (token_.kind == Kind::end || token_.is(';')))
          unexpected("an operand after ','");
        read(out.operands.emplace_back());
        if (out.operands.back()
                .negated)  // of a predicate of a kernel: an Instruction has no other value than that of a name
          refuse(Errc::statement_syntax, out.operands.back().position, "found '!'",
                 "a name, a literal, '{' or '['");
      } while (take(','));
    }
    if (token_.kind != Kind::end && !token_.is(';')) unexpected("',' between operands, or ';'");
    out.terminated = take(';');
    if (token_.kind != Kind::end) unexpected("the end: one statement at a time");
  }
};

}  // namespace

Result<Statement> split(std::string_view text) {
  Statement out;
  try {
    StatementReader(text).statement(out);
  } catch (Refused& refused) {
    return std::move(refused.error);
  }
  return out;
}

Result<Statement> split_name(std::string_view text) {
  Statement out;
  try {
    StatementReader(text).name(out);
  } catch (Refused& refused) {
    if (out.opcode.empty()) return std::move(refused.error);
  }
  return out;
}

std::string spell(std::string_view opcode, std::span<const std::string_view> qualifiers) {
  std::string out;
  out.reserve(64);
  out = opcode;
  for (const std::string_view q : qualifiers)
    if (!q.empty()) (out += '.') += q;
  return out;
}
std::string spell(const Statement& s) {
  return spell(s.opcode, s.qualifiers);
}

std::string text(const Statement& s) {
  std::string out = spell(s);
  for (const OperandText& op : s.operands) out.append(&op == s.operands.data() ? " " : ", ").append(op.text);
  return out + ";";
}

}  // namespace warpbit
