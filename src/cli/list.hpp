// SPDX-License-Identifier: Apache-2.0
// The listings of `warpbit list`.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {

inline constexpr std::array kBases{Basis::captured, Basis::published, Basis::value_only, Basis::inferred};

struct ListArguments {
  bool forms = false, types = false, ptx = false, probes = false, evidence = false, targets = false,
       kernels = false, assembler = false, defects = false, rules = false, isa = false;
  bool markdown = false, csv = false, json = false;
  std::string target, pattern, machine;
  std::vector<std::string> captures;
};

/// The forms that the pattern is found in, on the target if there is one, and that become the machine instruction if one is given.
std::vector<FormInfo> wanted_forms(const ListArguments& o);

/// Calls visit(instruction) for these, on the target or on each.
template <class Visit>
void for_each_wanted(const ListArguments& o, Visit visit) {
  const std::string wanted(o.target.empty() ? "" : required(Target::find(o.target)).name());
  for (const FormInfo& form : wanted_forms(o))
    for (const Target target : form.targets)
      if (wanted.empty() || target.name() == wanted)
        visit(required(Instruction::parse(form.canonical, form.operands, target)));
}

/// For a page: a cell ends with its row behind "; " and where it is as wide as given, and goes on in a row of its own.
Table in_page_width(const Table& wide, const std::vector<std::size_t>& widths);

/// Prints a table, or the object with --json. The exit status: "no" if the table has no rows.
int print_listing(const ListArguments& o, const Table& table, const nlohmann::ordered_json& object);

/// Which forms rest on what, and on which captures: by family, or with --forms each.
int list_evidence(const ListArguments& o);
/// What results of whole kernels rest on beside those of tensor instructions.
int list_kinds(const ListArguments& o);
/// The rules that a kernel must keep.
int list_kernel_rules(const ListArguments& o);
/// The instructions that kernels may have, by chapter of the PTX manual.
int list_isa(const ListArguments& o);
/// The rules by which the assembler changes what kernels compute.
int list_rules(const ListArguments& o);
/// Where the assembler leaves other bits than the PTX manual says.
int list_defects(const ListArguments& o);
/// The index of folders of captures.
int list_captures(const ListArguments& o);
/// What a recording holds, by kind and kernel: o.pattern is its path.
int list_records(const ListArguments& o);
/// What a GPU needs to record captures: the kernels file (tools/capture/README.md).
int list_kernels(const ListArguments& o);
/// What tells the arithmetic of each form from others, and what nothing can tell.
int list_probes(const ListArguments& o);

}  // namespace warpbit::cli
