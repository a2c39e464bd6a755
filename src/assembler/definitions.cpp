// SPDX-License-Identifier: Apache-2.0
#include "assembler/definitions.hpp"

#include <algorithm>
#include <array>
#include <utility>  // exchange

#include "assembler/editor.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {
namespace {

bool is_directed(const View& v) {
  return v.has("rz") || v.has("rm") || v.has("rp");
}

bool is_call(const View& v) {
  return v.type() == "f64" && becomes_branches(v) && (is_directed(v) || v.opcode() == "rsqrt");
}

bool chooses(const View& v) {
  return (v.opcode() == "selp" && v.type() == "f64") || (v.opcode() == "slct" && v.result_type() == "f64");
}

// What a definition and a use of an f64 value add to its balance (definitions.hpp).
constexpr int kOneNumber = -1, kChosen = 1, kHandedOn = 2;

// Of the definition; nothing if it is one number from the beginning.
std::optional<int> defined(const View& v) {
  const bool is_pair = v.type() == "b64" && v.opcode() == "mov" && v.operand(1).kind == Operand::Kind::vector;
  if (chooses(v)) return kChosen;
  if (v.type() != "f64") return is_pair ? std::optional(kOneNumber) : std::nullopt;
  if (v.is_guarded() || (v.opcode() == "rsqrt" && v.has("ftz"))) return kChosen;
  if (is_call(v) || v.opcode() == "copysign" || (v.opcode() == "rcp" && v.has("ftz"))) return kOneNumber;
  return {};
}

// Of a use. `own`: a neg or an abs before it is an instruction.
struct Share {
  int adds;
  bool own;
};
Share used(const View& v, int reg) {
  constexpr std::array<std::string_view, 7> kSums = {"add", "sub", "mul", "fma", "min", "max", "setp"};
  if (is_call(v)) return {kHandedOn, true};
  if (v.opcode() == "selp" || chooses(v) || v.opcode() == "testp" || v.opcode() == "rsqrt" ||
      (v.opcode() == "mov" && v.is_register(0)))
    return {kChosen, false};
  const bool is_dividend = v.opcode() == "div" && v.is_register(1) && v.operand(1).index == reg;
  if (is_dividend || v.opcode() == "copysign" || v.opcode() == "sqrt" || v.opcode() == "mov") return {0, true};
  int adds = 0;
  for (int n = writes_first(v.f, v.statement()) ? 1 : 0; n < v.operands(); ++n)
    for_each_register(v.f, v.operand(n), [&](int one) { adds += one == reg ? kOneNumber : 0; });
  return {adds, std::ranges::find(kSums, v.opcode()) == kSums.end()};
}

}  // namespace

Definitions::Definitions(const FunctionText& function)
    : f_(function),
      count_(function.registers.size()),
      last_(function.registers.size()),
      at_(function.registers.size()),
      joins_(function.statements.size() + 1) {
  for (const Operand& one : f_.operands)
    if (one.kind == Operand::Kind::label && one.index >= 0) joins_[static_cast<std::size_t>(one.index)] = true;
  for (const ptx::LabelTable& table : f_.tables)
    for (const int label : table.labels) joins_[static_cast<std::size_t>(label)] = true;
  for (int i = 0; i < static_cast<int>(f_.statements.size()) && !flow_; ++i)
    if (View{f_, i}.type() == "f64") flow_.emplace(f_);
  std::vector<int> block_of(function.registers.size(), -1);  // of a register's last definition
  int block = 0;
  for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i) {
    if (joins_[static_cast<std::size_t>(i)]) ++block;
    for_each_access(
        f_, i, [](int) {},
        [&](int reg) {
          if (std::exchange(block_of[static_cast<std::size_t>(reg)], block) != block)
            ++count_[static_cast<std::size_t>(reg)];
        });
    if (f_.statements[static_cast<std::size_t>(i)].opcode == "bra") ++block;
  }
}

Definitions::Place Definitions::at(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) return {Place::Class::constant};
  const auto reg = static_cast<std::size_t>(operand.index);
  return count_[reg] > 1 && last_[reg] < join_ ? Place{Place::Class::join, -join_block_} : at_[reg];
}

Definitions::Place Definitions::defined_by(int i) const {
  const View v{f_, i};
  if (f_.is_entry && v.opcode() == "ld" && v.has("param")) return {Place::Class::constant};
  const bool moves = v.opcode() == "mov" || v.opcode() == "neg" || v.opcode() == "abs";
  if (moves && !v.is_guarded() && v.operand(1).kind != Operand::Kind::vector) return at(v.operand(1));
  if (v.type() == "f64" && becomes_branches(v) && !is_directed(v)) {
    if (!is_checked(v) || !v.literal(1)) return {Place::Class::join, -block_ - 1};
    return is_uniform(v) ? Place{Place::Class::constant} : Place{Place::Class::instruction, i};
  }
  if (const std::optional<int> adds = defined(v); adds && flow_ && v.is_register(0) && !shares_root(i) &&
                                                  *adds + balance(i, v.operand(0).index, false) >= 0)
    return {Place::Class::choice};
  if (is_call(v)) return called(i);
  return {Place::Class::instruction, first_same(i)};
}

// Whether the function that a statement calls has literals alone for its sources: its result is the same in all lanes.
bool Definitions::is_uniform(const View& v) const {
  for (int k = 0; k < static_cast<int>(f_.statements.size()); ++k) {
    const View other{f_, k};
    if (other.opcode() == v.opcode() && other.is_register(1) && std::ranges::equal(other.words(), v.words()))
      return false;
  }
  return true;
}

// The register that one is, or is the magnitude of.
std::pair<int, bool> Definitions::magnitude(int reg) const {
  bool is_absolute = false;
  for (;;) {
    reg = flow_->origin(reg);
    const int at = flow_->only_definition(reg);
    if (at < 0) break;
    const View v{f_, at};
    if (v.opcode() != "abs" || v.is_guarded() || !v.is_register(1)) break;
    const int before = flow_->only_definition(v.operand(1).index);
    if (before < 0 || before >= at) break;
    is_absolute = true;
    reg = v.operand(1).index;
  }
  return {reg, is_absolute};
}

// Whether rsqrt.approx.ftz has its upper word from an rsqrt.approx of the same source.
bool Definitions::shares_root(int i) const {
  const View v{f_, i};
  if (v.opcode() != "rsqrt" || !v.is_register(1)) return false;
  for (int k = 0; k < static_cast<int>(f_.statements.size()); ++k) {
    const View other{f_, k};
    if (other.opcode() == "rsqrt" && other.type() == "f64" && !other.has("ftz") && other.is_register(1) &&
        magnitude(other.operand(1).index) == magnitude(v.operand(1).index))
      return true;
  }
  return false;
}

// The first statement above in its block that computes the same.
int Definitions::first_same(int i) const {
  const View v{f_, i};
  if (!flow_ || v.type() != "f64" || v.is_guarded() || !v.is_register(0) || !v.is_register(1)) return i;
  const int source = v.operand(1).index, at = flow_->only_definition(source);
  if (at < 0) return i;
  const auto is_same = [&](const Operand& a, const Operand& b) {
    return a.kind == Operand::Kind::reg && b.kind == Operand::Kind::reg && a.index == b.index &&
           flow_->is_written_once(a.index);
  };
  for (const int k : flow_->all_uses(at, source).statements) {
    const View other{f_, k};
    bool same = k < i && flow_->block(k) == flow_->block(i) && other.operands() == v.operands() &&
                other.opcode() == v.opcode() && !other.is_guarded() &&
                std::ranges::equal(other.words(), v.words());
    for (int n = 1; same && n < v.operands(); ++n) same = is_same(v.operand(n), other.operand(n));
    if (same) return k;
  }
  return i;
}

// Of all uses of what a statement writes to a register.
int Definitions::balance(int i, int reg, bool is_negated) const {
  int out = 0;
  bool own = false;
  for (const int use : flow_->uses_below(i, reg)) {
    const View v{f_, use};
    const Share one = used(v, reg);
    const bool moves = v.opcode() == "mov" && v.is_register(0);
    if (!v.is_guarded() && (moves || v.opcode() == "neg" || v.opcode() == "abs")) {
      out += balance(use, v.operand(0).index, is_negated || !moves);
      if (moves && !flow_->is_written_once(v.operand(0).index)) out += one.adds;
    } else if (is_negated && one.own) {
      own = true;
    } else {
      out += one.adds;
    }
  }
  return out + (own ? kOneNumber : 0);
}

// Whether the result of a call stays in its registers: it is one number, used in the block behind it alone.
bool Definitions::stays(int i) const {
  const int reg = View{f_, i}.operand(0).index;
  return balance(i, reg, false) < 0 && std::ranges::all_of(flow_->uses_below(i, reg), [&](int use) {
           return flow_->block(use) == flow_->block(i) + 1;
         });
}

// Calls of one function hand on their results in the same registers.
Definitions::Place Definitions::called(int i) const {
  const View v{f_, i};
  bool is_first = true;
  for (int k = 0; k < i; ++k) {
    const View before{f_, k};
    if (before.opcode() != v.opcode() || !is_call(before) || !std::ranges::equal(before.words(), v.words()))
      continue;
    if (is_first && stays(k)) return {Place::Class::instruction, k};
    is_first = false;
  }
  if (!is_first && stays(i)) return {Place::Class::join, -block_ - 1};
  return {Place::Class::instruction, i};
}

void Definitions::pass(int i) {
  const Place place = defined_by(i);
  for_each_access(
      f_, i, [](int) {},
      [&](int reg) {
        at_[static_cast<std::size_t>(reg)] = place;
        last_[static_cast<std::size_t>(reg)] = i;
      });
  const View v{f_, i};
  const bool joins = joins_[static_cast<std::size_t>(i) + 1];
  if (joins || v.opcode() == "bra" || becomes_branches(v)) ++block_;
  if (!joins) return;
  join_ = i + 1;
  join_block_ = block_;
}

}  // namespace warpbit::assembler
