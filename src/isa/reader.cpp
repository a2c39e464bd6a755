// SPDX-License-Identifier: Apache-2.0
#include "isa/reader.hpp"

#include <utility>

namespace warpbit {

void Reader::advance() {
  if (token_.kind != Kind::end) end_of_last_ = offset() + token_.text.size();
  lexer_.next(token_);
}

bool Reader::take(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}
bool Reader::take(std::string_view dotted) {
  if (!token_.is(dotted)) return false;
  advance();
  return true;
}
void Reader::expect(char c) {
  if (!take(c)) unexpected(fmt::format("'{}'", c));
}

void Reader::unexpected(std::string accepted) const {
  const bool alone = token_.position.line == 0;
  std::string seen = token_.kind == Kind::end ? alone ? "the text ends" : "the end of the text"
                                              : fmt::format("{}'{}'", alone ? "found " : "", token_.text);
  refuse(Errc::statement_syntax, token_.position, std::move(seen), std::move(accepted));
}

std::string_view Reader::name(std::string_view what) {
  if (token_.kind != Kind::name) unexpected(std::string(what));
  const std::string_view out = token_.text;
  advance();
  return out;
}

std::int64_t Reader::integer(std::string_view what) {
  const Position at = token_.position;
  const Constant value = constant();
  if (value.literal.is_float)
    refuse(Errc::statement_syntax, at, "a floating-point constant", std::string(what));
  return static_cast<std::int64_t>(value.literal.bits);
}

}  // namespace warpbit
