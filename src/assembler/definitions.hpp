// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptx/module.hpp"

namespace warpbit::assembler {

/// The order in which the assembler has the two sources of a sum or a product, which the NaN of an f64 result shows:
/// the one that is defined later in the text is the second. A register with several definitions is defined where control
/// joins; mov, neg and abs define nothing; literals and parameters of the kernel come last. Found in machine code (sm_90a,
/// CUDA 13.0) and in recordings (golden/kernels/contraction, functions_f64, random_f64). Of a loop that is unrolled the
/// copies have either order, and so have two registers that are defined at one join.
class Definitions {
 public:
  explicit Definitions(const ptx::FunctionText& function);

  /// Goes on in the text, one statement after another from the first on.
  void pass(int statement);
  /// Whether a is defined after b.
  bool is_later(const ptx::Operand& a, const ptx::Operand& b) const { return at(a) > at(b); }

 private:
  int at(const ptx::Operand& operand) const;

  const ptx::FunctionText& f_;
  std::vector<int> count_, last_;  // blocks that define a register, and the last definition above
  std::vector<int> at_;            // by register: 2 i + 2 for statement i, 2 i + 1 for a join before it
  std::vector<bool> joins_;        // by statement: a branch names it
  int join_ = 0;                   // the last one above
};

}  // namespace warpbit::assembler
