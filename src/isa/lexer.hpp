// SPDX-License-Identifier: Apache-2.0
// The tokens of PTX (PTX manual, "Syntax").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// In a module's text, both from 1; a statement alone has columns, and its line is 0.
struct Position {
  int line = 0, column = 0;
};
/// "line 12, column 5" or "column 5", as an Error's `where` has it.
std::string text(Position at);

/// A number as PTX writes it (PTX manual, "Constants").
struct Literal {
  bool is_float = false;   ///< 1.0, 1e3, 0f3F800000, 0d3FF0000000000000
  bool single = false;     ///< written as 0f...
  std::uint64_t bits = 0;  ///< an integer modulo 2^64, or the bits of the f64 (0f: of the f32)
};

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

/// Thrown inside readers alone.
struct Refused {
  Error error;
};

class Lexer {
 public:
  enum class Of { module, statement };
  Lexer(std::string_view text, Of of) : text_(text), line_(of == Of::module ? 1 : 0) {}
  /// The next token; of anything but a number its literal is left as it was. Refuses, with statement_syntax, a character, a
  /// number or a comment that is none.
  void next(Token& out);

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Position here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
  void skip(std::size_t characters);
  bool skip_blanks();
  std::size_t name_end(std::size_t from) const;
  std::size_t number_end() const;
  [[noreturn]] void refuse(std::string seen, std::string accepted) const;

  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_;  ///< 0: none are counted
};

}  // namespace warpbit
#pragma GCC visibility pop
