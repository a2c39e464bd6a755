// SPDX-License-Identifier: Apache-2.0
#include "cli/check_json.hpp"

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/notes.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

ordered_json ground_json(const Ground& g) {
  return {{"basis", name(g.basis)}, {"from", g.from}};
}

std::string_view kind_name(OperandKind kind) {
  switch (kind) {
    case OperandKind::immediate: return "immediate";
    case OperandKind::descriptor: return "descriptor";
    case OperandKind::predicate: return "predicate";
    case OperandKind::address: return "address";
    case OperandKind::pair: return "pair";
    default: return "registers";
  }
}

ordered_json operand_json(const Operand& op) {
  ordered_json out{{"role", op.role}, {"label", op.label}, {"kind", kind_name(op.kind)}};
  if (!op.format.empty()) out["format"] = op.format;
  if (kind_name(op.kind) == "registers")
    out.update({{"registers", op.registers},
                {"register_bits", op.register_bits},
                {"rows", op.fragment.rows()},
                {"columns", op.fragment.columns()},
                {"matrices", op.fragment.products()}});
  if (op.kind == OperandKind::address) out["offset"] = op.offset;
  if (op.kind == OperandKind::immediate) out["value"] = static_cast<std::int64_t>(*op.literals[0]);
  return out;
}

ordered_json accepted_json(const Instruction& i) {
  const Evidence& e = i.evidence();
  ordered_json operands = ordered_json::array();
  for (const Operand& op : i.operands()) operands.push_back(operand_json(op));
  ordered_json out{{"target", i.target().name()},
                   {"accepted", true},
                   {"form", i.canonical()},
                   {"family", i.family()},
                   {"operands", operands},
                   {"plan", i.plan()},
                   {"inferred", i.inferred()},
                   {"evidence",
                    {{"overall", name(e.overall())},
                     {"order", ground_json(e.order)},
                     {"window", ground_json(e.window)},
                     {"floor", ground_json(e.floor)},
                     {"specials", ground_json(e.specials)}}},
                   {"machine", i.machine()},
                   {"toolkit", i.toolkit()},
                   {"kernel", path_of(i, required(chosen_kernel()))}};
  if (const std::optional<MachineCode> code = machine_code(i.canonical(), i.target())) {
    ordered_json instructions = ordered_json::array();
    for (const MachineInstruction& seen : code->instructions)
      instructions.push_back({{"name", seen.name}, {"count", seen.count}});
    out["machine_code"] = {{"text", text(*code)},
                           {"instructions", instructions},
                           {"calls_routine", code->calls_routine},
                           {"seen_with", kMachineCodeToolkit}};
  }
  if (const std::string trap = note(i); !trap.empty()) out["note"] = trap;
  return out;
}

}  // namespace

ordered_json answers_json(const std::string& text, std::span<const Target> targets) {
  ordered_json answers = ordered_json::array();
  std::vector<Error> refusals;
  for (const Target target : targets) {
    if (const Result<Instruction> i = Instruction::parse(text, target)) {
      answers.push_back(accepted_json(*i));
    } else if (const Result<ptx::KernelForm> form = ptx::kernel_form(text, target)) {
      answers.push_back({{"target", target.name()},
                         {"accepted", true},
                         {"form", form->form},
                         {"kind", form->kind},
                         {"since", form->since},
                         {"operands_checked", !form->has_operands}});
    } else {
      refusals.push_back(form.error());
      answers.push_back(
          {{"target", target.name()}, {"accepted", false}, {"error", error_json(refusals.back())}});
    }
  }
  ordered_json out{{"text", text}, {"accepted", refusals.size() < targets.size()}, {"answers", answers}};
  if (refusals.size() == targets.size())
    out["near"] = near_forms(refusals[0], text, targets.size() == 1 ? std::optional(targets[0]) : std::nullopt);
  return out;
}

ordered_json module_json(const std::string& file, const Result<ptx::Module>& module,
                         const std::vector<Error>& errors) {
  ordered_json out{{"file", file}, {"accepted", errors.empty()}, {"errors", ordered_json::array()}};
  for (const Error& error : errors) out["errors"].push_back(error_json(error));
  if (module)
    out.update({{"target", module->target().name()},
                {"entries", module->entries()},
                {"notes", notes_json(module->notes())}});
  return out;
}

}  // namespace warpbit::cli
