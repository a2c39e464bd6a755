// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of a kernel as text, line by line, and what goes wrong in such lines: a constant is its
// neighbour, a shift a mask, two terms are exchanged, a loop ends too early. Nothing here knows an instruction.
#pragma once

#include <catch2/catch.hpp>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace kernel_text {

using Variables = std::map<std::string, std::int64_t>;

struct Token {
  enum class Kind { name, number, sign } kind;
  std::string text;
  bool operator==(const Token&) const = default;
};

// "name = expression"
struct Line {
  std::string name;
  std::vector<Token> tokens;  // of the expression
};
using Text = std::vector<Line>;

inline std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t end = i + 1;
    if (std::isspace(c)) {
    } else if (std::isalpha(c)) {
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      out.push_back({Token::Kind::name, text.substr(i, end - i)});
    } else if (std::isdigit(c)) {
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
      out.push_back({Token::Kind::number, text.substr(i, end - i)});
    } else {
      if (end < text.size() && (c == '<' || c == '>')) ++end;
      out.push_back({Token::Kind::sign, text.substr(i, end - i)});
    }
    i = end;
  }
  return out;
}

inline Text parse(const std::string& text) {
  Text out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    out.push_back({tokens_of(line.substr(0, equals)).at(0).text, tokens_of(line.substr(equals + 1))});
  }
  return out;
}

inline std::string spell(const Line& line) {
  std::string out = line.name + " =";
  for (const Token& token : line.tokens) out += " " + token.text;
  return out;
}

// C's operators on integers, by precedence.
class Evaluation {
 public:
  Evaluation(const Line& line, const Variables& variables) : tokens_(line.tokens), variables_(variables) {}
  std::int64_t run() { return binary(0); }

 private:
  std::int64_t atom() {
    const Token& token = tokens_.at(at_++);
    if (token.kind == Token::Kind::number) return std::stoll(token.text);
    if (token.kind == Token::Kind::name) return variables_.at(token.text);
    const std::int64_t out = binary(0);  // "("
    ++at_;                               // ")"
    return out;
  }
  static std::int64_t apply(const std::string& sign, std::int64_t x, std::int64_t y) {
    const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
    if (sign == "|") return x | y;
    if (sign == "^") return x ^ y;
    if (sign == "&") return x & y;
    if (sign == "<<") return static_cast<std::int64_t>(uy > 63 ? 0 : ux << uy);
    if (sign == ">>") return static_cast<std::int64_t>(uy > 63 ? 0 : ux >> uy);
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    return x * y;
  }
  std::int64_t binary(std::size_t level) {
    static const std::vector<std::set<std::string>> kLevels = {{"|"},        {"^"},      {"&"},
                                                               {"<<", ">>"}, {"+", "-"}, {"*"}};
    if (level == kLevels.size()) return atom();
    std::int64_t out = binary(level + 1);
    while (at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::sign &&
           kLevels[level].contains(tokens_[at_].text)) {
      const std::string sign = tokens_[at_++].text;
      out = apply(sign, out, binary(level + 1));
    }
    return out;
  }

  const std::vector<Token>& tokens_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

// Evaluates the lines whose names begin with `prefix`, in order.
inline void evaluate(const Text& text, const std::string& prefix, Variables& variables) {
  for (const Line& line : text)
    if (line.name.starts_with(prefix)) variables[line.name] = Evaluation(line, variables).run();
}

struct Mutation {
  std::size_t line;
  std::string line_name, what;  // what: constant, operator, terms, bound, arguments
  Text text;
};

// All mutations of a text. Lines named "..._bound" are loop bounds; the right sides of successive lines named
// "..._from" are arguments.
inline std::vector<Mutation> mutations(const Text& text) {
  std::vector<Mutation> out;
  const auto add = [&](std::size_t line, const std::string& what, auto change) {
    Mutation m{line, text[line].name, what, text};
    change(m.text);
    out.push_back(std::move(m));
  };
  for (std::size_t l = 0; l < text.size(); ++l) {
    const std::vector<Token>& tokens = text[l].tokens;
    const bool bound = text[l].name.ends_with("_bound"), argument = text[l].name.ends_with("_from");
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto replace = [&](const std::string& what, const std::string& by) {
        add(l, what, [&](Text& t) { t[l].tokens[i].text = by; });
      };
      if (tokens[i].kind == Token::Kind::number && !argument) {
        const std::int64_t value = std::stoll(tokens[i].text);
        std::set<std::int64_t> neighbours{value - 1};
        if (!bound) neighbours.insert({value + 1, 2 * value, value / 2});
        for (const std::int64_t n : neighbours)
          if (n >= 0 && n != value) replace(bound ? "bound" : "constant", std::to_string(n));
      }
      if (tokens[i].text == ">>") replace("operator", "&");
      if (tokens[i].text == "&") replace("operator", ">>");
      if (tokens[i].kind == Token::Kind::name)
        for (std::size_t j = i + 1; j < tokens.size(); ++j)
          if (tokens[j].kind == Token::Kind::name && !(tokens[j] == tokens[i]))
            add(l, "terms", [&](Text& t) { std::swap(t[l].tokens[i], t[l].tokens[j]); });
    }
    if (argument && l + 1 < text.size() && text[l + 1].name.ends_with("_from"))
      add(l, "arguments", [&](Text& t) { std::swap(t[l].tokens, t[l + 1].tokens); });
  }
  return out;
}

}  // namespace kernel_text
