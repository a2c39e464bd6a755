// SPDX-License-Identifier: Apache-2.0
#include "diagnose/hypothesis.hpp"

#include <algorithm>
#include <map>

#include "numeric/formats.hpp"

namespace warpbit::diagnosis {

namespace {

constexpr int kTilesAhead = 2;

// If elements of a factor or of C come from elsewhere.
void forget(const SlotMove& move, std::span<const Fragment> fragments, Trial& trial) {
  const Fragment &to = *find(fragments, move.to), &d = *find(fragments, Part::d);
  const auto slots = static_cast<std::int32_t>(find(fragments, move.from)->size());
  // What an element decides in D: a row, a column or one element.
  const auto decided = [&](Coordinate c) {
    if (move.to == Part::a) c.column = 0;
    if (move.to == Part::b) c.row = 0;
    return c;
  };
  // For each of those, how many cases from the last one on know nothing about it.
  std::map<Coordinate, std::uint64_t> lost;
  const std::uint64_t cases = trial.capture.cases;
  for (std::size_t i = 0; i < move.map.size(); ++i) {
    const std::int32_t slot = move.map[i];
    if (slot != kElsewhere && slot < slots) continue;
    std::uint64_t& most = lost[decided(to.at(i))];
    most =
        std::max(most, slot == kElsewhere ? cases : std::min(cases, static_cast<std::uint64_t>(slot / slots)));
  }
  for (std::size_t i = 0; i < d.size() && !lost.empty(); ++i)
    if (const auto found = lost.find(decided(d.at(i))); found != lost.end())
      for (std::uint64_t n = cases - found->second; n < cases; ++n)
        trial.known[n * d.size() + i] = Knowledge::nothing;
}

}  // namespace

// ---- Fragments

Fragment::Fragment(Part part, const Operand& op, int lanes) : part_(part), op_(&op), lanes_(lanes) {
  const FragmentMap& f = op.fragment;
  slots_.resize(static_cast<std::size_t>(f.products() * f.rows() * f.columns()), kElsewhere);
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < registers(); ++reg)
      for (int slot = 0; slot < per_register(); ++slot) {
        coordinates_.push_back(f.at(lane, reg, slot).value());
        slots_[linear(coordinates_.back())] = slot_at(Index{lane, reg, slot});
      }
}

std::size_t Fragment::linear(const Coordinate& c) const {
  return static_cast<std::size_t>((c.product * op_->fragment.rows() + c.row) * op_->fragment.columns() +
                                  c.column);
}

std::int32_t Fragment::slot_at(const Coordinate& c) const {
  const FragmentMap& f = op_->fragment;
  const bool inside = c.row >= 0 && c.row < f.rows() && c.column >= 0 && c.column < f.columns() &&
                      c.product >= 0 && c.product < f.products();
  return inside ? slots_[linear(c)] : kElsewhere;
}

std::int32_t Fragment::slot_at_address(int address, int product, bool tiles) const {
  const int tile = lines() * line();
  if (address < 0 || address / tile > kTilesAhead || (address >= tile && !tiles)) return kElsewhere;
  const int outer = address % tile / line(), inner = address % tile % line();
  return slot_in_tile(
      slot_at(lines_first() ? Coordinate{outer, inner, product} : Coordinate{inner, outer, product}),
      address / tile);
}

std::int32_t Fragment::slot_in_next(const Coordinate& c) const {
  const FragmentMap& f = op_->fragment;
  if (c.row < 0 || c.column < 0) return kElsewhere;
  const int tiles = c.row / f.rows() + c.column / f.columns();
  if (tiles > kTilesAhead) return kElsewhere;
  return slot_in_tile(slot_at(Coordinate{c.row % f.rows(), c.column % f.columns(), c.product}), tiles);
}

std::vector<Fragment> fragments_of(const Problem& capture) {
  if (capture.layout) return capture.layout->fragments;
  const Instruction& i = capture.instruction;
  std::vector<Fragment> out;
  for (const Part part : {Part::a, Part::b, Part::c})
    if (array_of(capture, part) != nullptr) {
      const Operand* op = i.find(part);
      out.emplace_back(part, op == nullptr ? i.operands()[0] : *op,
                       i.lanes());  // D where it is the accumulator
    }
  out.emplace_back(Part::d, i.operands()[0], i.lanes());
  return out;
}

std::shared_ptr<const TileLayout> layout_of(const Instruction& i) {
  const auto out = std::make_shared<TileLayout>();
  const Operand& d = i.operands()[0];
  for (const Part part : {Part::a, Part::b, Part::c, Part::d}) {
    const Operand* op = i.find(part);
    Operand& tile = out->operands.emplace_back(op == nullptr ? d : *op);  // D where it is the accumulator
    if (tile.kind != OperandKind::descriptor) continue;
    const int item = 8 * static_cast<int>(code_bytes(tile.element_bits));
    const Packing packing{item, item, 0, tile.element_bits};
    tile.fragment =
        part == Part::a
            ? FragmentMap(i.rows(), i.depth(), 1, packing, {{i.rows(), {1, 0}}}, {{i.depth(), {0, 1}}})
            : FragmentMap(i.depth(), i.columns(), 1, packing, {{i.columns(), {0, 1}}}, {{i.depth(), {1, 0}}});
    tile.registers = i.depth();
    tile.register_bits = item;
  }
  for (std::size_t n = 0; n < out->operands.size(); ++n) {
    const Operand& op = out->operands[n];
    constexpr Part kParts[] = {Part::a, Part::b, Part::c, Part::d};
    out->fragments.emplace_back(kParts[n], op,
                                op.kind == OperandKind::descriptor ? op.fragment.lanes() : i.lanes());
  }
  return out;
}

const Fragment* find(std::span<const Fragment> fragments, Part part) {
  const auto found = std::ranges::find(fragments, part, &Fragment::part);
  return found == fragments.end() ? nullptr : &*found;
}

Array moved(const Array& array, const Fragment& from, const Fragment& to, const SlotMap& map) {
  const auto per = static_cast<std::size_t>(from.per_register()), slots = from.size(),
             to_per = static_cast<std::size_t>(to.per_register());
  const std::size_t items = slots / per, to_items = to.size() / to_per, cases = array.header.items() / items;
  const std::uint64_t mask = from.packing().mask();
  Array out = array;
  if (to_items != items) {
    out.header.shape = {cases, static_cast<std::uint64_t>(to.lanes()),
                        static_cast<std::uint64_t>(to.registers())};
    out.data.resize(cases * to_items * out.header.item_bytes);
  }
  for (std::size_t n = 0; n < cases; ++n)
    for (std::size_t item = 0, slot = 0; item < to_items; ++item) {
      std::uint64_t bits = 0;
      for (std::size_t e = 0; e < to_per; ++e, ++slot) {
        if (map[slot] < 0) continue;
        const auto source = static_cast<std::size_t>(map[slot]), of_case = n + source / slots,
                   at = source % slots;
        if (of_case >= cases) continue;
        const std::uint64_t code =
            array.at(of_case * items + at / per) >> from.packing().low_bit_of(static_cast<int>(at % per)) &
            mask;
        bits |= code << to.packing().low_bit_of(static_cast<int>(e));
      }
      out.set(n * to_items + item, bits);
    }
  return out;
}

// ---- Captures

const Array* array_of(const Problem& capture, Part part, bool descriptors) {
  if (part == Part::c && capture.before) return &*capture.before;
  const auto operands = capture.instruction.operands();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (operands[i].part == part &&
        (!capture.matrices && operands[i].kind == OperandKind::descriptor) == descriptors &&
        !capture.sources[i - 1].data.empty())
      return &capture.sources[i - 1];
  return nullptr;
}
Array* array_of(Problem& capture, Part part, bool descriptors) {
  return const_cast<Array*>(array_of(std::as_const(capture), part, descriptors));
}

// ---- What a hypothesis changes

void change_inputs(const Hypothesis& h, std::span<const Fragment> fragments, Trial& trial) {
  if (h.inputs) h.inputs(trial);
  std::vector<std::pair<Array*, Array>> results;
  for (const SlotMove& move : h.moves) {
    if (move.to == Part::d) continue;
    results.emplace_back(array_of(trial.capture, move.to),
                         moved(*array_of(trial.capture, move.from), *find(fragments, move.from),
                               *find(fragments, move.to), move.map));
    forget(move, fragments, trial);
  }
  for (auto& [to, array] : results) *to = std::move(array);
}

void change_results(const Hypothesis& h, std::span<const Fragment> fragments, Trial& trial, Array& d) {
  const Fragment& f = *find(fragments, Part::d);
  std::vector<Knowledge>& known = trial.known;
  if (h.results) h.results(trial.capture, f, d, known);
  for (const SlotMove& move : h.moves) {
    if (move.to != Part::d) continue;
    d = moved(d, f, f, move.map);
    const std::vector<Knowledge> before = known;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const std::int32_t from = move.map[i % f.size()];
      known[i] = from < 0 ? Knowledge::unwritten : before[i - i % f.size() + static_cast<std::size_t>(from)];
    }
  }
}

}  // namespace warpbit::diagnosis
