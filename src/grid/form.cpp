// SPDX-License-Identifier: Apache-2.0
// Forms that kernels have and Instruction has not.
#include <algorithm>

#include "isa/since.hpp"
#include "isa/statement.hpp"
#include "ptx/forms.hpp"
#include "ptx/refusal.hpp"
#include "ptx/rows/opcodes.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::ptx {
namespace {

Error with_name(Error error, std::string spelled) {
  if (error.where.empty()) error.where = std::move(spelled);
  return error;
}

// Control transfer that has no row: its operands are lists.
constexpr std::string_view kCalls = "control flow and the stack";

Result<KernelForm> scalar_form(const warpbit::Statement& name, Target target, bool has_operands) {
  const std::string spelled = spell(name);
  const Opcode& is = opcode(name.opcode);
  const bool is_call = is.does == Does::call;
  const Result<std::vector<MatchedForm>> forms =
      is_call ? std::vector<MatchedForm>() : match_scalar(name.opcode, name.qualifiers, target);
  const bool is_unknown = !forms && forms.error().code == Errc::unknown_instruction;
  if (!is_unknown && !target.row().features.has(Feature::sm_75))
    return Error{Errc::target_too_old, spelled, std::string(target.name()), "ask for a later one"};
  if (!forms) return with_name(forms.error(), spelled);
  KernelForm out{spelled, std::string(kCalls), {}, has_operands};
  Version first = is_call ? Version{} : kKnownPtx;  // of several rows that of the oldest
  if (!is_call) {
    const std::span<const std::string_view> words = name.qualifiers;
    for (const MatchedForm& one : *forms) first = std::min(first, since(*one.form, words));
    out.kind = forms->front().form->chapter->name;
  }
  out.since = text(std::max(target.row().since, first));
  out.as_target = first < target.row().since;
  return out;
}

// Whether the words are those of a tensor instruction.
bool is_of_operands(Errc code) {
  return code == Errc::operand_missing || code == Errc::operand_extra || code == Errc::operand_kind ||
         code == Errc::register_count || code == Errc::register_type;
}

}  // namespace

Result<KernelForm> kernel_form(std::string_view statement, Target target) {
  const Result<Instruction> tensor = Instruction::parse(statement, target);
  const Result<warpbit::Statement> name = split_name(statement);
  if (!name) return tensor ? name.error() : tensor.error();
  const std::size_t end = statement.find_last_not_of(" \t\r\n;");
  const std::string_view last = name->qualifiers.empty() ? name->opcode : name->qualifiers.back();
  const bool has_operands = end != statement.npos && statement.data() + end >= last.data() + last.size();
  if (!tensor && is_of_operands(tensor.error().code)) return tensor.error();
  Result<KernelForm> out = scalar_form(*name, target, has_operands);
  if (out || tensor) return out;
  const Errc code = tensor.error().code;
  if (code == Errc::unknown_instruction || code == Errc::instruction_not_modelled) return out;
  return out.error().code == Errc::unknown_instruction ? tensor.error() : nearer(out.error(), tensor.error());
}

}  // namespace warpbit::ptx
