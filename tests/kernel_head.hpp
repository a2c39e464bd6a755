// SPDX-License-Identifier: Apache-2.0
// The heads of kernels in files: how they are launched, and the bytes that they leave. A head, in comments before the module:
//
//     launch: grid 2 block 128 cluster 2 shared 1024            as Launch has them; X or X,Y,Z
//     array: u32[256] = 0 -> 3*i + 1                            an argument: its elements before and after the launch
//     array: f16[64] = i % 16                                   it stays as it is
//     value: u32 7                                              an argument by value
//     map: array 0 f32 dims 64 32 box 16 8 swizzle 128          a tensor map of the first array, contiguous dimension first
//     prints: text                                              what printf prints, without the last newline
//     not modelled: text                                        a launch refuses it still, and says so
//     accused: text                                             a false alarm: a launch ends in a fault that has this text
//     says: text                                                a line of what a launch says of a broken rule
//
// A formula has integers, the index i, operators as in Python (/ is the quotient), and sum(N, F) of F for k in 0 .. N - 1;
// or it is a list, {1 2 3}. A type of floating-point numbers holds the number that it gives. tools/correct/record.py reads
// the same heads and judges the kernels by a GPU.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "forget_array.hpp"
#include "warpbit/format.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/tensor_map.hpp"

namespace kernel_head {

using namespace warpbit;

/// A formula, compiled to steps of a stack machine.
class Formula {
 public:
  explicit Formula(std::string_view text) : text_(text) {
    binary(0);
    if (peek()) need("an end");
  }

  std::int64_t operator()(std::int64_t i) const { return run(0, steps_.size(), i, 0); }

 private:
  /// '#' pushes a number, 'i' and 'k' the indices; '~' negates; 's' pushes the sum over k of the next `length` steps, which
  /// it jumps over; all others are operators.
  struct Step {
    char code;
    std::int64_t number = 0;
    std::size_t length = 0;
  };
  /// Operators of Python, with how strongly they bind; longer ones first.
  struct Operator {
    std::string_view token;
    char code;
    int level;
  };
  static constexpr Operator operators[] = {
      {"==", '=', 0}, {"!=", '!', 0}, {"<=", 'l', 0}, {">=", 'g', 0}, {"<<", 'L', 4}, {">>", 'R', 4},
      {"<", '<', 0},  {">", '>', 0},  {"|", '|', 1},  {"^", '^', 2},  {"&", '&', 3},  {"+", '+', 5},
      {"-", '-', 5},  {"*", '*', 6},  {"/", '/', 6},  {"%", '%', 6},  {"", ' ', -1}};

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) throw std::invalid_argument(fmt::format("{}: no {} at {}", text_, token, at_));
  }

  void binary(int weakest) {
    unary();
    for (;;) {
      peek();
      const Operator* op = operators;
      while (!text_.substr(at_).starts_with(op->token)) ++op;
      if (op->level < weakest) return;
      at_ += op->token.size();
      binary(op->level + 1);
      steps_.push_back({op->code});
    }
  }
  void unary() {
    if (take("-")) {
      unary();
      steps_.push_back({'~'});
    } else if (take("(")) {
      binary(0);
      need(")");
    } else if (take("sum(")) {
      sum();
    } else if (take("i")) {
      steps_.push_back({'i'});
    } else if (take("k")) {
      steps_.push_back({'k'});
    } else {
      steps_.push_back({'#', number()});
    }
  }
  std::int64_t number() {
    peek();
    std::uint64_t result = 0;
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    const bool hexadecimal = text_.substr(at_).starts_with("0x");
    const auto [last, error] = std::from_chars(begin + 2 * hexadecimal, end, result, hexadecimal ? 16 : 10);
    if (error != std::errc()) need("a number");
    at_ += static_cast<std::size_t>(last - begin);
    return static_cast<std::int64_t>(result);
  }
  void sum() {
    const std::int64_t terms = number();
    need(",");
    const std::size_t at = steps_.size();
    steps_.push_back({'s', terms});
    binary(0);
    steps_[at].length = steps_.size() - at - 1;
    need(")");
  }

  std::int64_t run(std::size_t begin, std::size_t end, std::int64_t i, std::int64_t k) const {
    std::array<std::int64_t, 32> stack = {};
    std::size_t top = 0;  // of what is in use
    for (std::size_t at = begin; at < end; ++at) {
      const Step& step = steps_[at];
      if (step.code == '#' || step.code == 'i' || step.code == 'k') {
        stack.at(top++) = step.code == '#' ? step.number : step.code == 'i' ? i : k;
      } else if (step.code == 's') {
        std::int64_t total = 0;
        for (std::int64_t term = 0; term < step.number; ++term)
          total += run(at + 1, at + 1 + step.length, i, term);
        stack.at(top++) = total;
        at += step.length;
      } else if (step.code == '~') {
        stack.at(top - 1) = -stack.at(top - 1);
      } else {
        --top;
        stack.at(top - 1) = apply(step.code, stack.at(top - 1), stack.at(top));
      }
    }
    return stack[0];
  }
  static std::int64_t apply(char code, std::int64_t a, std::int64_t b) {
    switch (code) {
      case '=': return a == b;
      case '!': return a != b;
      case 'l': return a <= b;
      case 'g': return a >= b;
      case 'L': return a << b;
      case 'R': return a >> b;
      case '<': return a < b;
      case '>': return a > b;
      case '|': return a | b;
      case '^': return a ^ b;
      case '&': return a & b;
      case '+': return a + b;
      case '-': return a - b;
      case '*': return a * b;
      case '/': return a / b;
      default: return a % b;
    }
  }

  std::string text_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;
};

/// The bytes of an element: "u32", "f16".
inline std::size_t size_of(std::string_view type) {
  return static_cast<std::size_t>(std::stoi(std::string(type.substr(type.find_first_of("0123456789"))))) / 8;
}
inline std::uint64_t element(std::string_view type, std::int64_t number) {
  if (type[0] != 'f' && type[0] != 'b') return static_cast<std::uint64_t>(number);
  return Codec::find(type)->encode(static_cast<double>(number)).value();
}

/// Elements of a type by a formula or a list.
inline std::vector<std::byte> elements(std::string_view type, std::size_t count, const std::string& text) {
  std::vector<std::int64_t> numbers(count);
  if (const std::size_t open = text.find('{'); open != text.npos) {
    std::istringstream list(text.substr(open + 1));
    for (std::int64_t& number : numbers) list >> number;
  } else {
    const Formula formula(text);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = formula(static_cast<std::int64_t>(i));
  }
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = element(type, numbers[i]);
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

inline Dim3 extents(const std::string& text) {
  Dim3 result;
  std::sscanf(text.c_str(), "%u,%u,%u", &result.x, &result.y, &result.z);
  return result;
}

struct Array {
  std::string type;
  std::vector<std::byte> before, bytes, expected;
};

/// A kernel's head, and its launch.
struct Case {
  ptx::Launch how;
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<ptx::Argument> arguments;
  std::string prints, refused, accused, says;

  Case(const Case&) = delete;
  ~Case() {
    for (const auto& array : arrays) forget_array(array->bytes);
  }
  explicit Case(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line, slashes, key; std::getline(lines, line) && line.starts_with("//");) {
      std::istringstream words(line);
      words >> slashes >> key;
      if (key == "launch:") read_launch(words);
      if (key == "array:") read_array(line.substr(line.find(':') + 2));
      if (key == "value:") read_value(words);
      if (key == "map:") read_map(words);
      if (key == "not") refused = line.substr(line.find(':') + 2);
      if (key == "accused:") accused = line.substr(line.find(':') + 2);
      if (key == "says:") says += (says.empty() ? "" : "\n") + line.substr(line.find(':') + 2);
      if (key == "prints:") prints += line.substr(line.find(':') + 2) + "\n";
    }
  }

  void read_launch(std::istream& words) {
    for (std::string key, value; words >> key >> value;) {
      if (key == "grid") how.grid = extents(value);
      if (key == "block") how.block = extents(value);
      if (key == "cluster") how.cluster = extents(value);
      if (key == "shared") how.shared_bytes = std::stoull(value);
      if (key == "schedule") how.schedule = std::stoull(value);
    }
  }
  void read_array(const std::string& text) {
    const std::size_t open = text.find('['), equals = text.find('='), arrow = text.find("->");
    auto array = std::make_unique<Array>();
    array->type = text.substr(0, open);
    const std::size_t count = std::stoull(text.substr(open + 1));
    array->bytes = array->before = elements(array->type, count, text.substr(equals + 1, arrow - equals - 1));
    array->expected = arrow == text.npos ? array->bytes : elements(array->type, count, text.substr(arrow + 2));
    arguments.push_back(ptx::buffer(array->bytes));
    arrays.push_back(std::move(array));
  }
  void read_value(std::istream& words) {
    std::string type, number;
    words >> type >> number;
    const std::uint64_t bits = element(type, Formula(number)(0));
    std::vector<std::byte> bytes(size_of(type));
    std::memcpy(bytes.data(), &bits, bytes.size());
    arguments.push_back(bytes);
  }
  void read_map(std::istream& words) {
    std::string key;
    std::size_t array = 0, value = 0, dims = 0, boxes = 0;
    TensorMap map;
    words >> key >> array >> key;
    for (int type = 0; type <= static_cast<int>(TensorType::tf32_ftz); ++type)
      if (name(TensorType(type)) == key) map.elemtype = TensorType(type);
    for (std::string word, at; words >> word;) {
      if (!std::isdigit(word[0])) {
        at = key = word;
        continue;
      }
      value = std::stoull(word);
      if (key == "dims") map.global_dim[dims++] = value;
      if (key == "box") map.box_dim[boxes++] = static_cast<std::uint32_t>(value);
      if (key == "swizzle")
        map.swizzle_mode = value == 128  ? Swizzle::bytes_128
                           : value == 64 ? Swizzle::bytes_64
                           : value == 32 ? Swizzle::bytes_32
                                         : Swizzle::none;
    }
    map.rank = static_cast<int>(dims);
    map.global_address = ptx::address(arrays[array]->bytes);
    map.element_stride.fill(1);
    std::uint64_t bytes = element_bytes(map.elemtype);
    for (std::size_t i = 0; i + 1 < dims; ++i) map.global_stride[i] = bytes *= map.global_dim[i];
    const Result<TensorMapBytes> encoded = map.encode();
    INFO((encoded ? "" : encoded.error().message()));
    REQUIRE(encoded);
    arguments.push_back(ptx::value(*encoded));
  }
};

/// A kernel in a file: its name without .ptx, and its text.
struct File {
  std::string name, text;
};

/// The kernels of a folder, by name; with the environment variable WARPBIT_TEST_KERNEL, the one of that name alone.
inline std::vector<File> kernels(const char* folder) {
  const char* const alone = std::getenv("WARPBIT_TEST_KERNEL");
  std::vector<File> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".ptx" || (alone != nullptr && name != alone)) continue;
    std::ifstream in(entry.path());
    out.push_back({name, {std::istreambuf_iterator<char>(in), {}}});
  }
  std::ranges::sort(out, {}, &File::name);
  return out;
}

/// The first element that is not as expected; empty if all are.
inline std::string difference(const Array& array) {
  const std::size_t size = size_of(array.type);
  for (std::size_t at = 0; at < array.bytes.size(); at += size) {
    std::uint64_t got = 0, expected = 0;
    std::memcpy(&got, &array.bytes[at], size);
    std::memcpy(&expected, &array.expected[at], size);
    if (got != expected) return fmt::format("element {}: {:#x} instead of {:#x}", at / size, got, expected);
  }
  return "";
}

}  // namespace kernel_head
