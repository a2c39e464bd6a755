// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "assembler/flow.hpp"

namespace warpbit::assembler {

/// The order in which the assembler has the two sources of a sum or a product, which the NaN of an f64 result shows:
/// the one that is defined later is the second. Of two that are defined by an instruction of the machine it is the one later
/// in the text. Behind them come values that are chosen: where control joins, behind a guard, by selp, by rsqrt.approx.ftz;
/// div, rcp, sqrt to nearest, and rsqrt.approx without .ftz end in such a join, too. Of two joins the earlier one in the text is the second, of two other
/// choices in a block the later one. mov, neg and abs define nothing; literals and parameters of the kernel come last.
/// Found in machine code (sm_90a, CUDA 13.0) and in recordings (golden/kernels/contraction, functions_f64, random_f64,
/// golden-digests/random). Of a loop that is unrolled in part the copies have either order.
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
  int first_call(int statement) const;
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
