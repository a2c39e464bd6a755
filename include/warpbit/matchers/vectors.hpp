// SPDX-License-Identifier: Apache-2.0
// Shared by the matchers of all test frameworks.
#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "warpbit/bits.hpp"
#include "warpbit/detail/block.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/review.hpp"

namespace warpbit::matchers {

/// ExpectedBits::registers of an operand of a warp, and result_of, of registers as vectors of words.
template <class Word>
Result<ExpectedBits> expected_bits(const Operand& operand, const std::vector<Word>& expected, int lanes = 32) {
  return ExpectedBits::registers(operand, lanes, std::as_bytes(std::span(expected)));
}
template <class... Words>
Result<ExpectedBits> expected_bits(const Instruction& instruction, const std::vector<Words>&... sources) {
  const std::span<const std::byte> bytes[] = {std::as_bytes(std::span(sources))...};
  return ExpectedBits::result_of(instruction, bytes);
}

/// What a matcher says.
struct Mismatch {
  std::string text;   ///< all of it; empty if the bits are those that are expected
  std::string words;  ///< without the map; empty if no comparison is possible, too
};

/// In a test that `warpbit findings` runs, tells that an assertion has failed. A place without a line is none.
inline void tell(const Mismatch& mismatch, device::Place at) {
  if (mismatch.words.empty()) return;
  Remark out{"bits_differ", "an array has other bits than a test expects", Grade::fault, mismatch.words};
  while (out.message.ends_with('\n')) out.message.pop_back();
  if (at.line != 0) out.at.push_back({at.file, static_cast<int>(at.line)});
  add_remark(out);
}

/// ExpectedBits::mismatch, or why no comparison is possible.
template <class Word>
Mismatch mismatch(const Result<ExpectedBits>& expected, const std::vector<Word>& got) {
  if (!expected) return {expected.error().message() + "\n", {}};
  const std::string text = expected->mismatch(std::as_bytes(std::span(got)));
  return {text, text};
}

// ---- Whole arrays

/// What an array was to be, for a diagnosis where it is not: A B of an instruction, with rows and columns from its shape.
struct ArrayProduct {
  Instruction instruction;
  std::vector<std::byte> a, b;
  std::size_t a_bytes = 0, b_bytes = 0;  ///< of an item
};
/// Copies of A and B, row by row: vectors, spans and arrays of numbers of C++ or of codes.
template <std::ranges::contiguous_range A, std::ranges::contiguous_range B>
ArrayProduct product_of(Instruction instruction, const A& a, const B& b) {
  const auto bytes = [](const auto& items) {
    const auto all = std::as_bytes(std::span(std::ranges::data(items), std::ranges::size(items)));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  return {std::move(instruction), bytes(a), bytes(b), sizeof(std::ranges::range_value_t<A>),
          sizeof(std::ranges::range_value_t<B>)};
}

/// The array that is expected: items of C++, or codes.
template <class T>
struct ExpectedArray {
  std::vector<T> items;
  ArrayShape how;
  std::optional<ArrayProduct> product = {};  ///< how it comes about, if that is said
};
/// A copy of a vector, a span, an array.
template <std::ranges::contiguous_range Range>
auto expected_array(const Range& items, const ArrayShape& how, std::optional<ArrayProduct> product) {
  return ExpectedArray<std::ranges::range_value_t<Range>>{
      {std::ranges::begin(items), std::ranges::end(items)}, how, std::move(product)};
}

/// Diagnosis::details of a wrong D, or why there is none.
inline constexpr std::size_t kMostMistakes = 4;
inline std::string explained(const ArrayProduct& product, const ArrayBits& d) {
  const std::size_t rows = d.shape.size() == 2 ? d.shape[0] : 1, columns = d.shape.empty() ? 1 : d.shape.back();
  const std::size_t depth = rows == 0 ? 0 : product.a.size() / product.a_bytes / rows;
  const Result<Diagnosis> found =
      diagnose(product.instruction, ArrayBits{product.a, product.a_bytes, {}, {rows, depth}},
               ArrayBits{product.b, product.b_bytes, {}, {depth, columns}}, d);
  return (found ? found->details(kMostMistakes) : "no diagnosis: " + found.error().message()) + "\n";
}

/// BitsComparison::text with the mistake, or why no comparison is possible. Items of another number have a shape of one index.
template <class T>
Mismatch mismatch(const ExpectedArray<T>& expected, std::span<const T> got) {
  const ArrayShape seen{got.size() == expected.items.size() ? expected.how.shape : std::vector{got.size()},
                        expected.how.format};
  const ArrayBits of_got = array_bits(got, seen);
  const Result<BitsComparison> compared =
      compare_bits(array_bits(std::span<const T>(expected.items), expected.how), of_got);
  if (!compared) return {compared.error().message() + "\n", {}};
  if (compared->equal()) return {};
  const std::string mistake = expected.product ? explained(*expected.product, of_got) : std::string();
  std::string words;
  for (const std::string& line : compared->lines()) words += line + "\n";
  return {compared->text() + mistake, words + mistake};
}

}  // namespace warpbit::matchers
