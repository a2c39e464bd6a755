// SPDX-License-Identifier: Apache-2.0
// Which ldmatrix fills an operand's registers from shared memory, and which stmatrix stores them; and where D of a
// product is A of the next. All of it is found by comparing maps, form by form (PTX manual, "ldmatrix", "stmatrix").
#pragma once

#include <string>
#include <vector>

#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How a matrix is stored: what lies contiguously.
enum class StorageOrder { row_major, column_major };

/// The address of a lane: where the element begins with which the lane's 16 bytes begin.
struct LineAddress {
  int instruction = 0, warp = 0, lane = 0;
  int row = 0, column = 0;  ///< of the operand; of tiles side by side, of all of them
  friend bool operator==(const LineAddress&, const LineAddress&) = default;
};

/// Lanes whose lines go into the same registers. One for each matrix of the first instruction, in the first warp.
struct MovedMatrix {
  int first_lane = 0, lanes = 0;
  std::vector<int> registers;                 ///< of the operand, as FragmentMove::registers
  int rows[2] = {0, 0}, columns[2] = {0, 0};  ///< first and last
};

/// How an operand's registers are loaded from memory, or stored, if it can be done by one kind of instruction.
struct FragmentMove {
  std::string operand;  ///< the manual's name
  StorageOrder order = StorageOrder::row_major;
  /// Fragments side by side, of adjacent tiles: along K for A, along N for others. Their registers count on: with two
  /// registers each, register 2 is the first of the second tile.
  int tiles = 1;
  int registers_each = 0;  ///< registers of one fragment
  bool stores = false;     ///< stmatrix; else ldmatrix
  /// The elements of D as pairs of 16 bits: register i holds those of registers 2 i (in the low half) and 2 i + 1.
  bool packed = false;
  bool padded = false;  ///< in memory, each element has the bits that it has in a register, padding included

  std::string form = {};    ///< empty: none does it
  std::string reason = {};  ///< why none does
  /// Registers of the operand that each instruction names, in its order.
  std::vector<std::vector<int>> registers = {};
  int shift = 0;          ///< each register must be shifted left by so many bits afterwards
  int line_elements = 0;  ///< that the 16 bytes at an address hold
  int line_padding = 0;   ///< bytes behind them that hold none
  std::vector<MovedMatrix> matrices = {};
  std::vector<LineAddress> addresses = {};  ///< by instruction, warp and lane
  /// The row and column as formulas of the lane i, the instruction j (if there are several) and the warp w (of a
  /// warpgroup): "i % 16". Empty if no sum of digits says it.
  std::string row = {}, column = {};
};

/// A part of a register of A and the register of D whose value it is.
struct ChainedElement {
  int reg = 0, low_bit = 0;  ///< of A
  int tile = 0, d_reg = 0;   ///< tiles of D side by side along N; the register
  int d_low_bit = 0;
  friend bool operator==(const ChainedElement&, const ChainedElement&) = default;
};
/// D of a product as A of the next one of the same form, as in attention.
struct FragmentChain {
  int tiles = 0;  ///< of D, side by side, that make `steps.size()` fragments of A
  std::vector<std::vector<ChainedElement>> steps;  ///< by step along K; empty if it cannot be
  std::string reason;                              ///< why it cannot be
};

/// All of it for one instruction.
struct FragmentMoves {
  std::string form, target;
  std::vector<FragmentMove> moves;
  std::vector<FragmentChain> chain;  ///< one, or none where D or A is not of interest
};

/// The moves for each operand in registers, or for one: both orders of storage, and adjacent tiles together where one
/// fragment has fewer registers than an instruction moves. Instructions of the same target are tried, `.shared` ones.
/// Errors: operand_kind if the operand does not exist, or the instruction multiplies no fragments.
Result<FragmentMoves> fragment_moves(const Instruction& instruction, const std::string& operand = "");

/// As text, with a table of lanes and rows for each. Ends with a newline.
std::string text(const FragmentMoves& moves, int width = 100);
/// {"form": ..., "target": ..., "by": "ldmatrix", "moves": [...], "d_as_a": ...}, and a newline.
std::string fragment_moves_json(const FragmentMoves& moves);

}  // namespace warpbit
#pragma GCC visibility pop
