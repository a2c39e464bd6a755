// SPDX-License-Identifier: Apache-2.0
#include "isa/instruction.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "isa/families/tensor_product.hpp"

namespace warpbit {
namespace {

bool has_mark(const Statement& statement, std::string_view mark) {
  return std::ranges::any_of(statement.qualifiers, [&](std::string_view qualifier) {
    return qualifier.starts_with(mark) &&
           (qualifier.size() == mark.size() || qualifier.substr(mark.size()).starts_with("::"));
  });
}

// In PTX, where tcgen05.mma has operands, no type is in its name.
bool is_tensor_product(const Statement& statement) {
  return statement.opcode == "tcgen05" && statement.operands.empty() && !statement.qualifiers.empty() &&
         statement.qualifiers.front() == "mma" &&
         std::ranges::any_of(statement.qualifiers, [](std::string_view word) {
           return word == "f32" || word == "f16" || word == "s32";
         });
}

// The family of the opcode with the most marks, among those whose marks are all among the qualifiers ("sp",
// also as "sp::...").
const Family* find_family(const Statement& statement) {
  static const auto by_opcode = [] {
    std::unordered_map<std::string_view, std::vector<const Family*>> out;
    for (const Family& family : families()) out[family.opcode].push_back(&family);
    return out;
  }();
  if (is_tensor_product(statement)) return &tensor_product_family();
  const auto found = by_opcode.find(statement.opcode);
  if (found == by_opcode.end()) return statement.opcode == chain_family().opcode ? &chain_family() : nullptr;
  const Family* best = nullptr;
  for (const Family* family : found->second) {
    if (!std::ranges::all_of(family->marks, [&](std::string_view mark) { return has_mark(statement, mark); }))
      continue;
    if (best == nullptr || family->marks.size() > best->marks.size()) best = family;
  }
  return best;
}

// Instructions that are known but not modelled: their names, up to a dot, and the reason. If several names fit,
// the longest comes first.
struct NotModelled {
  std::string_view name, reason;
};
constexpr std::string_view kHost = "the host of a Machine copies with copy_async, which is complete at once";
constexpr NotModelled kNotModelled[] = {
    {"cp.async.bulk", kHost},
    {"cp.async",
     "a kernel's copies are modelled in warpbit/device.hpp; around a Machine, its host copies with write_memory"},
    {"cp.reduce.async.bulk", kHost},
    {"mbarrier", "a Machine executes one instruction after another, so nothing arrives later"},
};

Error unknown(const Statement& statement) {
  const std::string spelled = spell(statement);
  for (const NotModelled& row : kNotModelled)
    if (spelled == row.name || spelled.starts_with(std::string(row.name) + "."))
      return {Errc::instruction_not_modelled, spelled, std::string(row.reason), {}};
  std::vector<std::string_view> known;
  for (const Family& family : families())
    if (known.empty() || known.back() != family.name) known.push_back(family.name);
  return {Errc::unknown_instruction, spelled, std::string(statement.opcode),
          fmt::format("{}", fmt::join(known, ", "))};
}

std::string plan_of(const TensorAction& action, const CompiledForm& form) {
  if (std::holds_alternative<TensorMma>(action.what)) return describe(form.plan.row->plan);
  const auto* move = std::get_if<tensor::RegisterMove>(&action.what);
  const bool moves = move != nullptr || std::holds_alternative<tensor::Copy>(action.what) ||
                     std::holds_alternative<tensor::Shift>(action.what);
  return move != nullptr && move->reduction ? "elements unchanged, and their minimum or maximum"
         : moves                            ? "elements unchanged"
                                            : "no arithmetic";
}

}  // namespace

Instruction::Instruction(std::shared_ptr<const DecodedInstruction> decoded) : decoded_(std::move(decoded)) {}

Result<Instruction> Instruction::parse(std::string_view text, std::string_view target) {
  const Result<Target> found = Target::find(target);
  if (!found) return found.error();
  Result<Instruction> out = parse(text, *found);
  if (out) return out;
  const Result<std::string> full = full_form(text, *found);
  if (!full) return full.error();
  return *full == text ? out : parse(*full, *found);
}

namespace {

void set_types(std::vector<OperandText>& operands, const TypeLookup& types,
               std::forward_list<std::string>& found) {
  for (OperandText& one : operands) {
    if (one.kind == OperandText::Kind::name)
      if (std::optional<std::string> type = types(one.name)) one.type = found.emplace_front(std::move(*type));
    set_types(one.parts, types, found);
  }
}

}  // namespace

Result<Instruction> Instruction::parse(std::string_view text, Target target, const TypeLookup& types) {
  auto out = std::make_shared<DecodedInstruction>(text, target);
  Result<Statement> statement = split(out->text);
  if (!statement) {  // operands of other instructions may have shapes that no family has
    const Result<Statement> name = split_name(text);
    return name && find_family(*name) == nullptr ? unknown(*name) : statement.error();
  }
  if (types) set_types(statement->operands, types, out->types);
  out->statement = std::move(*statement);
  const Statement& read = out->statement;
  return decode(read, std::move(out));
}

Result<Instruction> Instruction::decode(const Statement& statement, std::string_view text, Target target) {
  return decode(statement, std::make_shared<DecodedInstruction>(text, target));
}

// The one way from words and operands to an instruction.
Result<Instruction> Instruction::decode(const Statement& statement, std::shared_ptr<DecodedInstruction> out) {
  out->family = find_family(statement);
  if (out->family == nullptr) return unknown(statement);
  const Result<const Form*> form = match(statement, *out->family, out->target);
  if (!form) return form.error();
  out->form = *form;
  Result<std::vector<Operand>> operands = bind_operands(statement, **form);
  if (!operands) return operands.error();
  out->operands = std::move(*operands);
  out->compiled = compiled(**form, out->target);
  if (out->compiled == nullptr)  // tests/plan_test.cpp proves that every form has a plan on each of its targets
    return Error{Errc::not_on_target, (*form)->canonical, std::string(out->target.name()),
                 "no target with a known plan"};
  if (Result<void> assembled = check_assembled(statement, **form, out->compiled->plan, out->target); !assembled)
    return assembled.error();
  out->kernel = with_operands(*out->compiled, out->operands);
  return Instruction(std::move(out));
}

const std::string& Instruction::text() const {
  return decoded_->text;
}
std::string_view Instruction::canonical() const {
  return decoded_->form->canonical;
}
std::string_view Instruction::family() const {
  return decoded_->family->name;
}
Target Instruction::target() const {
  return decoded_->target;
}
std::span<const Operand> Instruction::operands() const {
  return decoded_->operands;
}
const Operand* Instruction::operand(std::string_view role) const {
  const auto found = std::ranges::find(operands(), role, &Operand::role);
  return found == operands().end() ? nullptr : &*found;
}
const Operand* Instruction::find(Part part) const {
  const auto found = std::ranges::find(operands(), part, &Operand::part);
  return found == operands().end() ? nullptr : &*found;
}
int Instruction::rows() const {
  return decoded_->form->rows;
}
int Instruction::columns() const {
  return decoded_->form->columns;
}
int Instruction::depth() const {
  return decoded_->form->depth;
}
int Instruction::products() const {
  return decoded_->form->products;
}
int Instruction::terms() const {
  return decoded_->form->terms();
}
int Instruction::blocks() const {
  const Tile* tile = std::get_if<Tile>(&decoded_->kernel);
  return tile ? tile->a_scale.blocks : 0;
}
int Instruction::lanes() const {
  const CompiledAction& action = decoded_->kernel;
  if (const auto* control = std::get_if<Control>(&action)) return control->lanes;
  if (const auto* tensor = std::get_if<TensorAction>(&action)) return tensor->lanes;
  return decoded_->form->operands[0].fragment().lanes();
}
bool Instruction::uses_memory() const {
  const Tile* tile = std::get_if<Tile>(&decoded_->kernel);
  return std::holds_alternative<MatrixMove>(decoded_->form->action) || (tile != nullptr && tile->uses_memory());
}
const Evidence& Instruction::evidence() const {
  return decoded_->compiled->plan.evidence;
}
bool is_inferred(const TargetPlan& of) {
  const Plan& plan = of.row->plan;
  const bool is_exact =
      plan.size() > 0 && std::all_of(plan.begin(), plan.end(), [](const Step& step) {
        const auto* sum = std::get_if<IntegerSum>(&step);
        return (sum && sum->overflow == Overflow::ieee) || std::holds_alternative<BitCount>(step);
      });
  return !is_exact && of.evidence.overall() == Basis::inferred;
}

bool Instruction::inferred() const {
  return is_inferred(decoded_->compiled->plan);
}
std::string Instruction::plan() const {
  const auto& action = decoded_->form->action;
  if (std::holds_alternative<Control>(action)) return "no arithmetic";
  if (const auto* tensor = std::get_if<TensorAction>(&action)) return plan_of(*tensor, *decoded_->compiled);
  const auto* elementwise = std::get_if<Elementwise>(&action);
  if (elementwise && elementwise->conversion) return describe(*elementwise->conversion);
  return !std::holds_alternative<DotProduct>(action) ? "elements unchanged"
                                                     : describe(decoded_->compiled->plan.row->plan);
}
std::string Instruction::machine() const {
  return fmt::format("{}{}", decoded_->compiled->plan.row->machine,
                     decoded_->form->sparsity.is_sparse() ? ", sparse" : "");
}
std::string_view Instruction::toolkit() const {
  return decoded_->compiled->plan.toolkit;
}

namespace {

using BasisRanges = std::vector<std::optional<BasisRange>>;

void widen(std::optional<BasisRange>& range, Basis basis) {
  const BasisRange known = range.value_or(BasisRange{basis, basis});
  range = BasisRange{std::min(known.strongest, basis), std::max(known.weakest, basis)};
}

// True if the sums have a smallest E.
bool has_floor(const Plan& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const Step& step) {
    return std::visit(
        [](const auto& s) {
          if constexpr (requires { s.floor; }) return s.floor != kNoFloor;
          return false;
        },
        step);
  });
}

}  // namespace

std::vector<EvidenceRow> evidence_table() {
  const std::vector<Target> targets = Target::all();
  std::vector<EvidenceRow> out;
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      if (!form.undocumented.empty()) continue;
      for (const Arithmetic& arithmetic : arithmetics_of(form)) {
        const std::string_view type = format(arithmetic.a).name, unit = name(arithmetic.unit);
        auto row = std::ranges::find_if(out, [&](const auto& r) { return r.type == type && r.unit == unit; });
        if (row == out.end())
          row = out.insert(out.end(), {type, unit, BasisRanges(targets.size()), BasisRanges(targets.size())});
        for (std::size_t i = 0; i < targets.size(); ++i) {
          if (!targets[i].row().features.has(form.needs | form.known)) continue;
          const std::optional<TargetPlan> plan = find_plan(targets[i].row(), arithmetic);
          if (!plan) continue;
          widen(row->by_target[i], plan->evidence.overall());
          if (has_floor(plan->row->plan)) widen(row->floor_by_target[i], plan->evidence.floor.basis);
        }
      }
    }
  return out;
}

std::vector<FormInfo> forms() {
  std::vector<FormInfo> out;
  for (const Family& family : families())
    for (const Form& form : family.forms)
      if (form.undocumented.empty())
        out.push_back({form.canonical, family.name, operand_notation(form), targets_of(form)});
  return out;
}

}  // namespace warpbit
