// SPDX-License-Identifier: Apache-2.0
// A kernel of a module -> Program.
#pragma once

#include "assembler/rules.hpp"
#include "grid/program.hpp"
#include "warpbit/result.hpp"

namespace warpbit::grid {

/// Addresses of the module's variables in global memory, by variable; functions have addresses of their own.
using Addresses = std::vector<std::pair<const ptx::Variable*, std::uint64_t>>;
/// The address of a function: its number in the module, from 1 on, times 16; 0 if there is none of that name.
std::uint64_t function_address(const ptx::ModuleText& module, std::string_view name);

struct CompileOptions {
  assembler::Rules rules = assembler::Rules::all();  ///< what the assembler does to the text
  bool shares_slots = true;  ///< registers lie in one slot where no value is lost (slots.hpp)
  auto operator<=>(const CompileOptions&) const = default;
};
/// The program of a kernel. Errors: those of ptx::match_scalar and of Instruction::parse, for the first statement that it
/// reaches and that cannot run, with line and column. Precondition: the module has the kernel.
Result<Program> compile(std::shared_ptr<const ptx::ModuleText> module, std::string_view entry, Target target,
                        const Addresses& addresses, const CompileOptions& options = {});

/// What cannot run, over all functions, whether they are reached or not.
std::vector<Error> check(std::shared_ptr<const ptx::ModuleText> module, Target target,
                         const Addresses& addresses);

}  // namespace warpbit::grid
