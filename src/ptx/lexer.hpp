// SPDX-License-Identifier: Apache-2.0
// The tokens of a module (PTX manual, "Syntax").
#pragma once

#include <string_view>

#include "ptx/module.hpp"

namespace warpbit::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    name,    ///< an identifier, or an opcode
    dotted,  ///< a directive, a qualifier or a component, with its dot: ".global", ".L2::128B"
    number,
    string,  ///< without its quotes
    mark,    ///< one character
    end,
  };
  Kind kind = Kind::end;
  bool adjacent = false;  ///< nothing between it and the token before
  std::string_view text = {};
  Literal literal = {};
  Position position = {};

  bool is(char c) const { return kind == Kind::mark && text[0] == c; }
  bool is(std::string_view dotted) const { return kind == Kind::dotted && text == dotted; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// Error: statement_syntax, for a character, a number or a comment that is none.
  Result<Token> next();

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip(std::size_t characters);
  bool skip_blanks();
  std::size_t name_end(std::size_t from) const;
  std::size_t number_end() const;
  Error error(std::string seen, std::string accepted) const;

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace warpbit::ptx
