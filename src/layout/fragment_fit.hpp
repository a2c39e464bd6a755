// SPDX-License-Identifier: Apache-2.0
// The search behind fragment_moves: an operand's registers as bits of lines in memory, and the same of each ldmatrix and stmatrix. A
// form fits if the bits of each of its lines are consecutive bits of one line of the operand.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/move.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::fragment_fit {

inline constexpr int kWarp = 32, kRegisterBits = 32, kLineBits = 128;

// Bit `at` of line `line` of the stored matrix; the line is -1 where the register holds no element.
struct StoredBit {
  int line = -1, at = 0;
};

// An operand as a matrix in memory, and what its registers hold of it.
struct Fragment {
  int warps = 1, registers = 0, memory_bits = 0;  // bits of an element in memory
  int line_elements = 0;
  std::vector<StoredBit> bits = {};  // by warp, register, lane and bit

  StoredBit& at(int lane, int reg, int bit) {
    return bits[static_cast<std::size_t>(
        ((lane / kWarp * registers + reg) * kWarp + lane % kWarp) * kRegisterBits + bit)];
  }
  const StoredBit& at(int lane, int reg, int bit) const {
    return const_cast<Fragment*>(this)->at(lane, reg, bit);
  }
};

// Registers of a form that the same lines go to.
struct Matrix {
  std::vector<int> registers, lines;
  std::vector<const MoveElement*> elements = {};
};

struct Candidate {
  std::string form;
  Instruction instruction;
  const Move* move;
  std::vector<Matrix> matrices = {};

  bool is_dense() const { return move->line_elements * move->element_bits == move->line_bytes * 8; }
};

// Where the lines of a matrix begin in the operand: line and bit.
using Starts = std::map<int, StoredBit>;

struct Fit {
  const Candidate* candidate;
  int shift;
  std::vector<std::vector<int>> registers;       // by instruction
  std::vector<std::vector<Starts>> starts = {};  // by warp and instruction: of all lines
};

/// Those of a target, `.shared` ones.
std::vector<Candidate> candidates(Target target, bool stores);

/// The fit with the fewest instructions; of these the one without a shift, then the shortest name. A register may be shifted left by
/// `shift` bits after a load. `padded`: elements have their padding in memory, too.
std::optional<Fit> best_fit(const Fragment& fragment, std::span<const Candidate> all, int shift, bool padded);

}  // namespace warpbit::fragment_fit
