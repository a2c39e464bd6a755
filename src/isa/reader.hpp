// SPDX-License-Identifier: Apache-2.0
// What reads PTX, token by token: a statement alone (statement.cpp), or a module (ptx/parser.hpp). Constant expressions are in
// constants.cpp, operands in read_operands.cpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "isa/lexer.hpp"
#include "isa/statement.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

[[noreturn]] inline void refuse(Errc code, Position at, std::string seen, std::string accepted) {
  throw Refused{{code, text(at), std::move(seen), std::move(accepted)}};
}

/// The value of a constant expression.
struct Constant {
  Literal literal;
  bool is_unsigned = false;
};

class Reader {
 protected:
  using Kind = Token::Kind;
  Reader(std::string_view text, Lexer::Of of) : text_(text), lexer_(text, of) { advance(); }

  // ---- Tokens
  void advance();
  bool take(char c);
  bool take(std::string_view dotted);
  void expect(char c);
  [[noreturn]] void unexpected(std::string accepted) const;
  /// While it lives, what is read lies inside something of its kind.
  class Nested {
   public:
    explicit Nested(Reader& reader) : reader_(reader) {
      if (++reader_.depth_ > kDeepest)
        refuse(Errc::statement_syntax, reader_.token_.position, "something deeply nested",
               fmt::format("at most {} levels", kDeepest));
    }
    ~Nested() { --reader_.depth_; }
    Nested(const Nested&) = delete;

   private:
    Reader& reader_;
  };
  std::string_view name(std::string_view what);
  std::int64_t integer(std::string_view what);
  /// One without a binary operator, or in parentheses.
  Constant primary();
  /// From operators of a precedence on.
  Constant constant(int precedence = 1);

  // ---- Operands
  /// Lists in parentheses are those of a call.
  void read(OperandText& out, bool of_call = false);
  OperandText operand(bool of_call = false);

  /// From a character on, up to the end of the token that was taken last.
  std::string_view text_from(std::size_t first) const { return text_.substr(first, end_of_last_ - first); }
  /// Where the token at hand begins.
  std::size_t offset() const { return static_cast<std::size_t>(token_.text.data() - text_.data()); }

  static constexpr int kDeepest = 100;
  std::string_view text_;
  Lexer lexer_;
  Token token_ = {};

 private:
  std::string_view binary_operator() const;
  bool is_name() const;
  bool is_name_behind(char sign) const;
  void read_name(OperandText& out, bool in_address = false);
  void read_constant(OperandText& out);
  void read_group(OperandText& out, OperandText::Kind kind, char close, bool of_call);
  void read_address(OperandText& out);

  int depth_ = 0;
  std::size_t end_of_last_ = 0;
};

}  // namespace warpbit
#pragma GCC visibility pop
