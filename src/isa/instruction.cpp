// SPDX-License-Identifier: Apache-2.0
#include "isa/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {
namespace {

enum class Order { row_major, column_major };

// Compiles an operand's fragment into the order in which the kernel takes its elements.
TileOperand compile(const Operand& operand, FormatId id, Order order) {
  TileOperand out{&format(id), operand.registers, operand.register_bits, {}, operand.literals};
  const FragmentMap& map = operand.fragment;
  const std::vector<Place> table = map.table();
  const int outer = order == Order::row_major ? map.rows() : map.columns();
  const int inner = order == Order::row_major ? map.columns() : map.rows();
  for (int product = 0; product < map.products(); ++product)
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) {
        const int row = order == Order::row_major ? i : j, column = order == Order::row_major ? j : i;
        const Place& p = table[static_cast<std::size_t>((product * map.rows() + row) * map.columns() + column)];
        out.places.push_back({p.lane, p.reg, p.low_bit, p.bits});
      }
  return out;
}

Tile make_tile(const Form& form, const std::vector<Operand>& operands, const Plan& plan) {
  Tile tile;
  tile.plan = &plan;
  tile.lanes = operands[0].fragment.lanes();
  tile.products = form.products;
  tile.rows = form.rows;
  tile.columns = form.columns;
  tile.depth = form.depth;
  tile.terms = form.terms();
  tile.sparsity = form.sparsity;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const FormatId id = form.operands[i].format;
    switch (operands[i].part) {
      case Part::destination: tile.d = compile(operands[i], id, Order::row_major); break;
      case Part::left_factor: tile.a = compile(operands[i], id, Order::row_major); break;
      case Part::right_factor: tile.b = compile(operands[i], id, Order::column_major); break;
      case Part::accumulator: tile.c = compile(operands[i], id, Order::row_major); break;
      case Part::metadata: tile.e = compile(operands[i], id, Order::row_major); break;
      case Part::selector: break;  // it chose the fragment of the metadata
    }
  }
  return tile;
}

// The family of an opcode that a mark among the qualifiers points to, also a misspelt one ("sp::..."); the
// plain one without a mark.
const Family* find_family(const Statement& statement) {
  const Family* plain = nullptr;
  for (const Family& family : families()) {
    if (family.opcode != statement.opcode) continue;
    if (family.marks.empty()) plain = &family;
    for (const std::string_view mark : family.marks)
      for (const std::string& qualifier : statement.qualifiers)
        if (qualifier == mark || qualifier.starts_with(std::string(mark) + "::")) return &family;
  }
  return plain;
}

std::string known_instructions() {
  std::string out;
  for (const Family& family : families()) out += fmt::format("{}{}", out.empty() ? "" : ", ", family.name);
  return out;
}

}  // namespace

Instruction DecodedInstruction::make(DecodedInstruction decoded) {
  return Instruction(std::make_shared<const DecodedInstruction>(std::move(decoded)));
}

Instruction::Instruction(std::shared_ptr<const DecodedInstruction> decoded) : decoded_(std::move(decoded)) {}

Result<Instruction> Instruction::parse(std::string_view text, Target target, const TypeLookup& types) {
  Result<Statement> statement = split(text);
  if (!statement) return statement.error();
  const Family* family = find_family(*statement);
  if (family == nullptr) return Error{Errc::unknown_instruction, {}, statement->opcode, known_instructions()};
  Result<const Form*> form = match(*statement, *family, target);
  if (!form) return form.error();
  Result<std::vector<Operand>> operands = bind_operands(*statement, **form, types);
  if (!operands) return operands.error();
  const std::optional<TargetPlan> plan = find_plan(target.row(), (*form)->arithmetic);
  if (!plan)  // tests/plan_test.cpp proves that every form has a plan on each of its targets
    return Error{Errc::not_on_target, (*form)->canonical, std::string(target.name()),
                 "no target with a known plan"};
  Tile tile = make_tile(**form, *operands, plan->row->plan);
  return DecodedInstruction::make(
      {std::string(text), target, family, *form, *plan, std::move(*operands), std::move(tile)});
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
int Instruction::lanes() const {
  return decoded_->tile.lanes;
}
const Evidence& Instruction::evidence() const {
  return decoded_->plan.evidence;
}
std::string Instruction::plan() const {
  return describe(decoded_->plan.row->plan);
}
std::string Instruction::machine() const {
  return fmt::format("{}{}", decoded_->plan.row->machine,
                     decoded_->form->sparsity.is_sparse() ? ", sparse" : "");
}
std::string_view Instruction::toolkit() const {
  return decoded_->plan.toolkit;
}

std::vector<EvidenceRow> evidence_table() {
  const std::vector<Target> targets = Target::all();
  std::vector<EvidenceRow> out;
  for (const Family& family : families())
    for (const Form& form : family.forms) {
      if (!form.undocumented.empty()) continue;
      const std::string_view type = format(form.arithmetic.a).name, unit = name(form.arithmetic.unit);
      auto row = std::ranges::find_if(out, [&](const auto& r) { return r.type == type && r.unit == unit; });
      if (row == out.end())
        row = out.insert(out.end(), {type, unit, std::vector<std::optional<BasisRange>>(targets.size())});
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (!targets[i].row().features.has(form.needs)) continue;
        const std::optional<TargetPlan> plan = find_plan(targets[i].row(), form.arithmetic);
        if (!plan) continue;
        const Basis basis = plan->evidence.overall();
        const BasisRange known = row->by_target[i].value_or(BasisRange{basis, basis});
        row->by_target[i] = BasisRange{std::min(known.strongest, basis), std::max(known.weakest, basis)};
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
