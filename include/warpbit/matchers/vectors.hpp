// SPDX-License-Identifier: Apache-2.0
// Shared by the matchers of all test frameworks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "warpbit/diagnose.hpp"

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

/// ExpectedBits::mismatch, or why no comparison is possible.
template <class Word>
std::string mismatch(const Result<ExpectedBits>& expected, const std::vector<Word>& got) {
  return expected ? expected->mismatch(std::as_bytes(std::span(got))) : expected.error().message() + "\n";
}

}  // namespace warpbit::matchers
