// SPDX-License-Identifier: Apache-2.0
#include "isa/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cctype>
#include <charconv>

namespace warpbit {
namespace {

// What a character may be, by its code.
enum Class : std::uint8_t {
  blank = 1,
  digit = 2,
  letter = 4,
  starts_name = 8,
  in_name = 16,
  mark = 32,
  slash = 64
};
constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> out = {};
  const auto set = [&](std::string_view all, unsigned of) {
    for (const char c : all) out[static_cast<unsigned char>(c)] |= static_cast<std::uint8_t>(of);
  };
  set(" \t\n\v\f\r", blank);
  set("0123456789", digit | in_name);
  set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", letter | starts_name | in_name);
  set("_$", starts_name | in_name);
  set("%", starts_name);
  set("{}()[],;:|!@=+-*/%&^~<>?#", mark);
  set("/", slash);  // perhaps of a comment
  return out;
}();

bool is(char c, unsigned of) {
  return (kClasses[static_cast<unsigned char>(c)] & of) != 0;
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

void Lexer::refuse(std::string seen, std::string accepted) const {
  throw Refused{{Errc::statement_syntax, warpbit::text(here()), std::move(seen), std::move(accepted)}};
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
  for (; !at_end(); skip(1)) {
    if (is(text_[at_], blank)) continue;
    if (text_[at_] != '/' || (peek(1) != '/' && peek(1) != '*')) return true;
    const bool is_line = peek(1) == '/';
    const std::size_t end = is_line ? text_.find('\n', at_) : text_.find("*/", at_ + 2);
    if (end == text_.npos && !is_line) return false;
    skip(std::min(end, text_.size()) + (is_line ? 0 : 1) - at_);
  }
  return true;
}

std::size_t Lexer::name_end(std::size_t from) const {
  while (from < text_.size() && is(text_[from], in_name)) ++from;
  return from;
}

// Digits, letters and dots; a sign after the e of a decimal exponent.
std::size_t Lexer::number_end() const {
  const bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
  std::size_t end = at_;
  while (end < text_.size()) {
    const char c = text_[end], before = end > at_ ? text_[end - 1] : ' ';
    const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') && !hex;
    if (!is(c, letter | digit) && c != '.' && !sign) break;
    ++end;
  }
  return end;
}

void Lexer::next(Token& out) {
  const std::size_t before = at_;
  if (!at_end() && is(text_[at_], blank | slash) && !skip_blanks()) refuse("a comment without its end", "'*/'");
  out.adjacent = at_ == before && at_ > 0;
  out.position = here();
  if (at_end()) {
    out.kind = Token::Kind::end;
    out.text = text_.substr(at_, 0);
    return;
  }
  std::size_t end = at_ + 1;
  const char c = text_[at_];
  if (is(c, starts_name) && (c != '%' || is(peek(1), in_name))) {
    out.kind = Token::Kind::name;
    end = name_end(end);
  } else if (is(c, mark)) {
    out.kind = Token::Kind::mark;
  } else if (c == '.' && (out.adjacent || !is(peek(1), digit))) {
    out.kind = Token::Kind::dotted;
    end = name_end(end);
    while (end + 2 < text_.size() && text_[end] == ':' && text_[end + 1] == ':' && is(text_[end + 2], in_name))
      end = name_end(end + 2);
    if (end + 1 < text_.size() && text_[end] == ':' && is(text_[end - 1], digit) && is(text_[end + 1], digit))
      end = name_end(end + 1);  // .sp::2:4
    if (end == at_ + 1) refuse("'.' alone", "a directive or a qualifier after '.'");
  } else if (is(c, digit) || c == '.') {
    out.kind = Token::Kind::number;
    end = number_end();
    const std::string_view digits = text_.substr(at_, end - at_);
    if (!read_number(digits, out.literal))
      refuse(fmt::format("'{}' is not a number", digits), "an integer or floating-point constant");
  } else if (c == '"') {
    out.kind = Token::Kind::string;
    end = text_.find('"', at_ + 1);
    if (end == text_.npos) refuse("a string without its end", "'\"'");
    out.text = text_.substr(at_ + 1, end - at_ - 1);
    skip(end + 1 - at_);
    return;
  } else {
    const auto byte = static_cast<unsigned char>(c);
    refuse(byte >= 0x20 && byte < 0x7F ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02X}", byte),
           "a name, a number, a directive or a mark of PTX");
  }
  out.text = {text_.data() + at_, end - at_};
  at_ = end;
}

}  // namespace warpbit
