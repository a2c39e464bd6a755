// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>  // pair
#include <vector>

#include "assembler/flow.hpp"

namespace warpbit::assembler {

/// The order in which the assembler has the two sources of a sum, a product, min or max, which the NaN of an f64 result
/// shows: the one that is defined later is the second. Defined are, one after another,
///
///     instruction   what is computed, in the order of the text; results of div, rcp and sqrt that are not to nearest are
///                   those of calls, as those of rcp, sqrt, rsqrt of a literal without a fast path. Of one function they
///                   lie in the same registers, if its first one stays there: it is used as a number, and in the block
///                   behind it alone. What an instruction above in its block computes already is that one
///     join          where control joins, the earlier one in the text last; div, rcp, sqrt to nearest and rsqrt.approx end
///                   in one, and so does a later call whose result stays, if that of the first one of its function does
///                   not
///     choice        a pair of registers, chosen or handed on one by one, which becomes a number where it is used; of two
///                   the sources stay as they are
///     constant      literals and parameters of the kernel; calls of a function that has literals alone for its sources
///
/// mov, neg and abs define nothing. A value is a choice if what these add is 0 or more:
///
///      1   it comes from selp or slct, from rsqrt.approx.ftz (unless rsqrt.approx has the same source), from behind a guard; it goes into selp, slct, testp, rsqrt.approx.ftz, or
///          is what a register has where a guard is false
///      2   it goes into a call, rsqrt.approx without .ftz too
///      0   it goes into sqrt, copysign, a mov of halves, or is a dividend
///     -1   it comes from a call, from copysign, rcp.approx.ftz, a mov of halves; it is any other source
///
/// neg and abs are part of a sum, a product, a comparison and of what adds 1; otherwise they are a source that adds -1. All
/// else is an instruction. Found in machine code (sm_90a, CUDA 13.0; tests/f64_sources_test.cpp) and in recordings
/// (golden/kernels/contraction, functions_f64, random_f64, golden-digests/random). Of a loop that is unrolled in part the
/// copies have either order.
class Definitions {
 public:
  explicit Definitions(const ptx::FunctionText& function);

  /// Goes on in the text, one statement after another from the first on.
  void pass(int statement);
  /// Whether a is defined after b.
  bool is_later(const ptx::Operand& a, const ptx::Operand& b) const { return at(a) > at(b); }

 private:
  /// When a register is defined.
  struct Place {
    enum class Class : std::uint8_t { instruction, join, choice, constant } cls = Class::instruction;
    int at = 0;  ///< the statement; of a join the block, counted down
    auto operator<=>(const Place&) const = default;
  };
  Place at(const ptx::Operand& operand) const;
  Place defined_by(int statement) const;
  Place called(int statement) const;
  bool stays(int statement) const;
  int first_same(int statement) const;
  std::pair<int, bool> magnitude(int reg) const;
  bool is_uniform(const View& call) const;
  bool shares_root(int statement) const;
  int balance(int statement, int reg, bool is_negated) const;

  const ptx::FunctionText& f_;
  std::optional<Flow> flow_;       // if there is a choice
  std::vector<int> count_, last_;  // blocks that define a register, and the last definition above
  std::vector<Place> at_;          // by register
  std::vector<bool> joins_;        // by statement: a branch names it
  int join_ = 0, join_block_ = 0;  // the last one above
  int block_ = 0;
};

}  // namespace warpbit::assembler
