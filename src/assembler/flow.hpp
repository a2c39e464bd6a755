// SPDX-License-Identifier: Apache-2.0
// Where the registers of a function get their values, and who uses them, as the assembler sees it: what nobody needs
// is not there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::assembler {

/// Calls f(register) for each register that an operand has.
template <class F>
void for_each_register(const ptx::FunctionText& function, const ptx::Operand& in, F f) {
  if (in.kind == ptx::Operand::Kind::reg) f(in.index);
  if (in.second >= 0) f(in.second);
  for (int k = 0; k < in.count; ++k)
    for_each_register(function, function.operands[static_cast<std::size_t>(in.first + k)], f);
}

#pragma GCC visibility push(default)  // warpbit's other libraries use it
/// Whether the first operand is what an instruction writes.
bool writes_first(const ptx::FunctionText& function, const ptx::Statement& statement);
#pragma GCC visibility pop

/// Calls read(register) and write(register) for those of a statement. Its guard is read.
template <class Read, class Write>
void for_each_access(const ptx::FunctionText& f, int i, Read read, Write write) {
  const ptx::Statement& s = f.statements[static_cast<std::size_t>(i)];
  if (s.guard >= 0) read(s.guard);
  const bool writes = writes_first(f, s);
  for (int n = 0; n < s.operands; ++n) {
    const ptx::Operand& operand = f.operands[static_cast<std::size_t>(s.first_operand + n)];
    if (n == 0 && writes) for_each_register(f, operand, write);
    if (n > 0 || !writes || s.is->accumulates) for_each_register(f, operand, read);
  }
}

struct View;
/// Whether a statement becomes branches of machine code, as many divisions and what has a guard and is no computation.
bool becomes_branches(const View& statement);
/// A function that checks its source for numbers that it computes fast; if the source is known, so is the check.
bool is_checked(const View& statement);
/// Whether no loop with it is unrolled: most of those that become branches without a guard, as they are calls.
bool keeps_loop(const View& statement);
/// div, rcp, sqrt of f64 with a rounding but .rn: a call without a fast path before it.
bool is_plain_call(const View& statement);
/// Adds the statements that may follow one.
void followers(const ptx::FunctionText& function, std::size_t statement, std::vector<std::size_t>& to);
/// Which statements of a function can be executed: those to which control can flow from the first one.
std::vector<bool> reached(const ptx::FunctionText& function);

/// Basic blocks, as the assembler has them, and who uses a value. A block ends with a branch, a call, before a label that
/// a branch names, and with a statement that becomes branches of machine code (flow.cpp, kBranching). None is
///
///     a branch over statements that nobody needs
///     a function whose source is known and computed fast (kChecked); div.s32 x, x
///     div.s32, rem.s32, bfind of 64 bits and a load with a guard, if nobody needs them
class Flow {
 public:
  explicit Flow(const ptx::FunctionText& function);
  /// `late`: of a plain call whose result nobody needs, nobody needs the sources either.
  Flow(const ptx::FunctionText& function, bool late);

  using Set = std::vector<std::uint64_t>;  // of registers, a bit each
  struct Block {
    int first = 0, last = 0;  ///< statements; last is behind
    std::vector<int> next = {}, before = {};
    Set live = {};  ///< at its end
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  int block(int statement) const { return block_[static_cast<std::size_t>(statement)]; }

  /// Who needs what a statement writes to a register: statements of its block, in their order, and others.
  struct Uses {
    std::vector<int> statements = {};
    bool elsewhere = false;
  };
  Uses uses(int statement, int reg) const;
  /// Whether a register has before a statement what it had before another one, which is above it in the same block.
  bool keeps(int reg, int above, int statement) const;
  /// The last statement above one that writes to a register, in the same block; -1: none does.
  int definition_above(int reg, int statement) const;
  /// The statement that alone writes a register; -1: several do, or none.
  int only_definition(int reg) const { return only_definition_[static_cast<std::size_t>(reg)]; }
  bool is_written_once(int reg) const { return only_definition(reg) >= 0; }
  /// Whether a register is never anything but a value of constant memory: a parameter of the kernel, a variable in .const.
  bool is_constant(int reg) const;
  /// The statement whose result a register is before another one, also by way of mov: above it in its block, or the only
  /// one that writes to the register, above in the text; -1: there is none.
  int definition(int reg, int statement) const;
  /// The register that one is a copy of, by mov, as long as both have one definition, in the order of the text; or itself.
  int origin(int reg) const;
  /// Whether a statement is there: it has an effect, or what it writes is used.
  bool is_needed(int statement) const { return needed_[static_cast<std::size_t>(statement)]; }
  /// The same in all blocks. Elsewhere is where the register may have another value, too.
  Uses all_uses(int statement, int reg) const;
  /// The statements below in the text that use it, up to the next one that writes to the register.
  std::vector<int> uses_below(int statement, int reg) const;
  /// The only statement that uses what one writes to a register, in any block; -1 if there are others or none, or if the
  /// register has another value at times.
  int only_use(int statement, int reg) const;

 private:
  /// How a value leaves a block: in its register, or in some lanes alone.
  enum class Leaves { not_at_all, alone, mixed };
  Leaves add_uses(int block, int behind, int reg, std::vector<int>& to) const;
  bool comes_alone(int from, int reg, int block) const;
  int definition_above(int reg, int statement, int block) const;
  struct Access {
    int statement;
    bool reads, writes;
  };
  void find_blocks();
  bool find_idle();
  void find_accesses();
  /// What a statement is, whatever is around it.
  struct Nature {
    bool branches;  ///< see becomes_branches
    bool goes;      ///< if nobody needs it
    bool stays;     ///< though nobody needs it
  };
  static Nature nature(const View& statement, bool late);
  void find_live();
  bool is_needed(int statement, const Set& live) const;
  bool pass(int statement, Set& live) const;

  const ptx::FunctionText& f_;
  std::vector<Nature> natures_;  // by statement
  std::vector<int> block_;       // by statement
  std::vector<Block> blocks_;
  std::vector<bool> needed_, idle_;  // by statement; idle: a branch that is none, a load that is not there
  std::vector<std::vector<Access>> accesses_;  // by register
  std::vector<int> only_definition_;           // by register
};

}  // namespace warpbit::assembler
