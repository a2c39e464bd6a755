// SPDX-License-Identifier: Apache-2.0
// Who reads a value, and which halves of 16 bits of it, as the assembler sees it.
#pragma once

#include <vector>

#include "assembler/editor.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {

//     bit   63      47      31      15      0
//          |   8   |   4   |  high |  low  |     the bit of each 16 bits in a set of them
inline constexpr unsigned kLow = 1, kHigh = 2, kWord = kLow | kHigh, kAll = 15;

class Halves {
 public:
  Halves(const FunctionText& function, const Flow& flow);

  /// The statements that use what one writes to a register: in any block if nobody else writes to it.
  Flow::Uses uses(int statement, int reg) const;
  /// The halves of it that are used; all of them where an instruction does not take one alone.
  unsigned used(int statement, int reg, int depth = 0) const;
  /// The same for one statement that uses it.
  unsigned used_by(const View& v, int reg, int depth = 0) const;
  /// A register as a statement writes it.
  struct Value {
    int statement, reg;
  };
  /// It, and the registers that get the same bits by mov, alone or as a part of a larger one.
  std::vector<Value> copies(Value of) const;
  /// What uses it or a copy; no mov.
  std::vector<View> readers(Value of) const;
  /// The low halves of a word that become registers of their own.
  std::vector<Value> low_halves(Value of) const;

 private:
  unsigned used_by_move(const View& v, int reg, int depth) const;
  unsigned used_parts(const View& v, int depth) const;
  void add_copies(Value of, std::vector<Value>& to, int depth) const;
  void add_part(Value of, int part, int size, std::vector<Value>& to, int depth) const;
  const Operand& part(const Operand& of, int n) const {
    return f_.operands[static_cast<std::size_t>(of.first + n)];
  }
  int bits(const Operand& reg) const;

  const FunctionText& f_;
  const Flow& flow_;
  std::vector<int> writers_;               // by register: how many
  std::vector<std::vector<int>> readers_;  // by register
};

}  // namespace warpbit::assembler
