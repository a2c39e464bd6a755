// SPDX-License-Identifier: Apache-2.0
// Machine code: which instructions of the GPU a form of PTX becomes, and which forms become an instruction. PTX does not fix
// it: this is what was seen when ptxas 13.0 compiled a kernel with that instruction alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Instructions of one opcode.
struct MachineInstruction {
  std::string_view
      name;  ///< "HMMA", "QMMA.SF", without shape and types; "0x236" for an opcode without a known name
  int count = 1;
  friend bool operator==(const MachineInstruction&, const MachineInstruction&) = default;
};

/// What a form became: its tensor instructions, and conversions, additions and shuffles beside them. Other instructions of the
/// integer units are not listed. Names were read from the opcode bits of the machine code.
struct MachineCode {
  std::vector<MachineInstruction> instructions;  ///< empty: none of these
  bool calls_routine = false;                    ///< the toolkit puts an internal routine around them
  friend bool operator==(const MachineCode&, const MachineCode&) = default;
};
/// "2 HMMA, 12 F2FP, 4 FADD"; "2 IMMA in an internal routine"; "none of the tensor cores".
std::string text(const MachineCode& code);

/// The toolkit with which it was seen.
inline constexpr std::string_view kMachineCodeToolkit = "ptxas 13.0";

/// The machine code of a documented form in full; nothing if it was not seen for this form and target. Not every target was
/// compiled for: of those that share a generation's forms the one that has all of them.
std::optional<MachineCode> machine_code(std::string_view form, Target target);

/// The names of all machine instructions that forms become, without shape and types, in alphabetical order.
std::vector<std::string_view> machine_instructions();

/// A form and the targets on which it becomes an instruction.
struct MachineForm {
  std::string form;
  std::vector<Target> targets;
};
/// What a machine instruction's name says.
struct MachineForms {
  std::string name;                    ///< what was read of it
  std::vector<std::string> ignored;    ///< words that do not tell forms apart
  std::vector<MachineForm> forms;      ///< the whole instruction
  std::vector<MachineForm> composing;  ///< forms that become several, or one with others
};
/// The documented forms that become an instruction, as a disassembler writes it: "HMMA.16816.F32", "IMMA.16832.S8.S8", "LDSM.16.M88.4",
/// "HGMMA.64x128x16.F32.BF16"; operands behind it are left out, case does not matter. Products in tensor memory are found
/// by the kind of their arithmetic. Error: unknown_instruction, with the names that are known.
Result<MachineForms> forms_of_machine_code(std::string_view instruction);

}  // namespace warpbit
#pragma GCC visibility pop
