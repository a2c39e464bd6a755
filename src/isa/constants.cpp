// SPDX-License-Identifier: Apache-2.0
// Constant expressions (PTX manual, "Constant Expressions").
#include <algorithm>
#include <array>
#include <optional>

#include "isa/reader.hpp"

namespace warpbit {
namespace {

struct BinaryOperator {
  std::string_view marks;
  int precedence;
};
constexpr std::array kBinaryOperators = {
    BinaryOperator{"||", 1}, BinaryOperator{"&&", 2}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},
    BinaryOperator{"&", 5},  BinaryOperator{"==", 6}, BinaryOperator{"!=", 6}, BinaryOperator{"<=", 7},
    BinaryOperator{">=", 7}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8}, BinaryOperator{"<", 7},
    BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},  BinaryOperator{"*", 10},
    BinaryOperator{"/", 10}, BinaryOperator{"%", 10},
};

/// Two integers; nothing for a division by zero.
std::optional<std::uint64_t> evaluate(std::string_view marks, std::uint64_t a, std::uint64_t b,
                                      bool is_unsigned) {
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  const bool less = is_unsigned ? a < b : sa < sb;
  if (marks == "||") return a != 0 || b != 0;
  if (marks == "&&") return a != 0 && b != 0;
  if (marks == "|") return a | b;
  if (marks == "^") return a ^ b;
  if (marks == "&") return a & b;
  if (marks == "==") return a == b;
  if (marks == "!=") return a != b;
  if (marks == "<") return less;
  if (marks == ">=") return !less;
  if (marks == ">") return !less && a != b;
  if (marks == "<=") return less || a == b;
  if (marks == "<<") return b > 63 ? 0 : a << b;
  if (marks == ">>" && is_unsigned) return b > 63 ? 0 : a >> b;
  if (marks == ">>") return static_cast<std::uint64_t>(sa >> std::min<std::uint64_t>(b, 63));
  if (marks == "+") return a + b;
  if (marks == "-") return a - b;
  if (marks == "*") return a * b;
  if (b == 0) return {};
  if (!is_unsigned && b == ~std::uint64_t{0})
    return marks == "/" ? 0 - a : 0;  // the minimum has no quotient in C++
  if (marks == "/") return is_unsigned ? a / b : static_cast<std::uint64_t>(sa / sb);
  return is_unsigned ? a % b : static_cast<std::uint64_t>(sa % sb);
}

}  // namespace

Constant Reader::primary() {
  const Nested nested(*this);
  const Position at = token_.position;
  if (token_.kind == Kind::number) {
    const Constant out{token_.literal, token_.text.ends_with('U')};
    advance();
    return out;
  }
  if (token_.kind == Kind::name && token_.text == "WARP_SZ") {
    advance();
    return {{false, false, 32}, false};
  }
  if (take('(')) {
    const bool to_unsigned = token_.is(".u64");
    if (to_unsigned || token_.is(".s64")) {
      advance();
      expect(')');
      return {primary().literal, to_unsigned};
    }
    const Constant out = constant();
    expect(')');
    return out;
  }
  for (const char mark : {'-', '+', '~', '!'}) {
    if (!take(mark)) continue;
    Constant out = primary();
    if (out.literal.is_float && (mark == '~' || mark == '!' || out.literal.single))
      refuse(Errc::statement_syntax, at, fmt::format("'{}' before a floating-point constant", mark),
             "an integer");
    if (out.literal.is_float && mark == '-') out.literal.bits ^= std::uint64_t{1} << 63;
    if (out.literal.is_float) return out;
    if (mark == '-') out.literal.bits = 0 - out.literal.bits;
    if (mark == '~') out.literal.bits = ~out.literal.bits;
    if (mark == '!') out.literal.bits = out.literal.bits == 0;
    return out;
  }
  unexpected("a constant");
}

// The operator at the current token, of one character or two; empty if there is none. It is not taken.
std::string_view Reader::binary_operator() const {
  if (token_.kind != Kind::mark) return {};
  for (const std::size_t size : {std::size_t{2}, std::size_t{1}})
    for (const BinaryOperator& one : kBinaryOperators)
      if (one.marks.size() == size && text_.substr(offset(), size) == one.marks) return one.marks;
  return {};
}

// Precedence climbing, from the loosest operator that may stand here.
Constant Reader::constant(int precedence) {
  const Nested nested(*this);
  Constant out = primary();
  for (std::string_view marks = binary_operator(); !marks.empty(); marks = binary_operator()) {
    const int mine = std::ranges::find(kBinaryOperators, marks, &BinaryOperator::marks)->precedence;
    if (mine < precedence) break;
    const Position at = token_.position;
    for (std::size_t i = 0; i < marks.size(); ++i) advance();
    const Constant right = constant(mine + 1);
    if (out.literal.is_float || right.literal.is_float)
      refuse(Errc::statement_syntax, at, fmt::format("'{}' between floating-point constants", marks),
             "integers");
    const bool shift = marks == "<<" || marks == ">>";
    const bool is_unsigned = out.is_unsigned || (right.is_unsigned && !shift);
    const auto value = evaluate(marks, out.literal.bits, right.literal.bits, is_unsigned);
    if (!value) refuse(Errc::statement_syntax, at, "a division by zero", "another constant");
    out = {{false, false, *value}, is_unsigned && mine >= 3 && mine != 6 && mine != 7};
  }
  if (precedence == 1 && take('?')) {
    const Constant yes = constant();
    expect(':');
    const Constant no = constant();
    return out.literal.bits != 0 ? yes : no;
  }
  return out;
}

}  // namespace warpbit
