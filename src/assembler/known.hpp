// SPDX-License-Identifier: Apache-2.0
// Which registers hold a number that the assembler knows: literals, and what some instructions make of known numbers. Asked
// of ptxas 13.0, which folds rsqrt.approx of such a number and of no other: products and sums to nearest do, also of
// integers; fma, div.rn, integer division, prmt, lop3 and arithmetic of f16 do not. xor p, p and setp of x with itself are
// known, whatever x is. A number of another basic block is known late: abs.ftz, neg.ftz, cvt.ftz.f32.f32 and mul.ftz by 1
// are sums with -0 by then, and make no known number of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "assembler/contract.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {

/// The result of neg or abs of f32, f64, f16x2 that is known: a NaN keeps its bits but the sign; of f32 it becomes quiet.
std::optional<std::uint64_t> with_sign(const View& statement, std::uint64_t bits);

class Known {
 public:
  Known(const FunctionText& function, const Flow& flow);

  /// The bits of a source of a statement, in the type of the instruction.
  std::optional<std::uint64_t> source(const View& statement, int operand) const;
  /// Whether it is known late: it is no literal, and not made of literals in the same basic block.
  bool is_late(const View& statement, int operand) const;
  /// The bits of its result, where it is executed.
  std::optional<std::uint64_t> result(const View& statement) const;
  /// Whether its guard lets it be executed.
  std::optional<bool> guard(const View& statement) const;

 private:
  using Values = std::map<int, std::uint64_t>;      // by register
  static constexpr std::size_t kMost = 10'000'000;  // values that are handed on; beyond that nothing is known
  void follow(int block);
  void pass(int statement, Values& values);
  std::optional<std::uint64_t> value(const View& statement, const Operand& operand, ptx::Type type) const;
  std::optional<std::uint64_t> moved(const View& statement) const;
  std::vector<std::pair<int, std::uint64_t>> unpacked(const View& statement) const;
  std::optional<std::uint64_t> computed(const View& statement) const;
  std::optional<std::uint64_t> of_any(const View& statement) const;
  std::pair<int, int> origin(const View& statement, int operand) const;

  const FunctionText& f_;
  const Flow& flow_;
  std::vector<std::optional<Values>> in_;  // by block; nothing: control has not come to it yet
  std::vector<int> next_;
  std::size_t handed_on_ = 0;
  std::set<int> local_;                   // registers with what the block itself makes of literals
  std::set<std::pair<int, int>> late_;    // statements and what they read of other blocks
  std::map<int, Values> sources_;         // by statement: those of its registers that are known
  std::map<int, std::uint64_t> results_;  // by statement
};

}  // namespace warpbit::assembler
