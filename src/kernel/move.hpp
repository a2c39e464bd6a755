// SPDX-License-Identifier: Apache-2.0
// Moves matrices between memory and the registers of a warp, line by line. A line is what lies contiguously in
// memory: a row, or a column of a matrix that is stored in column-major format.
//
//     line i      element 0   element 1   ...   padding        element j: bits [j element_bits, ...),
//     address ->  |-----------|-----------|     |.......|      little-endian
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/tile.hpp"  // RegisterBits
#include "warpbit/result.hpp"
#include "warpbit/state.hpp"

namespace warpbit {

/// Where the lines begin.
enum class Addressing {
  rows,    ///< line i where lane i says
  matrix,  ///< line 0 where all lanes say, each further line `stride` elements after the one before
};

/// Bits of a register that hold an element of a line.
struct MoveElement {
  RegisterBits bits;
  int line, position;
};

/// A decoded instruction that moves a matrix. Loads may hold an element more than once; what is stored are
/// elements of whole bytes that fill their lines, each held once.
struct Move {
  Addressing addressing = Addressing::rows;
  bool shared_only = false;       ///< a generic address must point into shared memory
  bool every_lane_valid = false;  ///< rows: also the lanes whose addresses name no line need valid ones
  int lanes = 32, registers = 0;
  int lines = 0, line_elements = 0;  ///< rows: no more lines than lanes
  int element_bits = 0;              ///< of RegisterBits too, unless they are sign-extended
  int extended_bits = 0;             ///< of a register: what an element is sign-extended to, if that is more
  int line_bytes = 0;                ///< with padding
  int alignment = 1;                 ///< of the addresses, in bytes
  int stride_multiple = 1;           ///< matrix: of the stride, in bytes
  std::vector<MoveElement> elements;
};

/// What the lanes say. The spans have an entry for each lane.
struct MoveAddresses {
  Space space = Space::generic;
  std::span<const std::uint64_t> addresses;
  /// matrix: in elements; empty if the instruction gives none (lines follow each other then)
  std::span<const std::uint32_t> strides;
};

/// Fills `registers`, one cell for each (lane, register) with the lanes outside (Registers::data), bits without
/// an element 0. Returns the reads, a line each. Errors: addresses_disagree, address_misaligned,
/// address_not_shared, address_out_of_bounds; undefined_operand for a stride shorter than a line.
Result<std::vector<Effects::MemoryRead>> load_matrix(const Move& move, const MoveAddresses& from,
                                                     const Memory& memory, std::span<std::uint64_t> registers);

/// What storing the registers writes, a line each; memory is not changed. Errors: as load_matrix, and
/// stores_overlap.
Result<std::vector<Effects::MemoryWrite>> store_matrix(const Move& move, const MoveAddresses& to,
                                                       const Memory& memory,
                                                       std::span<const std::uint64_t> registers);

}  // namespace warpbit
