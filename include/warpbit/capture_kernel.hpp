// SPDX-License-Identifier: Apache-2.0
// What a GPU needs to record captures: the statements of a form, a PTX kernel for each, and both as the text
// that the capture program reads (scripts/capture/README.md).
#pragma once

#include <string>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The statements in which a form is captured, with the members of a capture as symbolic operands. In the first
/// one every immediate has its least value that is not negative; each further one changes one immediate to
/// another legal value, or omits the operand that may be omitted. Empty where no capture can hold it
/// (capture_members). Only the form of the instruction counts.
std::vector<std::string> capture_statements(const Instruction& form);

/// A PTX module with the entry `capture`. It takes a pointer for each member, in the order of capture_members
/// (warpbit/capture_members.hpp), whose arrays lie as in a capture file; block i of the grid, of as many
/// threads as the instruction has lanes, executes case i. Of an instruction of each thread, blocks have 256
/// threads, thread i of the grid executes case i, and a last parameter of 32 bits says how many cases there
/// are. Cases times lanes are fewer than 2^32. Addresses and descriptors in the members count from the
/// beginning of the image of memory. Errors: member_value, for a statement that is not one of
/// capture_statements.
Result<std::string> capture_kernel(const Instruction& statement);

/// The inputs of the probes of a statement (warpbit/probes.hpp) as lines, and the name that blocks have for
/// them. Both are empty where the statement is not the first of its form, or has no probes.
struct ProbeSet {
  std::string name, text;
};
ProbeSet probe_set(const Instruction& statement);

/// The statement, its members, where probes lie in them, and its kernel as a block of lines. Errors: those of
/// capture_kernel.
Result<std::string> capture_block(const Instruction& statement);

}  // namespace warpbit
#pragma GCC visibility pop
