// SPDX-License-Identifier: Apache-2.0
// The registers of a random kernel: which have a value, who has read it, and about how large it is.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "verify/cases/random/draw.hpp"
#include "verify/cases/random/row.hpp"

namespace random_kernels {

class Registers {
 public:
  /// A new one, which has a value when the statement has ended.
  std::string fresh(char letter) {
    const int number = count(letter)++;
    pending_.push_back({letter, number});
    return name_of(letter, number);
  }
  bool has(char letter) const { return !pools_[index_of(letter)].empty(); }
  /// One that has a value, preferably of few factors and not the last one again.
  std::string source(Draw& draw, char letter) {
    const int highest = letter == 'h' || letter == 'x' ? 2 : 4;
    Pool& values = pool(letter);
    std::size_t best = candidate(draw, values);
    for (int tries = 0;
         tries < 4 && (values[best].degree > highest || (place_of(values, best) == last_ && !draw.percent(15)));
         ++tries)
      best = candidate(draw, values);
    for (std::size_t step = 0, at = best; step < values.size() && values[best].degree > highest; ++step)
      best = (at + step) % values.size();
    last_ = place_of(values, best);
    return read(letter, values[best]);
  }
  /// The last, or last but some, that this row has made.
  std::string made(char letter, int back) {
    for (std::size_t i = made_.size(); i-- > 0;)
      if (made_[i].first == letter && back-- == 0) {
        for (Value& one : pool(letter))
          if (one.number == made_[i].second) (void)read(letter, one);
        return name_of(letter, made_[i].second);
      }
    return "?";
  }
  void begin_row() { made_.clear(); }
  /// Its results can be read.
  void end_statement(std::string_view statement) {
    const int degree = degree_of(statement);
    for (const auto& [letter, number] : pending_) pool(letter).push_back({number, degree});
    made_.insert(made_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    degrees_.clear();
  }

  /// How many have a value, by class. Behind a block those that only it knows have none.
  using Sizes = std::array<std::size_t, std::size(kClasses)>;
  Sizes sizes() const {
    Sizes out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pools_[i].size();
    return out;
  }
  void shrink(const Sizes& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) pools_[i].resize(sizes[i]);
  }

  /// Those with a value that somebody has read, or nobody.
  std::vector<std::pair<const Class*, std::string>> all(bool used) const {
    std::vector<std::pair<const Class*, std::string>> out;
    for (const Class& one : kClasses)
      for (const Value& value : pools_[index_of(one.letter)])
        if (value.used == used) out.push_back({&one, name_of(one.letter, value.number)});
    return out;
  }
  std::string declarations() const {
    std::string out;
    for (std::size_t i = 0; i < std::size(kClasses); ++i)
      if (counts_[i] > 0)
        out += " .reg ." + std::string(kClasses[i].declared) + " " + std::string(kClasses[i].prefix) + "<" +
               std::to_string(counts_[i]) + ">;";
    return out;
  }

 private:
  /// `degree`: of how many inputs it is a product, or about as large as one. Products of many are infinite or zero.
  struct Value {
    int number, degree = 1;
    bool used = false;
  };
  using Pool = std::vector<Value>;
  /// Of a value. In a pool that has grown it is another.
  struct Place {
    const Pool* pool = nullptr;
    std::size_t index = 0, capacity = 0;
    bool operator==(const Place&) const = default;
  };
  static Place place_of(const Pool& values, std::size_t index) { return {&values, index, values.capacity()}; }

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
  std::string read(char letter, Value& value) {
    value.used = true;
    degrees_.push_back(value.degree);
    return name_of(letter, value.number);
  }
  /// A recent one, any, or one that nobody has read.
  static std::size_t candidate(Draw& draw, const Pool& values) {
    const int size = static_cast<int>(values.size());
    int at = draw.below(size);
    const int way = draw.below(100);
    if (way < 35) at = size - 1 - draw.below(size < 5 ? size : 5);
    if (way >= 65)
      for (int step = 0; step < size && values[static_cast<std::size_t>(at)].used; ++step) at = (at + 1) % size;
    return static_cast<std::size_t>(at);
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

  Pool pools_[std::size(kClasses)];
  int counts_[std::size(kClasses)] = {0, 0, 10, 10};  ///< the first 32-bit and 64-bit ones are the head's
  std::vector<std::pair<char, int>> pending_, made_;
  std::vector<int> degrees_;  ///< of the sources of a statement
  Place last_;
};

}  // namespace random_kernels
