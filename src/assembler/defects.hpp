// SPDX-License-Identifier: Apache-2.0
// Where the assembler (ptxas) makes machine code that leaves other bits than the PTX manual says. No rule of rules.hpp: a
// defect is not imitated, it is named. At -O0 there are few of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::assembler {

struct DefectRow {
  std::string_view name;
  std::string_view pattern;  ///< what it sees
  std::string_view result;   ///< what it makes of it
  std::string_view manual;   ///< what the PTX manual says
  std::string_view seen;     ///< the versions of ptxas in which it was seen
  std::string_view evidence;
  bool always = false;  ///< at -O0, too
};
/// All of them: for all targets that have the instruction (asked of ptxas 13.0 for sm_80, sm_90a, sm_100a, sm_120a).
std::span<const DefectRow> defects();
/// Whether a defect of that name acts at -O0, too.
bool acts_always(std::string_view name);

struct FoundDefect {
  const DefectRow* defect;
  int statement;
};
/// The defects that a function meets, by statement.
std::vector<FoundDefect> find_defects(const ptx::FunctionText& function);

}  // namespace warpbit::assembler
#pragma GCC visibility pop
