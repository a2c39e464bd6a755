// SPDX-License-Identifier: Apache-2.0
// Operands, as trees.
#include <utility>

#include "isa/reader.hpp"

namespace warpbit {

bool Reader::is_name() const {
  return token_.kind == Kind::name && token_.text != "WARP_SZ";  // which is a constant
}

// !%p; !0 is a constant.
bool Reader::is_negated_name() const {
  if (!token_.is('!')) return false;
  Lexer ahead = lexer_;
  const Result<Token> next = ahead.next();
  return next.ok() && next->kind == Kind::name && next->text != "WARP_SZ";
}

OperandText Reader::operand(bool of_call) {
  const Position at = token_.position;
  const std::size_t first = offset();
  OperandText out = token_.is('{')              ? group(OperandText::Kind::vector, '}', of_call)
                    : token_.is('[')            ? bracketed()
                    : of_call && token_.is('(') ? group(OperandText::Kind::list, ')', of_call)
                    : is_name()                 ? named()
                    : is_negated_name()         ? (advance(), named())
                                                : constant_operand();
  out.negated = out.kind == OperandText::Kind::name && text_[first] == '!';
  out.position = at;
  out.text = text_from(first);
  return out;
}

OperandText Reader::constant_operand() {
  const bool begins =
      token_.kind == Kind::number || token_.kind == Kind::name ||
      (token_.kind == Kind::mark && std::string_view("(-+~!").find(token_.text[0]) != std::string_view::npos);
  if (!begins) unexpected("a name, a literal, '{' or '['");
  OperandText out;
  out.kind = OperandText::Kind::literal;
  out.position = token_.position;
  const std::size_t first = offset();
  out.literal = constant().literal;
  out.text = text_from(first);
  return out;
}

// A name, and what may follow it: name.x|name, name[4], name+4.
OperandText Reader::named(bool in_address) {
  OperandText out;
  out.position = token_.position;
  const std::size_t first = offset();
  out.name = name("an operand");
  if (token_.kind == Kind::dotted && token_.adjacent) {  // %tid.x
    advance();
    out.name = text_from(first);
  }
  out.behind_at = token_.position;
  if (token_.kind == Kind::mark &&
      std::string_view(in_address ? "|+" : "|+[").find(token_.text[0]) != std::string_view::npos) {
    out.behind = token_.text[0];
    if (out.behind == '|' || out.behind == '[') advance();
    if (out.behind == '|') {
      out.second_at = token_.position;
      out.second = name("a predicate register");
    } else {
      (out.behind == '[' ? out.element : out.offset) =
          integer(out.behind == '[' ? "the number of an element" : "an integer offset");
    }
    if (out.behind == '[') expect(']');
  }
  out.text = text_from(first);
  return out;
}

OperandText Reader::group(OperandText::Kind kind, char close, bool of_call) {
  const Nested nested(*this);
  OperandText out;
  out.kind = kind;
  advance();
  const bool may_be_empty =
      token_.position.line > 0;  // in a module: arguments of a call, offsets of a tensor copy
  if (!(may_be_empty && token_.is(close))) do
      out.parts.push_back(operand(of_call));
    while (take(','));
  if (!take(close)) unexpected(fmt::format("',' or '{}'", close));
  return out;
}

// [base], [base + offset], [base, {coordinates}]
OperandText Reader::bracketed() {
  const Nested nested(*this);
  OperandText out;
  out.kind = OperandText::Kind::address;
  expect('[');
  out.parts.push_back(is_name() ? named(true) : constant_operand());
  if (token_.is('-'))
    refuse(Errc::statement_syntax, token_.position, "'-'", "'+' and the offset, such as [p+-16]");
  if (OperandText& base = out.parts[0]; base.behind == '+') {
    out.offset = std::exchange(base.offset, 0);
    base.behind = '\0';
    base.text = base.name;
  }
  while (take(',')) out.parts.push_back(operand());
  expect(']');
  return out;
}

}  // namespace warpbit
