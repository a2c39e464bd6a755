// SPDX-License-Identifier: Apache-2.0
#include "isa/lexer.hpp"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>

namespace warpbit {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_name_start(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}
bool is_name_part(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

bool hexadecimal(std::string_view s, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
  return error == std::errc{} && end == s.data() + s.size();
}

// Of more than 64 bits modulo 2^64. As ptxas 13.0 it refuses a digit behind a number of 64 bits.
bool read_integer(std::string_view text, Literal& out) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X"),
             binary = text.starts_with("0b") || text.starts_with("0B");
  const std::uint64_t base = hex ? 16 : binary ? 2 : text.starts_with('0') ? 8 : 10;
  text.remove_prefix(hex || binary ? 2 : 0);
  if (text.ends_with('U')) text.remove_suffix(1);
  if (text.empty()) return false;
  out = {};
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(std::tolower(c)));
    if (digit >= base || out.bits >> 63 != 0) return false;
    out.bits = out.bits * base + digit;
  }
  return true;
}

// A number without a sign (PTX manual, "Integer Constants" and "Floating-Point Constants"); false if it is none.
bool read_number(std::string_view s, Literal& out) {
  const char kind = s.size() > 1 && s[0] == '0' ? static_cast<char>(s[1] | 0x20) : ' ';
  if ((kind == 'f' && s.size() == 10) || (kind == 'd' && s.size() == 18)) {
    out = {true, kind == 'f', 0};
    return hexadecimal(s.substr(2), out.bits);
  }
  const bool hex = kind == 'x';
  if (!hex && s.find_first_of(".eE") != s.npos) {
    double value = 0;  // a decimal constant's value; no arithmetic is done on it
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    out = {true, false, std::bit_cast<std::uint64_t>(value)};
    return error == std::errc{} && end == s.data() + s.size();
  }
  return read_integer(s, out);
}

}  // namespace

std::string text(Position at) {
  return at.line == 0 ? fmt::format("column {}", at.column)
                      : fmt::format("line {}, column {}", at.line, at.column);
}

Error Lexer::error(std::string seen, std::string accepted) const {
  return {Errc::statement_syntax, warpbit::text(here()), std::move(seen), std::move(accepted)};
}

void Lexer::skip(std::size_t characters) {
  for (; characters > 0 && !at_end(); --characters)
    if (text_[at_++] == '\n' && line_ > 0) {
      ++line_;
      line_start_ = at_;
    }
}

// Blanks and comments; false for a comment that does not end.
bool Lexer::skip_blanks() {
  while (!at_end()) {
    if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
      skip(1);
    } else if (peek() == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (peek() == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) return false;
      skip(end + 2 - at_);
    } else {
      return true;
    }
  }
  return true;
}

std::size_t Lexer::name_end(std::size_t from) const {
  while (from < text_.size() && is_name_part(text_[from])) ++from;
  return from;
}

// Digits, letters and dots; a sign after the e of a decimal exponent.
std::size_t Lexer::number_end() const {
  const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  std::size_t end = at_;
  while (end < text_.size()) {
    const char c = text_[end], before = end > at_ ? text_[end - 1] : ' ';
    const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') && !hex;
    if (!is_letter(c) && !is_digit(c) && c != '.' && !sign) break;
    ++end;
  }
  return end;
}

Result<Token> Lexer::next() {
  const std::size_t before = at_;
  if (!skip_blanks()) return error("a comment without its end", "'*/'");
  Token out;
  out.adjacent = at_ == before && at_ > 0;
  out.position = here();
  out.text = text_.substr(at_, 0);
  if (at_end()) return out;

  std::size_t end = at_ + 1;
  if (is_name_start(peek()) && (peek() != '%' || is_name_part(peek(1)))) {
    out.kind = Token::Kind::name;
    end = name_end(end);
  } else if (peek() == '.' && (out.adjacent || !is_digit(peek(1)))) {
    out.kind = Token::Kind::dotted;
    end = name_end(end);
    while (text_.substr(end, 2) == "::" && name_end(end + 2) > end + 2) end = name_end(end + 2);
    if (end == at_ + 1) return error("'.' alone", "a directive or a qualifier after '.'");
  } else if (is_digit(peek()) || peek() == '.') {
    out.kind = Token::Kind::number;
    end = number_end();
    const std::string_view digits = text_.substr(at_, end - at_);
    if (!read_number(digits, out.literal))
      return error(fmt::format("'{}' is not a number", digits), "an integer or floating-point constant");
  } else if (peek() == '"') {
    out.kind = Token::Kind::string;
    end = text_.find('"', at_ + 1);
    if (end == text_.npos) return error("a string without its end", "'\"'");
    out.text = text_.substr(at_ + 1, end - at_ - 1);
    skip(end + 1 - at_);
    return out;
  } else {
    const auto c = static_cast<unsigned char>(peek());
    if (std::string_view("{}()[],;:|!@=+-*/%&^~<>?#").find(peek()) == std::string_view::npos)
      return error(c >= 0x20 && c < 0x7F ? fmt::format("'{}'", peek()) : fmt::format("byte 0x{:02X}", c),
                   "a name, a number, a directive or a mark of PTX");
    out.kind = Token::Kind::mark;
  }
  out.text = text_.substr(at_, end - at_);
  at_ = end;
  return out;
}

}  // namespace warpbit
