// SPDX-License-Identifier: Apache-2.0
// For programs that record captures: the members of a capture, the kernel that executes a statement, and
// inputs that distinguish arithmetics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/inputs/member.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Members

/// One array of a capture (src/capture/FORMAT.md, layouts `registers` and `scalars`).
struct CaptureMember {
  std::string name;                  ///< a name from the statement, or from the file format
  std::size_t item_bytes = 4;        ///< of its unsigned dtype
  std::vector<std::uint64_t> shape;  ///< of one case
  /// The same array as registers of 8 to 64 bits, little-endian; memory is in words of 32 bits.
  int lanes = 1, registers = 1, register_bits = 32;
  /// The fills that together cover all of it; empty for the result.
  std::vector<inputs::Member> fills;

  /// Bytes of one case.
  std::size_t case_bytes() const {
    return static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers) *
           static_cast<std::size_t>(register_bits / 8);
  }
};

/// All members that an instruction needs, named as its operands: the source operands in the order of the
/// statement, `d_in` and `smem` where it has them, and the expected result as the last. Inputs made from
/// `fills` leave nothing undefined, and all addresses lie within `smem`. Errors: member_value if a capture
/// cannot hold the instruction: it has no results, or moves a matrix to or from global memory.
Result<std::vector<CaptureMember>> capture_members(const Instruction& instruction);

// ---- Kernels that record

/// The statements in which a form is captured, with the members of a capture as symbolic operands. In the
/// first one every immediate has its minimum non-negative value; each further one changes one immediate to
/// another legal value, or omits the optional operand. Empty if a capture cannot hold the form
/// (capture_members). Only the form of the instruction matters.
std::vector<std::string> capture_statements(const Instruction& form);

/// A PTX module with the entry `capture`. Its parameters are a pointer for each member, in the order of
/// capture_members (warpbit/record.hpp), to arrays that are arranged as in a capture file. Block i of the
/// grid executes case i, with one thread per lane of the instruction. For an instruction that each thread
/// executes alone, blocks have 256 threads, thread i of the grid executes case i, and a last parameter of 32
/// bits is the number of cases. Cases times lanes must be below 2^32. Addresses and descriptors in the
/// members count from the beginning of the memory image. Errors: member_value for a statement that is not one
/// of capture_statements.
Result<std::string> capture_kernel(const Instruction& statement);

/// The inputs of a statement's probes as lines, and the name by which blocks refer to them. Both are empty if
/// the statement is not the first of its form, or has no probes.
struct ProbeSet {
  std::string name, text;
};
ProbeSet probe_set(const Instruction& statement);

/// The statement, its members, the positions of probes in them, and its kernel as a block of lines. Errors:
/// those of capture_kernel.
Result<std::string> capture_block(const Instruction& statement);

// ---- Probes

/// One element of D = A B + C, with codes as in the layout `elements` of captures.
struct Probe : ElementInputs {
  std::string name;  ///< what it distinguishes, and how, e.g. "F 25, not 24: 2^0 @0, -2^0 @1, 2^-25 @2"
  std::vector<std::string_view> parameters;  ///< whose values it distinguishes, e.g. "F"
  std::uint64_t d = 0;                       ///< the result of the instruction
};

/// An alternative value of a parameter that no result can distinguish from the instruction's own.
struct Invisible {
  std::string name;  ///< e.g. "floor -133, not -132"
  std::string_view parameter;
  std::string reason;  ///< the result of a proof from the exponents of the formats
};

/// Every alternative value of every parameter of a plan appears in exactly one list. `unknown` holds those
/// with neither an input nor a proof; tests show that it is empty for all instructions.
struct Probes {
  std::vector<Probe> probes;
  std::vector<Invisible> invisible, unknown;
};

/// The probes of an instruction, made from its plan and formats alone. Errors: member_value if the
/// instruction is not D = A B + C.
Result<Probes> probes(const Instruction& instruction);

}  // namespace warpbit
#pragma GCC visibility pop
