// SPDX-License-Identifier: Apache-2.0
// A random kernel, a function of its kind and seed: 30 to 80 statements, each register written before it is read.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "verify/cases/random/literals.hpp"
#include "verify/cases/random/registers.hpp"

namespace random_kernels {

inline constexpr std::string_view kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";
inline constexpr int kMaxThreads = 128;
inline constexpr int kPrivateBytes =
    2048;  ///< of shared memory behind the tile, 16 for each of at most 128 threads

/// What operand() makes registers of the head of.
inline constexpr std::pair<std::string_view, std::string_view> kHeadRegisters[] = {
    {"tid", "$1"}, {"tile", "$2"}, {"own", "$3"}, {"other", "$4"}, {"in", "$5"}, {"out", "$6"}};

class Builder {
 public:
  Builder(const Kind& kind, std::uint64_t seed)
      : kind_(kind),
        name_(std::string(kind.name) + "_" + std::to_string(seed)),
        draw_(hash_of(kind.name, seed)) {
    threads_ = draw_.percent(50) ? 64 : 128;
    ftz_ = kind.ftz == Ftz::always || (kind.ftz == Ftz::either && draw_.percent(50));
  }

  std::string text() {
    load();
    const int statements = draw_.between(30, 80);
    while (statements_ < statements) any();
    store();
    return head() + body_ + "  ret;\n}\n";
  }
  const std::string& name() const { return name_; }
  int threads() const { return threads_; }

 private:
  std::string source(char letter) { return registers_.source(draw_, letter); }

  // ---- Rows

  /// One of each (a|b|c), and the kernel's modifiers.
  std::string chosen(std::string_view row) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '(') {
        const std::size_t end = row.find(')', i);
        std::string_view inside = row.substr(i + 1, end - i - 1);
        int alternatives = 1;
        for (const char c : inside) alternatives += c == '|';
        for (int skip = draw_.below(alternatives); skip > 0; --skip) inside.remove_prefix(inside.find('|') + 1);
        out += inside.substr(0, inside.find('|'));
        i = end;
      } else if (row[i] == '$') {
        if (row[++i] == 'z')
          out += ftz_ ? ".ftz" : "";
        else
          out += draw_.percent(12) ? ".rn" : "";
      } else if (row[i] == '<') {
        const std::size_t end = row.find('>', i);
        const std::string_view word = row.substr(i + 1, end - i - 1);
        out += std::ranges::find(kHeadRegisters, word, &std::pair<std::string_view, std::string_view>::first)
                   ->second;
        tile_ |= word == "own";
        i = end;
      } else {
        out += row[i];
      }
    }
    return out;
  }
  /// Are there values of all classes that it reads, and room for the results that it writes?
  bool possible(const std::string& row) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      if ((row[i] == '%' || row[i] == '?') && !registers_.has(row[i + 1])) return false;
      if (row[i] == '&' && slot_ + class_of(row[i + 1]).bytes > 20) return false;
    }
    return true;
  }
  std::string range(std::string_view row, std::size_t& i) {
    int numbers[3] = {0, 0, 1}, at = 0;
    for (++i; row[i] != ']'; ++i) {
      if (row[i] == ':')
        numbers[++at] = 0;
      else
        numbers[at] = 10 * numbers[at] + (row[i] - '0');
    }
    return std::to_string(numbers[0] + numbers[2] * draw_.below((numbers[1] - numbers[0]) / numbers[2] + 1));
  }
  int place(int bytes) {
    slot_ = (slot_ + bytes - 1) / bytes * bytes;
    const int at = slot_;
    slot_ = (slot_ + bytes + 3) / 4 * 4;
    return at;
  }
  std::string operand(std::string_view row, std::size_t& i) {
    const char mark = row[i], letter = row[++i];
    switch (mark) {
      case '=': return registers_.fresh(letter);
      case '?': return draw_.percent(kind_.literals) ? literals::literal(draw_, letter) : source(letter);
      case '%': return source(letter);
      case '&': return std::to_string(place(class_of(letter).bytes));
      case '$': return (letter > '4' ? "%rd" : "%r") + std::string(1, letter);
      case '#': return letter == '[' ? range(row, i) : literals::literal(draw_, letter);
      default: {
        int back = 0;
        for (; row[i] == '^'; ++i) ++back;
        return registers_.made(row[i], back);
      }
    }
  }
  bool add(std::string_view row) {
    const bool everyone = row.front() == '!';
    if (everyone && diverged_ > 0) return false;
    const std::string text = chosen(row.substr(everyone ? 1 : 0));
    if (!possible(text)) return false;
    registers_.begin_row();
    std::string out = "  ";
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_operand = std::string_view("=?%&$#^").find(text[i]) != std::string_view::npos;
      if (is_operand) {
        out += operand(text, i);
      } else if (text[i] == ';') {
        end(out);
        out = " ";
      } else {
        out += text[i];
      }
    }
    end(out);
    return true;
  }
  void end(const std::string& statement) {
    body_ += statement + ";\n";
    ++statements_;
    registers_.end_statement(statement);
  }
  template <class Rows>
  const Row& weighted(const Rows& rows) {
    int sum = 0;
    for (const Row& row : rows) sum += row.weight;
    int at = draw_.below(sum);
    for (const Row& row : rows)
      if ((at -= row.weight) < 0) return row;
    return *rows.begin();
  }
  void any() {
    int at = draw_.below(100);
    const Group* group = kind_.groups;
    while ((at -= group->percent) >= 0) ++group;
    const Row& row = weighted(group->rows);
    if (row.text.front() == ':')
      block(row.text);
    else
      add(row.text);
  }

  // ---- Blocks of statements

  void block(std::string_view word) {
    if (depth_ == 3) return;
    ++depth_;
    if (word == ":if") branch(false);
    if (word == ":else") branch(true);
    if (word == ":loop") loop(draw_.between(1, 8), draw_.between(2, 6), false);
    if (word == ":nest") loop(draw_.between(1, 4), draw_.between(1, 3), true);
    --depth_;
  }
  std::string label() { return "L_" + name_ + "_" + std::to_string(labels_++); }
  /// Registers that a block hands on, each with a value before it.
  std::vector<std::pair<char, std::string>> carried() {
    std::vector<std::pair<char, std::string>> out;
    for (int i = draw_.between(1, 3); i > 0; --i) {
      const char letter =
          kind_.carried[static_cast<std::size_t>(draw_.below(static_cast<int>(kind_.carried.size())))];
      if (!registers_.has(letter)) continue;
      registers_.begin_row();
      const std::string from = source(letter), to = registers_.fresh(letter);
      end("  mov." + std::string(class_of(letter).moved) + " " + to + ", " + from);
      out.push_back({letter, to});
    }
    return out;
  }
  /// Statements whose registers only they know; then each carried register is written.
  void inside(const std::vector<std::pair<char, std::string>>& hand, int statements, bool nest) {
    const Registers::Sizes sizes = registers_.sizes();
    for (int i = 0; i < statements; ++i) any();
    if (nest) block(":loop");
    for (const auto& [letter, to] : hand) write(letter, to);
    registers_.shrink(sizes);
  }
  void write(char letter, const std::string& to) {
    const std::string z = ftz_ ? ".ftz" : "";
    const int way = draw_.below(4);
    const std::string first = source(letter);
    if (letter == 'f' && way == 0)
      end("  fma.rn" + z + ".f32 " + to + ", " + first + ", " + source(letter) + ", " + to);
    else if (letter == 'f' && way < 3)
      end("  add" + z + ".f32 " + to + ", " + to + ", " + first);
    else if (letter == 'd' && way < 3)
      end("  add.f64 " + to + ", " + first + ", " + to);
    else if (letter == 'r' && way < 3)
      end("  add.u32 " + to + ", " + to + ", " + first);
    else
      end("  mov." + std::string(class_of(letter).moved) + " " + to + ", " + first);
  }
  void branch(bool other) {
    if (!registers_.has('p') && !add("setp.lt.f32 =p, %f, ?f")) return;
    const auto hand = carried();
    const std::string behind = label(), second = other ? label() : behind;
    end("  @" + std::string(draw_.percent(50) ? "!" : "") + source('p') + " bra " + second);
    ++diverged_;
    inside(hand, draw_.between(1, 5), false);
    if (other) {
      end("  bra.uni " + behind);
      body_ += second + ":\n";
      inside(hand, draw_.between(1, 4), false);
    }
    --diverged_;
    body_ += behind + ":\n";
  }
  void loop(int turns, int statements, bool nest) {
    const auto hand = carried();
    const int first = draw_.percent(60) ? 0 : draw_.between(1, 9),
              step = draw_.percent(75) ? 1 : draw_.between(2, 5);
    registers_.begin_row();
    const std::string counter = registers_.fresh('r'), top = label();
    end("  mov.b32 " + counter + ", " + std::to_string(first));
    body_ += top + ":\n";
    if (draw_.percent(50)) add("cvt.rn.f32.u32 =f, %r");
    inside(hand, statements, nest);
    end("  add.u32 " + counter + ", " + counter + ", " + std::to_string(step));
    const std::string again = registers_.fresh('p');
    end("  setp.lt.u32 " + again + ", " + counter + ", " + std::to_string(first + turns * step));
    end("  @" + again + " bra " + top);
  }

  // ---- The ends

  void load() {
    int at = 0;
    for (const char letter : kind_.inputs) {
      const Class& one = class_of(letter);
      end("  ld.global." + std::string(one.declared) + " " + registers_.fresh(letter) + ", [%rd5+" +
          std::to_string(at) + "]");
      at += one.bytes == 8 ? 8 : 4;
    }
    statements_ = 0;
  }
  /// Values that nobody has read, then others, until the results are full.
  void store() {
    for (const bool used : {false, true}) {
      auto left = registers_.all(used);
      if (used) std::erase_if(left, [](const auto& one) { return one.first->letter == 'p'; });
      for (int predicates = 0; !left.empty() && slot_ < 4 * kWords;) {
        const auto at = left.begin() + draw_.below(static_cast<int>(left.size()));
        const auto [one, value] = *at;
        left.erase(at);
        if (one->letter != 'p' || predicates++ == 0) result(*one, value);
      }
    }
  }
  void result(const Class& one, std::string from) {
    const int bytes = one.letter == 'p' ? 4 : one.bytes;
    if ((slot_ + bytes - 1) / bytes * bytes + bytes > 4 * kWords) return;
    std::string_view type = one.declared;
    if (one.letter == 'p') {
      const std::string word = registers_.fresh('r');
      end("  selp.b32 " + word + ", 1, 0, " + from);
      from = word, type = "b32";
    }
    end("  st.global." + std::string(type) + " [%rd6+" + std::to_string(place(bytes)) + "], " + from);
  }
  std::string head() const {
    std::string out =
        ".visible .entry " + name_ + "(.param .u64 in, .param .u64 out)\n{\n " + registers_.declarations();
    out +=
        "\n  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 32;"
        "\n  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;\n";
    if (tile_)
      out +=
          "  .shared .align 16 .b8 tile_" + name_ + "[" + std::to_string(2 * kPrivateBytes) +
          "];\n  mov.u32 %r2, tile_" + name_ +
          "; mov.b32 %r4, 0; mad.lo.u32 %r3, %r1, 16, %r2;\n  st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4};\n";
    return out;
  }

  const Kind& kind_;
  std::string name_, body_;
  Draw draw_;
  int threads_;
  bool ftz_, tile_ = false;
  Registers registers_;
  int statements_ = 0, slot_ = 0, depth_ = 0, diverged_ = 0, labels_ = 0;
};

}  // namespace random_kernels
