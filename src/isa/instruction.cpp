// SPDX-License-Identifier: Apache-2.0
#include "isa/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel/fused.hpp"

namespace warpbit {
namespace {

enum class Order { row_major, column_major };

TileRegisters registers_of(const Operand& operand) {
  return {operand.registers, operand.register_bits, operand.literals};
}

RegisterBits bits_of(const Place& p) {
  return {p.lane, p.reg, p.low_bit, p.bits};
}

// The order in which the kernel takes the elements of a fragment.
std::vector<RegisterBits> places(const FragmentMap& map, Order order) {
  std::vector<RegisterBits> out;
  const std::vector<Place> table = map.table();
  const int outer = order == Order::row_major ? map.rows() : map.columns();
  const int inner = order == Order::row_major ? map.columns() : map.rows();
  for (int product = 0; product < map.products(); ++product)
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) {
        const int row = order == Order::row_major ? i : j, column = order == Order::row_major ? j : i;
        out.push_back(
            bits_of(table[static_cast<std::size_t>((product * map.rows() + row) * map.columns() + column)]));
      }
  return out;
}

TileOperand compile(const Operand& operand, FormatId id, Order order) {
  return {&format(id), registers_of(operand), places(operand.fragment, order)};
}

// ---- D = A B + C

bool has_registers(const Operand& operand) {
  return operand.literals.empty() || std::ranges::any_of(operand.literals, [](const auto& l) { return !l; });
}

TileScale compile_scale(const OperandSpec& spec, const Operand& scale, const OperandSpec& selector_spec,
                        const Operand& selector, Order order) {
  TileScale out;
  out.format = &format(spec.format);
  out.registers = registers_of(scale);
  out.blocks = order == Order::row_major ? scale.fragment.columns() : scale.fragment.rows();
  out.selector = {registers_of(selector), selector_spec.immediate.most + 1, selector_spec.immediate.step,
                  selector_spec.second.most + 1};
  if (!has_registers(selector))
    out.choices.push_back(places(scale.fragment, order));
  else
    for (const FragmentMap& map : spec.fragments) out.choices.push_back(places(map, order));
  return out;
}

TileOperand described(const Operand& operand, FormatId id) {
  return {&format(id), registers_of(operand), {}};
}

// The value of an operand if it is a literal.
std::int64_t literal(const std::vector<Operand>& operands, Part part, std::int64_t otherwise) {
  const auto at = std::ranges::find(operands, part, &Operand::part);
  const bool given = at != operands.end() && !at->literals.empty() && at->literals[0].has_value();
  return given ? static_cast<std::int64_t>(*at->literals[0]) : otherwise;
}

// What factors in shared memory and the immediates of wgmma add.
void add_descriptors(const Form& form, const std::vector<Operand>& operands, Tile& tile) {
  const auto major = [&](Part part) { return literal(operands, part, 0) == 1 ? Major::mn : Major::k; };
  for (const Operand& operand : operands) {
    if (operand.kind != OperandKind::descriptor) continue;
    if (operand.part == Part::left_factor)
      tile.a_described = {major(Part::left_transposed), operand.element_bits, form.rows, form.terms()};
    else
      tile.b_described = {major(Part::right_transposed), operand.element_bits, form.columns, form.depth};
  }
  tile.starts_at_zero = literal(operands, Part::scale_d, 1) == 0;
  tile.negate_a = literal(operands, Part::left_sign, 1) < 0;
  tile.negate_b = literal(operands, Part::right_sign, 1) < 0;
  if (tile.b_described) tile.c = tile.d;  // D is both
}

Tile make_kernel(const DotProduct&, const Form& form, const std::vector<Operand>& operands, const Plan& plan,
                 const TargetRow&) {
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
    const OperandSpec& spec = form.operands[i];
    const auto scale = [&](Order order) {  // its selector is the next operand
      return compile_scale(spec, operands[i], form.operands[i + 1], operands[i + 1], order);
    };
    switch (operands[i].part) {
      case Part::destination: tile.d = compile(operands[i], spec.format, Order::row_major); break;
      case Part::left_factor:
        tile.a = operands[i].kind == OperandKind::descriptor
                     ? described(operands[i], spec.format)
                     : compile(operands[i], spec.format, Order::row_major);
        break;
      case Part::right_factor:
        tile.b = operands[i].kind == OperandKind::descriptor
                     ? described(operands[i], spec.format)
                     : compile(operands[i], spec.format, Order::column_major);
        break;
      case Part::accumulator: tile.c = compile(operands[i], spec.format, Order::row_major); break;
      case Part::metadata: tile.e = compile(operands[i], spec.format, Order::row_major); break;
      case Part::left_scale: tile.a_scale = scale(Order::row_major); break;
      case Part::right_scale: tile.b_scale = scale(Order::column_major); break;
      default: break;  // selectors chose the fragments
    }
  }
  add_descriptors(form, operands, tile);
  tile.fused = compile_fused(tile);
  return tile;
}

// ---- Element by element

// The elements of a lane's registers, from the lowest bits of the last register of the last source.
std::vector<ElementwiseKernel::Source> packed_elements(const std::vector<const Operand*>& sources) {
  std::vector<ElementwiseKernel::Source> out;
  for (std::size_t s = sources.size(); s-- > 0;) {
    const Packing& p = sources[s]->fragment.packing();
    for (int reg = sources[s]->registers - 1; reg >= 0; --reg)
      for (int slot = 0; slot < p.per_register(); ++slot)
        out.push_back({s, {0, reg, p.low_bit_of(slot), p.bits}});
  }
  return out;
}

ElementwiseKernel make_kernel(const Elementwise& action, const Form& form, const std::vector<Operand>& operands,
                              const Plan&, const TargetRow&) {
  ElementwiseKernel out;
  out.conversion = action.conversion;
  out.lanes = operands[0].fragment.lanes();
  out.destination = compile(operands[0], form.operands[0].format, Order::row_major);
  std::vector<const Operand*> sources;
  for (const Operand& operand : operands) {
    if (operand.part == Part::source) {
      sources.push_back(&operand);
      out.sources.push_back(registers_of(operand));
    }
    if (operand.part == Part::random_bits) out.random_bits = registers_of(operand);
  }
  if (out.lanes == 1) {
    out.elements = packed_elements(sources);
  } else {
    for (const RegisterBits& bits : places(sources[0]->fragment, Order::row_major))
      out.elements.push_back({0, bits});
  }
  return out;
}

// ---- Between registers and memory

Move make_kernel(const MatrixMove& action, const Form& form, const std::vector<Operand>& operands, const Plan&,
                 const TargetRow& target) {
  const auto moved = std::ranges::find_if(operands, [](const Operand& operand) {
    return operand.part == Part::destination || operand.part == Part::source;
  });
  const FragmentMap& map = moved->fragment;
  Move out;
  out.addressing = action.addressing;
  out.lanes = map.lanes();
  out.registers = moved->registers;
  out.lines = form.products * (action.lines_are_columns ? form.columns : form.rows);
  out.line_elements = action.lines_are_columns ? form.rows : form.columns;
  out.element_bits = action.element_bits;
  out.line_bytes = action.line_bytes;
  out.alignment = action.alignment;
  out.stride_multiple = action.stride_multiple;
  // PTX manual, "ldmatrix": generic addresses must point into shared memory; up to sm_75 all lanes must have
  // valid ones.
  out.shared_only = action.addressing == Addressing::rows;
  out.every_lane_valid = action.addressing == Addressing::rows && !target.features.has(Feature::sm_80);
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot) {
        const Coordinate c = *map.at(lane, reg, slot);
        const int low = map.packing().low_bit_of(slot);
        const int line =
            action.lines_are_columns ? c.product * form.columns + c.column : c.product * form.rows + c.row;
        out.elements.push_back(
            {{lane, reg, low, map.packing().bits}, line, action.lines_are_columns ? c.row : c.column});
      }
  return out;
}

// ---- Control

Control make_kernel(const Control& action, const Form&, const std::vector<Operand>& operands, const Plan&,
                    const TargetRow&) {
  Control out = action;
  out.control.pending = static_cast<std::uint64_t>(literal(operands, Part::group_count, 0));
  return out;
}

bool has_mark(const Statement& statement, std::string_view mark) {
  return std::ranges::any_of(statement.qualifiers, [&](std::string_view qualifier) {
    return qualifier.starts_with(mark) &&
           (qualifier.size() == mark.size() || qualifier.substr(mark.size()).starts_with("::"));
  });
}

// Of the families of an opcode whose marks are all among the qualifiers ("sp", also as "sp::..."), the one with
// the most.
const Family* find_family(const Statement& statement) {
  const Family* best = nullptr;
  for (const Family& family : families()) {
    if (family.opcode != statement.opcode) continue;
    if (!std::ranges::all_of(family.marks, [&](std::string_view mark) { return has_mark(statement, mark); }))
      continue;
    if (best == nullptr || family.marks.size() > best->marks.size()) best = &family;
  }
  return best;
}

Error unknown(const Statement& statement) {
  const std::string spelled = spell(statement);
  if (const NotModelled* row = find_not_modelled(spelled))
    return {Errc::instruction_not_modelled, spelled, std::string(row->reason), {}};
  std::string known;
  for (const Family& family : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", family.name);
  return {Errc::unknown_instruction, {}, std::string(statement.opcode), known};
}

}  // namespace

Instruction DecodedInstruction::make(DecodedInstruction decoded) {
  return Instruction(std::make_shared<const DecodedInstruction>(std::move(decoded)));
}

Instruction::Instruction(std::shared_ptr<const DecodedInstruction> decoded) : decoded_(std::move(decoded)) {}

Result<Instruction> Instruction::parse(std::string_view text, Target target, const TypeLookup& types) {
  Result<Statement> statement = split(text);
  if (!statement) {  // operands of other instructions have shapes that no family has
    const Result<Statement> name = split_name(text);
    return name && find_family(*name) == nullptr ? unknown(*name) : statement.error();
  }
  const Family* family = find_family(*statement);
  if (family == nullptr) return unknown(*statement);
  Result<const Form*> form = match(*statement, *family, target);
  if (!form) return form.error();
  Result<std::vector<Operand>> operands = bind_operands(*statement, **form, types);
  if (!operands) return operands.error();
  const std::optional<TargetPlan> plan = find_plan(target.row(), (*form)->arithmetic);
  if (!plan)  // tests/plan_test.cpp proves that every form has a plan on each of its targets
    return Error{Errc::not_on_target, (*form)->canonical, std::string(target.name()),
                 "no target with a known plan"};
  auto kernel = std::visit(
      [&](const auto& action) -> decltype(DecodedInstruction::kernel) {
        return make_kernel(action, **form, *operands, plan->row->plan, target.row());
      },
      (*form)->action);
  return DecodedInstruction::make(
      {std::string(text), target, family, *form, *plan, std::move(*operands), std::move(kernel)});
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
int Instruction::blocks() const {
  const Tile* tile = std::get_if<Tile>(&decoded_->kernel);
  return tile ? tile->a_scale.blocks : 0;
}
int Instruction::lanes() const {
  return std::visit([](const auto& kernel) { return kernel.lanes; }, decoded_->kernel);
}
bool Instruction::uses_memory() const {
  const Tile* tile = std::get_if<Tile>(&decoded_->kernel);
  return std::holds_alternative<Move>(decoded_->kernel) || (tile != nullptr && tile->uses_memory());
}
const Evidence& Instruction::evidence() const {
  return decoded_->plan.evidence;
}
std::string Instruction::plan() const {
  if (std::holds_alternative<Control>(decoded_->kernel)) return "no arithmetic";
  const auto* elementwise = std::get_if<ElementwiseKernel>(&decoded_->kernel);
  if (elementwise && elementwise->conversion) return describe(*elementwise->conversion);
  return !std::holds_alternative<Tile>(decoded_->kernel) ? "elements unchanged"
                                                         : describe(decoded_->plan.row->plan);
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
        if (!targets[i].row().features.has(form.needs | form.known)) continue;
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
