// SPDX-License-Identifier: Apache-2.0
#include "isa/statement.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <utility>

namespace warpbit {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// PTX manual, "Identifiers": a letter, or one of _ $ % followed by something; then letters, digits, _ and $.
bool is_name_start(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}
constexpr auto kNameParts = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$"))
    out[static_cast<unsigned char>(c)] = true;
  return out;
}();
bool is_name_part(char c) {
  return kNameParts[static_cast<unsigned char>(c)];
}

// PTX manual, "Integer Constants" and "Floating-Point Constants".
bool integer(std::string_view s, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc{} && end == s.data() + s.size();
}

// Changes the sign of a constant; false for 0f... and 0d..., which have none.
bool negate(std::string_view written, Literal& literal) {
  if (literal.is_float && (written.starts_with("0f") || written.starts_with("0F") ||
                           written.starts_with("0d") || written.starts_with("0D")))
    return false;
  literal.bits = literal.is_float ? literal.bits ^ std::uint64_t{1} << 63 : ~literal.bits + 1;
  return true;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The opcode and its qualifiers.
  Result<Statement> name() {
    Statement s;
    skip_blanks();
    if (at_end()) return fail("nothing", "an instruction");
    if (peek() == '@')
      return fail("a guard predicate", "the bare instruction; guards belong to the kernel around it");
    s.opcode = word();
    if (s.opcode.empty()) return fail(seen(), "the name of an instruction");
    s.qualifiers.reserve(12);
    for (skip_blanks(); take('.'); skip_blanks()) {
      const std::string_view qualifier = word();
      if (qualifier.empty()) return fail(seen(), "a qualifier after '.'");
      s.qualifiers.push_back(qualifier);
    }
    const bool apart = at_ > word_end_ || peek() == '{' || peek() == '[';
    if (!at_end() && !apart && peek() != ';') return fail(seen(), "'.', a blank, '{', '[' or ';'");
    return s;
  }

  Result<Statement> statement() {
    Result<Statement> named = name();
    if (!named) return named.error();
    Statement& s = *named;
    if (!at_end()) s.operands.reserve(4);
    while (!at_end() && peek() != ';') {
      Result<OperandText> operand = this->operand();
      if (!operand) return operand.error();
      s.operands.push_back(std::move(*operand));
      skip_blanks();
      if (at_end() || peek() == ';') break;
      if (!take(',')) return fail(seen(), "',' between operands, or ';'");
      skip_blanks();
      if (at_end() || peek() == ';') return fail(seen(), "an operand after ','");
    }
    s.terminated = take(';');
    skip_blanks();
    if (unterminated_comment_) return fail("a comment without its end", "'*/'");
    if (!at_end()) return fail(seen(), "the end: one statement at a time");
    return named;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (!at_end()) {
      if (is_blank(peek())) {
        ++at_;
      } else if (peek() == '/' && peek(1) == '/') {
        while (!at_end() && peek() != '\n') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        unterminated_comment_ = end == text_.npos;
        at_ = unterminated_comment_ ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }
  std::string seen() const {
    if (at_end()) return "the text ends";
    const auto c = static_cast<unsigned char>(peek());
    return c >= 0x20 && c < 0x7F ? fmt::format("found '{}'", peek()) : fmt::format("found byte 0x{:02X}", c);
  }
  Error fail(std::string seen, std::string expected) const {
    return Error{Errc::statement_syntax, fmt::format("column {}", at_ + 1), std::move(seen),
                 std::move(expected)};
  }

  // An opcode or a qualifier: letters, digits, '_', and "::" between parts.
  std::string_view word() {
    const std::size_t first = at_;
    while (!at_end()) {
      if (is_name_part(peek())) {
        ++at_;
      } else if (peek() == ':' && peek(1) == ':' && at_ > first && is_name_part(peek(2))) {
        at_ += 2;
      } else {
        break;
      }
    }
    word_end_ = at_;
    return text_.substr(first, at_ - first);
  }

  Result<OperandText> operand() {
    OperandText out;
    const std::size_t first = at_;
    if (take('{')) {
      out.kind = OperandText::Kind::vector;
      do {
        skip_blanks();
        Result<Item> item = this->item();
        if (!item) return item.error();
        out.items.push_back(*item);
        skip_blanks();
      } while (take(','));
      if (!take('}')) return fail(seen(), "',' or '}'");
    } else if (take('[')) {
      out.kind = OperandText::Kind::address;
      Result<void> result = address(out);
      if (!result) return result.error();
    } else {
      Result<Item> item = this->item();
      if (!item) return item.error();
      out.items.push_back(*item);
    }
    out.text = text_.substr(first, at_ - first);
    return out;
  }

  // base or base+offset up to ']'; the offset may have a sign. The assembler does not accept base-offset.
  Result<void> address(OperandText& out) {
    skip_blanks();
    Result<Item> base = item();
    if (!base) return base.error();
    out.items.push_back(*base);
    skip_blanks();
    if (peek() == '-') return fail("'-'", "'+' and the offset, such as [p+-16]");
    if (take('+'))
      if (Result<void> added = sum(out.offset); !added) return added;
    if (!take(']')) return fail(seen(), "']'");
    return {};
  }

  // Integers, added and subtracted, with parentheses (PTX manual, "Constant Expressions").
  Result<void> sum(std::int64_t& out) {
    std::vector<bool> open{false};  // parentheses, and whether what they hold is subtracted
    std::uint64_t total = 0;
    do {
      bool minus = open.back();
      for (skip_blanks(); peek() == '+' || peek() == '-' || peek() == '('; skip_blanks()) {
        if (peek() == '-') minus = !minus;
        if (peek() == '(') open.push_back(minus);
        ++at_;
      }
      const Result<Item> term = item();
      if (!term) return term.error();
      if (!term->is_literal || term->literal.is_float)
        return fail(std::string(term->text), "an integer offset");
      total += minus ? -term->literal.bits : term->literal.bits;
      for (skip_blanks(); open.size() > 1 && take(')'); skip_blanks()) open.pop_back();
    } while (peek() == '+' || peek() == '-');
    if (open.size() > 1) return fail(seen(), "')'");
    out = static_cast<std::int64_t>(total);
    return {};
  }

  Result<Item> item() {
    const std::size_t first = at_;
    if (is_name_start(peek())) {
      ++at_;
      while (is_name_part(peek()) || (peek() == '.' && is_letter(peek(1)))) ++at_;  // %v.x
      const std::string_view text = text_.substr(first, at_ - first);
      if (text == "%" || text == "$") return fail(fmt::format("'{}' alone", text), "a name");
      if (text == "WARP_SZ") return fail("the constant WARP_SZ", "a register name or its value, 32");
      return Item{text, false, {}};
    }
    if (is_digit(peek()) || ((peek() == '-' || peek() == '+') && (is_digit(peek(1)) || peek(1) == '.')) ||
        (peek() == '.' && is_digit(peek(1))))
      return number();
    return fail(seen(), "a register name, a literal, '{' or '['");
  }

  Result<Item> number() {
    const std::size_t first = at_;
    const bool negative = peek() == '-';
    if (negative || peek() == '+') ++at_;
    const std::size_t digits = at_;
    while (is_name_part(peek()) || peek() == '.' ||
           ((peek() == '-' || peek() == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') &&
            !is_hex(digits)))
      ++at_;
    Item out{text_.substr(first, at_ - first), true, {}};
    const std::string_view written = text_.substr(digits, at_ - digits);
    if (!read_number(written, out.literal) || (negative && !negate(written, out.literal))) {
      at_ = first;
      return fail(fmt::format("'{}' is not a number", out.text), "an integer or floating-point constant");
    }
    return out;
  }
  bool is_hex(std::size_t digits) const {
    return text_.substr(digits, 2) == "0x" || text_.substr(digits, 2) == "0X";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool unterminated_comment_ = false;
  std::size_t word_end_ = 0;  // right after the last opcode or qualifier
};

}  // namespace

bool read_number(std::string_view s, Literal& out) {
  const char kind = s.size() > 1 && s[0] == '0' ? static_cast<char>(s[1] | 0x20) : ' ';
  if ((kind == 'f' && s.size() == 10) || (kind == 'd' && s.size() == 18)) {
    out = {true, kind == 'f', 0};
    return integer(s.substr(2), 16, out.bits);
  }
  const bool hex = kind == 'x', binary = kind == 'b';
  if (!hex && s.find_first_of(".eE") != s.npos) {
    double value = 0;  // a decimal constant's value; no arithmetic is done on it
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    out = {true, false, std::bit_cast<std::uint64_t>(value)};
    return error == std::errc{} && end == s.data() + s.size();
  }
  out = {};
  if (s.ends_with('U')) s.remove_suffix(1);
  const bool octal = s.size() > 1 && s[0] == '0';
  return integer(s.substr(hex || binary ? 2 : 0), hex ? 16 : binary ? 2 : octal ? 8 : 10, out.bits);
}

Result<Statement> split(std::string_view text) {
  return Scanner(text).statement();
}

Result<Statement> split_name(std::string_view text) {
  return Scanner(text).name();
}

std::string spell(std::string_view opcode, std::span<const std::string_view> qualifiers) {
  std::string out;
  out.reserve(64);
  out = opcode;
  for (const std::string_view q : qualifiers)
    if (!q.empty()) out.append(".").append(q);
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
