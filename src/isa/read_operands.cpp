// SPDX-License-Identifier: Apache-2.0
// Operands, as trees.
#include <utility>

#include "isa/reader.hpp"

namespace warpbit {

bool Reader::is_name() const {
  return token_.kind == Kind::name && token_.text != "WARP_SZ";  // which is a constant
}

// !%p, -%r; !0 and -1 are constants.
bool Reader::is_name_behind(char sign) const {
  if (!token_.is(sign)) return false;
  Lexer ahead = lexer_;
  Token next;
  ahead.next(next);
  return next.kind == Kind::name && next.text != "WARP_SZ";
}

OperandText Reader::operand(bool of_call) {
  OperandText out;
  read(out, of_call);
  return out;
}

void Reader::read(OperandText& out, bool of_call) {
  const Position at = token_.position;
  const std::size_t first = offset();
  if (is_name()) {
    read_name(out);
  } else if (token_.is('{')) {
    read_group(out, OperandText::Kind::vector, '}', of_call);
  } else if (token_.is('[')) {
    read_address(out);
  } else if (of_call && token_.is('(')) {
    read_group(out, OperandText::Kind::list, ')', of_call);
  } else if (is_name_behind('!')) {
    advance();
    read_name(out);
    out.negated = true;
  } else if (const bool in_module = at.line > 0; in_module && is_name_behind('-')) {
    advance();
    read_name(out);
    out.negative = true;
  } else {
    read_constant(out);
  }
  out.position = at;
  out.text = text_from(first);
}

void Reader::read_constant(OperandText& out) {
  const bool begins =
      token_.kind == Kind::number || token_.kind == Kind::name ||
      (token_.kind == Kind::mark && std::string_view("(-+~!").find(token_.text[0]) != std::string_view::npos);
  if (!begins) unexpected("a name, a literal, '{' or '['");
  out.kind = OperandText::Kind::literal;
  out.position = token_.position;
  const std::size_t first = offset();
  out.literal = constant().literal;
  out.text = text_from(first);
}

// A name, and what may follow it: name.x|name, name[4], name+4.
void Reader::read_name(OperandText& out, bool in_address) {
  out.position = token_.position;
  const std::size_t first = offset();
  out.name = name("an operand");
  if (token_.kind == Kind::dotted && token_.adjacent) {  // %tid.x
    advance();
    out.name = text_from(first);
  }
  out.behind_at = token_.position;
  if (token_.is('|') || token_.is('+') || (token_.is('[') && !in_address)) {
    out.behind = token_.text[0];
    if (out.behind != '+') advance();
    if (out.behind == '|') {
      out.behind_at = token_.position;
      out.second = name("a predicate register");
    } else {
      out.offset = integer(out.behind == '[' ? "the number of an element" : "an integer offset");
    }
    if (out.behind == '[') expect(']');
  }
  out.text = text_from(first);
}

void Reader::read_group(OperandText& out, OperandText::Kind kind, char close, bool of_call) {
  const Nested nested(*this);
  out.kind = kind;
  advance();
  const bool may_be_empty =
      token_.position.line > 0;  // in a module: arguments of a call, offsets of a tensor copy
  out.parts.reserve(4);
  if (!(may_be_empty && token_.is(close))) do
      read(out.parts.emplace_back(), of_call);
    while (take(','));
  if (!take(close)) unexpected(fmt::format("',' or '{}'", close));
}

// [base], [base + offset], [base, {coordinates}]
void Reader::read_address(OperandText& out) {
  const Nested nested(*this);
  out.kind = OperandText::Kind::address;
  expect('[');
  if (OperandText& base = out.parts.emplace_back(); is_name())
    read_name(base, true);
  else
    read_constant(base);
  if (token_.is('-'))
    refuse(Errc::statement_syntax, token_.position, "'-'", "'+' and the offset, such as [p+-16]");
  if (OperandText& base = out.parts[0]; base.behind == '+') {
    out.offset = std::exchange(base.offset, 0);
    base.behind = '\0';
    base.text = base.name;
  }
  while (take(',')) read(out.parts.emplace_back());
  expect(']');
}

}  // namespace warpbit
