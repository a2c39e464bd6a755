// SPDX-License-Identifier: Apache-2.0
#include "assembler/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>  // exchange

#include "assembler/editor.hpp"
#include "numeric/formats.hpp"
#include "scalar/operation.hpp"

namespace warpbit::assembler {

using ptx::Does, ptx::FunctionText, ptx::Operand, ptx::Statement;

bool writes_first(const FunctionText& f, const Statement& s) {
  return s.operands > 0 &&
         f.operands[static_cast<std::size_t>(s.first_operand)].kind != Operand::Kind::address &&
         ptx::writes_first(*s.is, ptx::words_of(f, s));
}

namespace {

/// Whether an instruction does more than to write registers.
bool has_effect(const FunctionText& f, const Statement& s) {
  const bool is_volatile = s.is->does == Does::load &&
                           std::ranges::find(ptx::words_of(f, s), "volatile") != ptx::words_of(f, s).end();
  return !writes_first(f, s) || s.is->stays || is_volatile;
}

bool contains(const std::vector<std::uint64_t>& set, int reg) {
  return (set[static_cast<std::size_t>(reg) / 64] >> reg % 64 & 1) != 0;
}

// The statements that follow one by a jump.
void jumps(const FunctionText& function, const Statement& statement, std::vector<std::size_t>& to) {
  for (int i = 0; i < statement.operands; ++i) {
    const Operand& operand = function.operands[static_cast<std::size_t>(statement.first_operand + i)];
    if (operand.kind == Operand::Kind::label) to.push_back(static_cast<std::size_t>(operand.index));
    if (operand.kind != Operand::Kind::table) continue;
    for (const int label : function.tables[static_cast<std::size_t>(operand.index)].labels)
      to.push_back(static_cast<std::size_t>(label));
  }
}

const Statement& statement(const FunctionText& f, int i) {
  return f.statements[static_cast<std::size_t>(i)];
}

/// Statements that become branches of machine code, and so end a basic block; nobody need use their result. Asked
/// of ptxas 13.0 (sm_90a), which fuses a product before such a statement with a sum behind it or does not.
struct Branching {
  std::string_view opcode, types;  ///< types: empty: any
  enum { always, rounded, approximate } how = always;
  bool is_inline = false;  ///< no call: a loop with it is unrolled all the same, and it goes if nobody needs it
};
constexpr Branching kBranching[] = {
    {"div", "f32 f64", Branching::rounded},
    {"rcp", "f32 f64", Branching::rounded},
    {"sqrt", "f32 f64", Branching::rounded},
    {"rsqrt", "f64", Branching::approximate},
    {"div", "s16 u16 s64 u64"},
    {"rem", "s16 u16 s64 u64"},
    {"div", "s32", Branching::always, true},
    {"rem", "s32", Branching::always, true},
    {"bfind", "u64 s64", Branching::always, true},
    {"fence", "acq_rel.cta acq_rel.cluster acq_rel.gpu acq_rel.sys sc.cta sc.cluster sc.gpu sc.sys"},
    {"membar", ""},
    {"setmaxnreg", ""},
    {"brkpt", ""},
};

/// Functions with a fast path and a check of their source: for upper words of a known source from first to last, the check
/// is known too, and no branch.
struct Checked {
  std::string_view opcode, type;
  std::uint32_t first, last;
  bool has_sign;  ///< the sign counts: a negative number has no root
};
constexpr Checked kChecked[] = {
    {"rcp", "f32", 0x0080'0000, 0x7E7F'FFFF, false},  {"rcp", "f64", 0x0010'0000, 0x7FCF'FBFD, false},
    {"sqrt", "f32", 0x0D00'0000, 0x7F7F'FFFF, true},  {"sqrt", "f64", 0x0350'0000, 0x7FEF'FFFF, true},
    {"rsqrt", "f64", 0x0010'0000, 0x7FEF'FFFF, true},
};

const Checked* find_checked(const View& view) {
  const bool is_fast = view.opcode() == "rsqrt" ? !view.has("ftz")
                       : view.type() == "f32"   ? view.rounds()
                                                : view.has("rn");
  const auto* const found = std::ranges::find_if(
      kChecked, [&](const Checked& row) { return row.opcode == view.opcode() && row.type == view.type(); });
  return is_fast && found != std::end(kChecked) ? found : nullptr;
}

/// No branch after all: a known source in that range; x / x.
bool is_straight(const View& view) {
  if (view.opcode() == "div" && view.type() == "s32") return view.is_twice();
  const Checked* const row = find_checked(view);
  const auto bits = row != nullptr ? view.literal(1) : std::nullopt;
  if (!bits) return false;
  const auto upper = static_cast<std::uint32_t>(row->type == "f64" ? *bits >> 32 : *bits),
             x = row->has_sign ? upper : upper & 0x7FFF'FFFF;
  return row->first <= x && x <= row->last;
}

/// The last word of a statement, or its last two, is among those of a list.
bool is_listed(const View& view, std::string_view list) {
  if (list.empty()) return true;
  if (view.opcode() != "fence" || view.words().size() != 2) return has_word(list, view.type());
  return has_word(list, fmt::format("{}.{}", view.words()[0], view.type()));
}

const Branching* find_branching(const View& view) {
  const auto fits = [&](const Branching& row) {
    if (row.opcode != view.opcode()) return false;
    const bool is_so =
        row.how == Branching::always || (row.how == Branching::rounded ? view.rounds() : !view.has("ftz"));
    return is_so && is_listed(view, row.types);
  };
  const auto* const found = std::ranges::find_if(kBranching, fits);
  return found == std::end(kBranching) || is_straight(view) ? nullptr : found;
}

/// Whether a statement with a guard is no computation.
bool jumps_over(const View& view) {
  return view.is_guarded() && view.does() != Does::move &&
         scalar::operation(view.opcode(), view.words()).execute == nullptr;
}

}  // namespace

bool is_checked(const View& view) {
  return find_checked(view) != nullptr;
}

bool keeps_loop(const View& view) {
  const Branching* const found = find_branching(view);
  return found != nullptr && !found->is_inline;
}

bool is_plain_call(const View& view) {
  return view.type() == "f64" && view.rounds() && !view.has("rn") && find_branching(view) != nullptr;
}

bool becomes_branches(const View& view) {
  return find_branching(view) != nullptr || jumps_over(view);
}

void followers(const ptx::FunctionText& function, std::size_t i, std::vector<std::size_t>& to) {
  const ptx::Statement& statement = function.statements[i];
  if (statement.guard >= 0 || ptx::goes_on(statement.is->does)) to.push_back(i + 1);
  jumps(function, statement, to);
}

std::vector<bool> reached(const ptx::FunctionText& function) {
  std::vector<bool> out(function.statements.size(), false);
  std::vector<std::size_t> next = {0};
  while (!next.empty()) {
    const std::size_t i = next.back();
    next.pop_back();
    if (i >= out.size() || out[i]) continue;
    out[i] = true;
    followers(function, i, next);
  }
  return out;
}

Flow::Flow(const FunctionText& function) : Flow(function, false) {}
Flow::Flow(const FunctionText& function, bool late) : f_(function) {
  idle_.resize(f_.statements.size());
  for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i) natures_.push_back(nature({f_, i}, late));
  find_accesses();
  do {
    find_blocks();
    find_live();
  } while (find_idle());
}

// Of what nobody needs, a load with a guard and what is inline are gone before they become branches; other branches stay.
Flow::Nature Flow::nature(const View& view, bool late) {
  const Branching* const row = find_branching(view);
  const bool branches = row != nullptr || jumps_over(view), effect = has_effect(view.f, view.statement()),
             goes = !effect && (view.does() == Does::load || (row != nullptr && row->is_inline));
  return {branches, goes, effect || (branches && !goes && !(late && is_plain_call(view)))};
}

void Flow::find_blocks() {
  const int count = static_cast<int>(f_.statements.size());
  blocks_.clear();
  block_.clear();
  std::vector<bool> begins(f_.statements.size() + 1);
  std::vector<std::size_t> to;
  for (int i = 0; i < count; ++i) {
    const bool ends =
        ptx::ends_block(statement(f_, i).is->does) || natures_[static_cast<std::size_t>(i)].branches;
    if (idle_[static_cast<std::size_t>(i)] || !ends) continue;
    to = {static_cast<std::size_t>(i) + 1};
    followers(f_, static_cast<std::size_t>(i), to);
    for (const std::size_t one : to) begins[one] = true;
  }
  for (int i = 0; i < count; ++i) {
    if (i == 0 || begins[static_cast<std::size_t>(i)]) blocks_.push_back({.first = i});
    blocks_.back().last = i + 1;
    block_.push_back(static_cast<int>(blocks_.size()) - 1);
  }
  for (Block& one : blocks_) {
    to.clear();
    followers(f_, static_cast<std::size_t>(one.last - 1), to);
    for (const std::size_t next : to)
      if (next < f_.statements.size()) one.next.push_back(block_[next]);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (const int next : blocks_[b].next)
      blocks_[static_cast<std::size_t>(next)].before.push_back(static_cast<int>(b));
}

// Whether there are new ones. From the last on, so that a branch over nothing but idle ones is found with them.
bool Flow::find_idle() {
  bool found = false;
  std::size_t next_needed = f_.statements.size();  // behind the statement
  for (std::size_t i = f_.statements.size(); i-- > 0; next_needed = needed_[i] ? i : next_needed) {
    const View view{f_, static_cast<int>(i)};
    if (!needed_[i] && !idle_[i] && natures_[i].branches && natures_[i].goes) idle_[i] = found = true;
    if (view.does() != Does::branch || idle_[i]) continue;
    const Operand& label = view.operand(0);
    const auto target = static_cast<std::size_t>(label.index);
    if (label.kind != Operand::Kind::label || target <= i) continue;
    if (next_needed < target) continue;
    idle_[i] = found = true;
    needed_[i] = false;
  }
  return found;
}

void Flow::find_accesses() {
  accesses_.resize(f_.registers.size());
  for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i) {
    const auto at = [&](int reg) -> Access& {
      std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
      if (all.empty() || all.back().statement != i) all.push_back({i, false, false});
      return all.back();
    };
    for_each_access(
        f_, i, [&](int reg) { at(reg).reads = true; }, [&](int reg) { at(reg).writes = true; });
  }
  for (const std::vector<Access>& all : accesses_) {
    const auto first = std::ranges::find_if(all, &Access::writes);
    const bool once =
        first != all.end() && std::none_of(first + 1, all.end(), [](const Access& one) { return one.writes; });
    only_definition_.push_back(once ? first->statement : -1);
  }
}

bool Flow::is_needed(int i, const Set& live) const {
  if (idle_[static_cast<std::size_t>(i)]) return false;
  if (natures_[static_cast<std::size_t>(i)].stays) return true;
  bool out = false;
  for_each_access(
      f_, i, [](int) {}, [&](int reg) { out = out || contains(live, reg); });
  return out;
}

// Backwards. Whether the statement is needed.
bool Flow::pass(int i, Set& live) const {
  if (!is_needed(i, live)) return false;
  const auto bit = [](int reg) { return std::uint64_t{1} << reg % 64; };
  if (statement(f_, i).guard < 0)
    for_each_access(
        f_, i, [](int) {}, [&](int reg) { live[static_cast<std::size_t>(reg) / 64] &= ~bit(reg); });
  for_each_access(
      f_, i, [&](int reg) { live[static_cast<std::size_t>(reg) / 64] |= bit(reg); }, [](int) {});
  return true;
}

// A value is live if a statement that is needed may use it: the least sets for which that holds in all blocks.
void Flow::find_live() {
  const Set none((f_.registers.size() + 63) / 64);
  for (Block& one : blocks_) one.live = none;
  std::vector<Set> at_begin(blocks_.size(), none);
  for (bool changed = true; std::exchange(changed, false);)
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      Block& one = blocks_[b];
      for (const int next : one.next)
        for (std::size_t k = 0; k < none.size(); ++k)
          one.live[k] |= at_begin[static_cast<std::size_t>(next)][k];
      Set live = one.live;
      for (int i = one.last; i-- > one.first;) pass(i, live);
      changed = changed || live != at_begin[b];
      at_begin[b] = std::move(live);
    }
  needed_.assign(f_.statements.size(), false);
  for (const Block& one : blocks_) {
    Set live = one.live;
    for (int i = one.last; i-- > one.first;) needed_[static_cast<std::size_t>(i)] = pass(i, live);
  }
}

}  // namespace warpbit::assembler
