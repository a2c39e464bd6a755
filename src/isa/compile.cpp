// SPDX-License-Identifier: Apache-2.0
// What the instructions of a form on a target share, compiled once.
#include <algorithm>
#include <memory>

#include "isa/instruction.hpp"
#include "isa/memo.hpp"
#include "kernel/fast_tile.hpp"

namespace warpbit {
namespace {

// The elements of a fragment by product, row and column. Many forms share fragments.
Places places(const FragmentMap& map) {
  static Memo<FragmentMap, std::vector<Place>> tables;
  return tables.get(map, [&] { return map.table(); });
}

TileRegisters registers_of(const OperandSpec& spec) {
  return {spec.count, spec.registers->bits, {}};
}

// The places of the elements of an operand in registers, for each fragment: those of B by columns.
std::vector<Places> places_of(const OperandSpec& spec) {
  const bool by_columns = spec.part == Part::b || spec.part == Part::scale_b;
  std::vector<Places> out;
  if (spec.kind == OperandKind::vector || spec.kind == OperandKind::scalar)
    for (const FragmentMap& map : spec.fragments) out.push_back(places(by_columns ? map.transposed() : map));
  return out;
}

// `choices` are the places by fragment; empty for a matrix in memory.
TileOperand compile_operand(const OperandSpec& spec, std::span<const Places> choices) {
  return {&format(spec.format), registers_of(spec), choices.empty() ? Places() : choices.front()};
}

// ---- D = A B + C

// What an operand fills in a tile.
struct Filled {
  TileRegisters* registers = nullptr;
  TileOperand* matrix = nullptr;
  std::optional<DescribedMatrix>* described = nullptr;
  TileScale* scale = nullptr;
};
Filled filled_by(Part part, Tile& t) {
  switch (part) {
    case Part::d: return {&t.d.registers, &t.d};
    case Part::a: return {&t.a.registers, &t.a, &t.a_described};
    case Part::b: return {&t.b.registers, &t.b, &t.b_described};
    case Part::c: return {&t.c.registers, &t.c};
    case Part::metadata: return {&t.e.registers, &t.e};
    case Part::scale_a: return {&t.a_scale.registers, nullptr, nullptr, &t.a_scale};
    case Part::scale_b: return {&t.b_scale.registers, nullptr, nullptr, &t.b_scale};
    case Part::selector_a: return {&t.a_scale.selector.registers, nullptr, nullptr, &t.a_scale};
    case Part::selector_b: return {&t.b_scale.selector.registers, nullptr, nullptr, &t.b_scale};
    default: return {};
  }
}

void compile_scale(const OperandSpec& spec, std::span<const Places> choices, TileScale& out) {
  if (spec.kind == OperandKind::pair) {
    out.selector = {registers_of(spec), spec.immediate.most + 1, spec.immediate.step, spec.second.most + 1};
    return;
  }
  out.format = &format(spec.format);
  out.registers = registers_of(spec);
  out.blocks = spec.part == Part::scale_a ? spec.fragment().columns() : spec.fragment().rows();
  out.choices = choices;
}

Tile make_kernel(const DotProduct&, const Form& form, const TargetRow&, CompiledForm& shared) {
  Tile tile;
  tile.plan = &shared.plan.row->plan;
  tile.lanes = form.operands[0].fragment().lanes();
  tile.products = form.products;
  tile.rows = form.rows;
  tile.columns = form.columns;
  tile.depth = form.depth;
  tile.terms = form.terms();
  tile.sparsity = form.sparsity;
  for (const OperandSpec& spec : form.operands) shared.places.push_back(places_of(spec));
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const OperandSpec& spec = form.operands[i];
    const Filled to = filled_by(spec.part, tile);
    if (to.matrix != nullptr) *to.matrix = compile_operand(spec, shared.places[i]);
    if (to.matrix != nullptr && !to.matrix->places.empty() && spec.fragment().packing().slot_bits == 8)
      to.matrix->container = container_of(spec.format);
    if (to.scale != nullptr) compile_scale(spec, shared.places[i], *to.scale);
    const bool is_a = spec.part == Part::a;
    if (spec.kind == OperandKind::descriptor)
      *to.described = {Major::k, format(spec.format).bits, is_a ? form.rows : form.columns,
                       is_a ? form.terms() : form.depth};
  }
  if (tile.b_described) tile.c = tile.d;  // the same registers
  tile.fast = compile_fast(tile);
  return tile;
}

// Applies an immediate, or a selector of literals. `choices` are the places of the operand before it.
void apply_literals(const Operand& operand, const OperandSpec& spec, std::span<const Places> choices,
                    Tile& tile) {
  const auto value = static_cast<std::int64_t>(operand.literals[0].value_or(0));
  switch (operand.part) {
    case Part::selector: tile.e.places = choices[fragment_index(spec, operand.literals)]; break;
    case Part::selector_a:
    case Part::selector_b:
      if (operand.is_all_literals())
        filled_by(operand.part, tile).scale->choices =
            choices.subspan(fragment_index(spec, operand.literals), 1);
      break;
    case Part::scale_d: tile.starts_at_zero = value == 0; break;
    case Part::sign_a: tile.negate_a = value < 0; break;
    case Part::sign_b: tile.negate_b = value < 0; break;
    case Part::transposed_a: tile.a_described->major = value == 1 ? Major::mn : Major::k; break;
    case Part::transposed_b: tile.b_described->major = value == 1 ? Major::mn : Major::k; break;
    default: break;
  }
}

CompiledAction bind(const Tile& kernel, const CompiledForm& shared, std::span<const Operand> operands) {
  Tile tile = kernel;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].literals.empty()) continue;
    if (TileRegisters* registers = filled_by(operands[i].part, tile).registers)
      registers->literals = operands[i].literals;
    if (i > 0) apply_literals(operands[i], shared.form->operands[i], shared.places[i - 1], tile);
  }
  return tile;
}

// ---- Element by element

// The elements of a lane's registers, from the lowest bits of the last register of the last source.
std::vector<ElementwiseKernel::Source> packed_elements(const std::vector<const OperandSpec*>& sources) {
  std::vector<ElementwiseKernel::Source> out;
  for (std::size_t s = sources.size(); s-- > 0;) {
    const Packing& p = sources[s]->fragment().packing();
    for (int reg = sources[s]->count - 1; reg >= 0; --reg)
      for (int slot = 0; slot < p.per_register(); ++slot)
        out.push_back({s, {0, reg, p.low_bit_of(slot), p.bits}});
  }
  return out;
}

ElementwiseKernel make_kernel(const Elementwise& action, const Form& form, const TargetRow&, CompiledForm&) {
  ElementwiseKernel out;
  out.conversion = action.conversion;
  out.lanes = form.operands[0].fragment().lanes();
  out.destination = compile_operand(form.operands[0], places_of(form.operands[0]));
  std::vector<const OperandSpec*> sources;
  for (const OperandSpec& spec : form.operands) {
    if (spec.part == Part::source) {
      sources.push_back(&spec);
      out.sources.push_back(registers_of(spec));
    }
    if (spec.part == Part::random_bits || spec.part == Part::scale_factor) out.extra = registers_of(spec);
  }
  if (out.lanes == 1) {
    out.elements = packed_elements(sources);
  } else {
    for (const Place& bits : places(sources[0]->fragment())) out.elements.push_back({0, bits});
  }
  return out;
}

CompiledAction bind(const ElementwiseKernel& kernel, const CompiledForm&, std::span<const Operand> operands) {
  ElementwiseKernel out = kernel;
  std::size_t source = 0;
  for (const Operand& operand : operands) {
    if (operand.part == Part::source) out.sources[source++].literals = operand.literals;
    if (operand.part == Part::random_bits || operand.part == Part::scale_factor)
      out.extra->literals = operand.literals;
  }
  return out;
}

// ---- Between registers and memory

Move compile_move(const MatrixMove& action, const Form& form, bool every_lane_valid) {
  const auto moved = std::ranges::find_if(
      form.operands, [](const OperandSpec& spec) { return spec.part == Part::d || spec.part == Part::source; });
  const FragmentMap& map = moved->fragment();
  Move out;
  out.addressing = action.addressing;
  out.lanes = map.lanes();
  out.registers = moved->count;
  out.lines = form.products * (action.lines_are_columns ? form.columns : form.rows);
  out.line_elements = action.lines_are_columns ? form.rows : form.columns;
  out.element_bits = action.element_bits;
  out.extended_bits = action.extended_bits;
  out.line_bytes = action.line_bytes;
  out.alignment = action.alignment;
  out.stride_multiple = action.stride_multiple;
  // PTX manual, "ldmatrix": generic addresses must point into shared memory.
  out.shared_only = action.addressing == Addressing::rows;
  out.every_lane_valid = every_lane_valid;
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

// PTX manual, "ldmatrix": up to sm_75 all lanes must have valid addresses. Other targets do not differ.
std::reference_wrapper<const Move> make_kernel(const MatrixMove& action, const Form& form,
                                               const TargetRow& target, CompiledForm&) {
  static Memo<std::pair<const Form*, bool>, Move> moves;
  const bool every_lane_valid = action.addressing == Addressing::rows && !target.features.has(Feature::sm_80);
  return moves.get({&form, every_lane_valid}, [&] { return compile_move(action, form, every_lane_valid); });
}

CompiledAction bind(std::reference_wrapper<const Move> kernel, const CompiledForm&, std::span<const Operand>) {
  return kernel;
}

// ---- Control

Control make_kernel(const Control& action, const Form&, const TargetRow&, CompiledForm&) {
  return action;
}

CompiledAction bind(const Control& kernel, const CompiledForm&, std::span<const Operand> operands) {
  Control out = kernel;
  const auto count = std::ranges::find(operands, Part::group_count, &Operand::part);
  out.control.pending = count == operands.end() ? 0 : count->literals[0].value_or(0);
  return out;
}

// ---- Tensor memory

TensorAction make_kernel(const TensorAction& action, const Form&, const TargetRow&, CompiledForm&) {
  return action;
}

CompiledAction bind(const TensorAction& kernel, const CompiledForm&, std::span<const Operand>) {
  return kernel;
}

// ----

std::unique_ptr<const CompiledForm> compile(const Form& form, const TargetRow& target) {
  const std::optional<TargetPlan> plan = find_plan(target, form.arithmetic);
  if (!plan) return nullptr;
  auto out = std::make_unique<CompiledForm>(CompiledForm{&form, *plan, {}, Control()});
  std::visit([&](const auto& action) { out->kernel = make_kernel(action, form, target, *out); }, form.action);
  return out;
}

}  // namespace

const CompiledForm* compiled(const Form& form, Target target) {
  using Key = std::pair<const Form*, const TargetRow*>;
  static Memo<Key, std::unique_ptr<const CompiledForm>> all;
  return all.get({&form, &target.row()}, [&] { return compile(form, target.row()); }).get();
}

CompiledAction with_operands(const CompiledForm& shared, std::span<const Operand> operands) {
  return std::visit([&](const auto& kernel) { return bind(kernel, shared, operands); }, shared.kernel);
}

}  // namespace warpbit
