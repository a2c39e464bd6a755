// SPDX-License-Identifier: Apache-2.0
// A random kernel, a function of its kind and seed: 30 to 80 statements, each register written before it is read.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "numbers.hpp"

namespace random_kernels {

inline constexpr std::string_view kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";
inline constexpr int kMaxThreads = 128;
inline constexpr int kPrivateBytes =
    2048;  ///< of shared memory behind the tile, 16 for each of at most 128 threads

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
  /// `degree`: of how many inputs it is a product, or about as large as one. Products of many are infinite or zero.
  struct Value {
    int number, degree = 1;
    bool used = false;
  };
  using Pool = std::vector<Value>;

  // ---- Registers

  static std::size_t index_of(char letter) { return static_cast<std::size_t>(&class_of(letter) - kClasses); }
  Pool& pool(char letter) { return pools_[index_of(letter)]; }
  /// Classes with one kind of register share its numbers: those of the first of them.
  int& count(char letter) {
    for (const Class& one : kClasses)
      if (one.prefix == class_of(letter).prefix) return counts_[static_cast<std::size_t>(&one - kClasses)];
    return counts_[0];
  }
  static std::string name_of(char letter, int number) {
    return std::string(class_of(letter).prefix) + std::to_string(number);
  }
  std::string fresh(char letter) {
    const int number = count(letter)++;
    pending_.push_back({letter, number});
    return name_of(letter, number);
  }
  /// Those of the statement that has ended can be read.
  void publish(int degree) {
    for (const auto& [letter, number] : pending_) pool(letter).push_back({number, degree});
    made_.insert(made_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    degrees_.clear();
  }
  /// A recent one, any, or one that nobody has read.
  Value& candidate(Pool& values) {
    const int size = static_cast<int>(values.size());
    int at = draw_.below(size);
    const int way = draw_.below(100);
    if (way < 35) at = size - 1 - draw_.below(size < 5 ? size : 5);
    if (way >= 65)
      for (int step = 0; step < size && values[static_cast<std::size_t>(at)].used; ++step) at = (at + 1) % size;
    return values[static_cast<std::size_t>(at)];
  }
  std::string source(char letter) {
    const int highest = letter == 'h' || letter == 'x' ? 2 : 4;
    Pool& values = pool(letter);
    Value* best = &candidate(values);
    for (int tries = 0; tries < 4 && (best->degree > highest || (best == last_ && !draw_.percent(15))); ++tries)
      best = &candidate(values);
    for (std::size_t step = 0, at = static_cast<std::size_t>(best - values.data());
         step < values.size() && best->degree > highest; ++step)
      best = &values[(at + step) % values.size()];
    last_ = best;
    best->used = true;
    degrees_.push_back(best->degree);
    return name_of(letter, best->number);
  }
  /// Of what a statement makes of its sources.
  int degree_of(std::string_view statement) const {
    const auto is = [&](std::string_view opcode) { return statement.find(opcode) != std::string_view::npos; };
    int sum = 0, highest = 0;
    for (const int one : degrees_) sum += one, highest = one > highest ? one : highest;
    if (is(" ex2.")) return 5;
    if (is(" sin.") || is(" cos.") || is(" tanh.") || is(" lg2.") || is(".sat.")) return 1;
    if (is(" sqrt.") || is(" rsqrt.")) return (highest + 1) / 2;
    if (is(" mul.") || is(" div.")) return sum;
    if (is(" fma.")) return degrees_.size() == 3 ? std::max(degrees_[0] + degrees_[1], degrees_[2]) : sum;
    return highest;
  }
  /// The last, or last but some, that this row has made.
  std::string made(char letter, int back) {
    for (std::size_t i = made_.size(); i-- > 0;)
      if (made_[i].first == letter && back-- == 0) {
        for (Value& one : pool(letter))
          if (one.number == made_[i].second) one.used = true, degrees_.push_back(one.degree);
        return name_of(letter, made_[i].second);
      }
    return "?";
  }

  // ---- Literals

  std::string hex(const char* format, std::uint64_t code) {
    char out[32];
    std::snprintf(out, sizeof out, format, static_cast<unsigned long long>(code));
    return out;
  }
  static std::uint32_t code_of(float number) {
    std::uint32_t code;
    __builtin_memcpy(&code, &number, sizeof code);
    return code;
  }
  std::uint64_t simple() {
    static constexpr float kNumbers[] = {0,     1,  -1, 0.5F, 2,     -2,  0.25F, 4,  3,  6,
                                         -2.5F, 10, 37, 1.5F, 0.75F, 100, 255,   -7, 16, 0.125F};
    return code_of(kNumbers[draw_.below(20)]);
  }
  std::uint64_t real() {
    if (draw_.percent(3)) return special(format_of('f'), draw_.word());
    return draw_.percent(40) ? simple() : ordinary(format_of('f'), draw_.word(), 3);
  }
  std::uint64_t known() {
    if (draw_.percent(50)) return code_of(static_cast<float>(draw_.between(1, 300)));
    if (draw_.percent(50))
      return code_of(static_cast<float>(draw_.between(1, 64)) / static_cast<float>(1 << draw_.between(0, 8)));
    return ordinary(format_of('f'), draw_.word(), 8) & (draw_.percent(80) ? 0x7FFFFFFFU : 0xFFFFFFFFU);
  }
  std::uint64_t power_of_two() {
    const int exponent = draw_.percent(85) ? draw_.between(-3, 4) : draw_.between(-60, 60);
    return (static_cast<std::uint64_t>(127 + exponent) << 23) | (draw_.percent(12) ? 0x80000000U : 0U);
  }
  std::uint64_t whole() {
    const int way = draw_.below(4);
    if (way == 0) return static_cast<std::uint64_t>(draw_.between(0, 40));
    if (way == 1) return std::uint64_t{1} << draw_.below(32);
    if (way == 2) return (std::uint64_t{1} << draw_.between(1, 32)) - 1;
    return draw_.word() & 0xFFFFFFFFU;
  }
  std::string literal(char letter) {
    switch (letter) {
      case 'f': return hex("0f%08llX", real());
      case 'g': return hex("0f%08llX", power_of_two());
      case 'k': return hex("0f%08llX", known());
      case 'd':
        return hex("0d%016llX", draw_.percent(40) ? ordinary(format_of('d'), draw_.word() & ~0xFFFFFFFFULL, 3) &
                                                        ~0x3FFFFFFFFFFFFULL
                                                  : ordinary(format_of('d'), draw_.word(), 3));
      case 'l': return hex("0x%llX", draw_.percent(60) ? whole() : draw_.word() >> 1);
      case 's': return hex("0x%llX", draw_.word() & (draw_.percent(50) ? 0x1F : 0x7FFF));
      case 'h':
      case 'b': return hex("0x%04llX", ordinary(format_of(letter), draw_.word(), 2));
      case 'x':
      case 'y': {
        const std::uint64_t low = ordinary(format_of(letter), draw_.word(), 2);
        return hex("0x%08llX", low | ordinary(format_of(letter), draw_.word(), 2) << 16);
      }
      default: return hex("0x%llX", whole());
    }
  }

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
        out += word == "in" ? "$5" : word == "out" ? "$6" : word == "tid" ? "$1" : word == "tile" ? "$2" : word == "other" ? "$4" : "$3";
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
      if ((row[i] == '%' || row[i] == '?') && pool(row[i + 1]).empty()) return false;
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
      case '=': return fresh(letter);
      case '?': return draw_.percent(kind_.literals) ? literal(letter) : source(letter);
      case '%': return source(letter);
      case '&': return std::to_string(place(class_of(letter).bytes));
      case '$': return (letter > '4' ? "%rd" : "%r") + std::string(1, letter);
      case '#': return letter == '[' ? range(row, i) : literal(letter);
      default: {
        int back = 0;
        for (; row[i] == '^'; ++i) ++back;
        return made(row[i], back);
      }
    }
  }
  bool add(std::string_view row) {
    const bool everyone = row.front() == '!';
    if (everyone && diverged_ > 0) return false;
    const std::string text = chosen(row.substr(everyone ? 1 : 0));
    if (!possible(text)) return false;
    made_.clear();
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
    publish(degree_of(statement));
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
      if (pool(letter).empty()) continue;
      made_.clear();
      const std::string from = source(letter), to = fresh(letter);
      end("  mov." + std::string(class_of(letter).moved) + " " + to + ", " + from);
      out.push_back({letter, to});
    }
    return out;
  }
  /// Statements whose registers only they know; then each carried register is written.
  void inside(const std::vector<std::pair<char, std::string>>& hand, int statements, bool nest) {
    std::size_t sizes[std::size(kClasses)];
    for (std::size_t i = 0; i < std::size(kClasses); ++i) sizes[i] = pools_[i].size();
    for (int i = 0; i < statements; ++i) any();
    if (nest) block(":loop");
    for (const auto& [letter, to] : hand) write(letter, to);
    for (std::size_t i = 0; i < std::size(kClasses); ++i) pools_[i].resize(sizes[i]);
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
    if (pool('p').empty() && !add("setp.lt.f32 =p, %f, ?f")) return;
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
    made_.clear();
    const std::string counter = fresh('r'), top = label();
    end("  mov.b32 " + counter + ", " + std::to_string(first));
    body_ += top + ":\n";
    if (draw_.percent(50)) add("cvt.rn.f32.u32 =f, %r");
    inside(hand, statements, nest);
    end("  add.u32 " + counter + ", " + counter + ", " + std::to_string(step));
    const std::string again = fresh('p');
    end("  setp.lt.u32 " + again + ", " + counter + ", " + std::to_string(first + turns * step));
    end("  @" + again + " bra " + top);
  }

  // ---- The ends

  void load() {
    int at = 0;
    for (const char letter : kind_.inputs) {
      const Class& one = class_of(letter);
      end("  ld.global." + std::string(one.declared) + " " + fresh(letter) + ", [%rd5+" + std::to_string(at) +
          "]");
      at += one.bytes == 8 ? 8 : 4;
    }
    statements_ = 0;
  }
  /// Values that nobody has read, then others, until the results are full.
  void store() {
    for (const bool used : {false, true}) {
      std::vector<std::pair<const Class*, int>> left;
      for (const Class& one : kClasses)
        for (const Value& value : pool(one.letter))
          if (value.used == used && !(used && one.letter == 'p')) left.push_back({&one, value.number});
      for (int predicates = 0; !left.empty() && slot_ < 4 * kWords;) {
        const auto at = left.begin() + draw_.below(static_cast<int>(left.size()));
        const auto [one, number] = *at;
        left.erase(at);
        if (one->letter != 'p' || predicates++ == 0) result(*one, name_of(one->letter, number));
      }
    }
  }
  void result(const Class& one, std::string from) {
    const int bytes = one.letter == 'p' ? 4 : one.bytes;
    if ((slot_ + bytes - 1) / bytes * bytes + bytes > 4 * kWords) return;
    std::string_view type = one.declared;
    if (one.letter == 'p') {
      const std::string word = name_of('r', count('r')++);
      end("  selp.b32 " + word + ", 1, 0, " + from);
      from = word, type = "b32";
    }
    end("  st.global." + std::string(type) + " [%rd6+" + std::to_string(place(bytes)) + "], " + from);
  }
  std::string head() const {
    std::string out = ".visible .entry " + name_ + "(.param .u64 in, .param .u64 out)\n{\n ";
    for (std::size_t i = 0; i < std::size(kClasses); ++i)
      if (counts_[i] > 0)
        out += " .reg ." + std::string(kClasses[i].declared) + " " + std::string(kClasses[i].prefix) + "<" +
               std::to_string(counts_[i]) + ">;";
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
  Pool pools_[std::size(kClasses)];
  int counts_[std::size(kClasses)] = {0, 0, 10, 10};  ///< the first 32-bit and 64-bit ones are the head's
  std::vector<std::pair<char, int>> pending_, made_;
  std::vector<int> degrees_;  ///< of the sources of a statement
  const Value* last_ = nullptr;
  int statements_ = 0, slot_ = 0, depth_ = 0, diverged_ = 0, labels_ = 0;
};

}  // namespace random_kernels
