// SPDX-License-Identifier: Apache-2.0
// Where the registers of a function get their values, and who uses them, as the assembler sees it: what nobody needs
// is not there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

/// Calls f(register) for each register that an operand has.
template <class F>
void for_each_register(const ptx::FunctionText& function, const ptx::Operand& in, F f) {
  if (in.kind == ptx::Operand::Kind::reg) f(in.index);
  if (in.second >= 0) f(in.second);
  for (int k = 0; k < in.count; ++k)
    for_each_register(function, function.operands[static_cast<std::size_t>(in.first + k)], f);
}

/// Basic blocks, and who uses a value. A block ends with a branch, a call, and before a label that a branch names; a
/// branch over statements that nobody needs is none.
class Flow {
 public:
  explicit Flow(const ptx::FunctionText& function);

  int block(int statement) const { return block_[static_cast<std::size_t>(statement)]; }

  /// Who needs what a statement writes to a register: statements of its block, in their order, and others.
  struct Uses {
    std::vector<int> statements = {};
    bool elsewhere = false;
  };
  Uses uses(int statement, int reg) const;
  /// Whether a statement after the first and before the last writes to a register.
  bool is_written(int reg, int first, int last) const;

 private:
  using Set = std::vector<std::uint64_t>;  // of registers, a bit each
  struct Access {
    int statement;
    bool reads, writes;
  };
  struct Block {
    int first = 0, last = 0;  // statements; last is behind
    std::vector<int> next = {};
    Set live = {};  // at its end
  };

  void find_blocks();
  bool find_idle();
  void find_accesses();
  void find_live();
  bool is_needed(int statement, const Set& live) const;
  void pass(int statement, Set& live) const;

  const ptx::FunctionText& f_;
  std::vector<int> block_;  // by statement
  std::vector<Block> blocks_;
  std::vector<bool> needed_, idle_;            // by statement; idle: a branch that is none
  std::vector<std::vector<Access>> accesses_;  // by register
};

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

}  // namespace warpbit::grid
