// SPDX-License-Identifier: Apache-2.0
// What a program that records captures needs: their members, the kernel that executes a statement, and inputs
// that tell arithmetics apart.
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
  std::string name;                  ///< as the statement says, or of the format
  std::size_t item_bytes = 4;        ///< of its unsigned dtype
  std::vector<std::uint64_t> shape;  ///< of one case
  /// The same array as registers of 8 to 64 bits, little-endian; of memory, 32 bits each.
  int lanes = 1, registers = 1, register_bits = 32;
  /// What fills all of it, one part after the other; nothing for the result.
  std::vector<inputs::Member> fills;

  /// Bytes of one case.
  std::size_t case_bytes() const {
    return static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers) *
           static_cast<std::size_t>(register_bits / 8);
  }
};

/// All members that an instruction needs: those of its source operands in the order of the statement, `d_in`
/// and `smem` where it has them, and the expected result as the last. The names are those of the operands.
/// Inputs that are made as `fills` says leave nothing undefined, and no address leaves `smem`. Errors:
/// member_value if no capture can hold it, since it has no results, or moves a matrix from or to global memory.
Result<std::vector<CaptureMember>> capture_members(const Instruction& instruction);

// ---- Kernels that record

/// The statements in which a form is captured, with the members of a capture as symbolic operands. In the first
/// one every immediate has its least value that is not negative; each further one changes one immediate to
/// another legal value, or omits the operand that may be omitted. Empty where no capture can hold it
/// (capture_members). Only the form of the instruction counts.
std::vector<std::string> capture_statements(const Instruction& form);

/// A PTX module with the entry `capture`. It takes a pointer for each member, in the order of capture_members
/// (warpbit/record.hpp), whose arrays lie as in a capture file; block i of the grid, of as many
/// threads as the instruction has lanes, executes case i. Of an instruction of each thread, blocks have 256
/// threads, thread i of the grid executes case i, and a last parameter of 32 bits says how many cases there
/// are. Cases times lanes are fewer than 2^32. Addresses and descriptors in the members count from the
/// beginning of the image of memory. Errors: member_value, for a statement that is not one of
/// capture_statements.
Result<std::string> capture_kernel(const Instruction& statement);

/// The inputs of the probes of a statement (warpbit/record.hpp) as lines, and the name that blocks have for
/// them. Both are empty where the statement is not the first of its form, or has no probes.
struct ProbeSet {
  std::string name, text;
};
ProbeSet probe_set(const Instruction& statement);

/// The statement, its members, where probes lie in them, and its kernel as a block of lines. Errors: those of
/// capture_kernel.
Result<std::string> capture_block(const Instruction& statement);

// ---- Probes

/// One element of D = A B + C, with codes as in the layout `elements` of captures.
struct Probe {
  std::string name;  ///< what it tells apart, and how, e.g. "F 25, not 24: 2^0 @0, -2^0 @1, 2^-25 @2"
  std::vector<std::string_view> parameters;  ///< of which it tells values apart, e.g. "F"
  std::vector<std::uint64_t> a, b, a_scale, b_scale;
  std::uint64_t c = 0, d = 0;  ///< d: what the instruction returns
};

/// A value of a parameter of which no result can tell whether it is that of the instruction.
struct Invisible {
  std::string name;  ///< e.g. "floor -133, not -132"
  std::string_view parameter;
  std::string reason;  ///< the outcome of a proof from the exponents of the formats
};

/// Of every parameter of a plan each value beside its own is in one of the lists. `unknown` is of those for
/// which neither an input nor a proof was found; tests show that no instruction has any.
struct Probes {
  std::vector<Probe> probes;
  std::vector<Invisible> invisible, unknown;
};

/// The probes of an instruction, made from its plan and formats alone. Errors: member_value, for an instruction
/// that is no D = A B + C.
Result<Probes> probes(const Instruction& instruction);

}  // namespace warpbit
#pragma GCC visibility pop
