// SPDX-License-Identifier: Apache-2.0
#include "grid/flow.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>  // exchange

#include "grid/reach.hpp"

namespace warpbit::grid {

using ptx::FunctionText, ptx::Operand, ptx::Statement;

namespace {

template <std::size_t N>
bool is_one_of(std::string_view opcode, const std::array<std::string_view, N>& opcodes) {
  return std::ranges::find(opcodes, opcode) != opcodes.end();
}

/// Whether the first operand is what an instruction writes.
bool writes_first(const FunctionText& f, const Statement& s) {
  constexpr std::array<std::string_view, 7> kNone = {"st", "red", "bra", "call", "bar", "barrier", "stmatrix"};
  return s.operands > 0 && !is_one_of(s.opcode, kNone) &&
         f.operands[static_cast<std::size_t>(s.first_operand)].kind != Operand::Kind::address;
}

/// Whether an instruction does more than to write registers.
bool has_effect(const FunctionText& f, const Statement& s) {
  constexpr std::array<std::string_view, 10> kMore = {"mbarrier", "atom",  "wgmma", "brx",   "shfl",
                                                      "vote",     "match", "redux", "elect", "ldmatrix"};
  return !writes_first(f, s) || is_one_of(s.opcode, kMore);
}

bool contains(const std::vector<std::uint64_t>& set, int reg) {
  return (set[static_cast<std::size_t>(reg) / 64] >> reg % 64 & 1) != 0;
}

const Statement& statement(const FunctionText& f, int i) {
  return f.statements[static_cast<std::size_t>(i)];
}

/// Calls read(register) and write(register) for those of a statement. Its guard is read.
template <class Read, class Write>
void for_each_access(const FunctionText& f, int i, Read read, Write write) {
  const Statement& s = statement(f, i);
  if (s.guard >= 0) read(s.guard);
  const bool writes = writes_first(f, s);
  for (int n = 0; n < s.operands; ++n) {
    const Operand& operand = f.operands[static_cast<std::size_t>(s.first_operand + n)];
    if (n == 0 && writes) for_each_register(f, operand, write);
    if (n > 0 || !writes || s.opcode == "wgmma") for_each_register(f, operand, read);
  }
}

}  // namespace

Flow::Flow(const FunctionText& function) : f_(function) {
  idle_.resize(f_.statements.size());
  find_accesses();
  do {
    find_blocks();
    find_live();
  } while (find_idle());
}

void Flow::find_blocks() {
  const int count = static_cast<int>(f_.statements.size());
  blocks_.clear();
  block_.clear();
  std::vector<bool> begins(f_.statements.size() + 1);
  constexpr std::array<std::string_view, 6> kEnds = {"bra", "brx", "ret", "exit", "call", "trap"};
  std::vector<std::size_t> to;
  for (int i = 0; i < count; ++i) {
    if (idle_[static_cast<std::size_t>(i)] || !is_one_of(statement(f_, i).opcode, kEnds)) continue;
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
}

// Whether there are new ones.
bool Flow::find_idle() {
  bool found = false;
  for (std::size_t i = 0; i < f_.statements.size(); ++i) {
    const Statement& s = f_.statements[i];
    if (s.opcode != "bra" || idle_[i]) continue;
    const Operand& label = f_.operands[static_cast<std::size_t>(s.first_operand)];
    const auto target = static_cast<std::size_t>(label.index);
    if (label.kind != Operand::Kind::label || target <= i) continue;
    const auto first = needed_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::find(first, needed_.begin() + static_cast<std::ptrdiff_t>(target), true) !=
        needed_.begin() + static_cast<std::ptrdiff_t>(target))
      continue;
    idle_[i] = found = true;
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
}

bool Flow::is_needed(int i, const Set& live) const {
  if (idle_[static_cast<std::size_t>(i)]) return false;
  if (has_effect(f_, statement(f_, i))) return true;
  bool out = false;
  for_each_access(
      f_, i, [](int) {}, [&](int reg) { out = out || contains(live, reg); });
  return out;
}

// Backwards.
void Flow::pass(int i, Set& live) const {
  if (!is_needed(i, live)) return;
  const auto bit = [](int reg) { return std::uint64_t{1} << reg % 64; };
  if (statement(f_, i).guard < 0)
    for_each_access(
        f_, i, [](int) {}, [&](int reg) { live[static_cast<std::size_t>(reg) / 64] &= ~bit(reg); });
  for_each_access(
      f_, i, [&](int reg) { live[static_cast<std::size_t>(reg) / 64] |= bit(reg); }, [](int) {});
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
    for (int i = one.last; i-- > one.first;) {
      needed_[static_cast<std::size_t>(i)] = is_needed(i, live);
      pass(i, live);
    }
  }
}

Flow::Uses Flow::uses(int from, int reg) const {
  Uses out;
  const Block& of = blocks_[static_cast<std::size_t>(block(from))];
  const std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
  for (auto at = std::ranges::upper_bound(all, from, {}, &Access::statement);
       at != all.end() && at->statement < of.last; ++at) {
    if (!needed_[static_cast<std::size_t>(at->statement)]) continue;
    if (at->reads) out.statements.push_back(at->statement);
    if (!at->writes) continue;
    out.elsewhere = statement(f_, at->statement).guard >= 0;  // the value stays in some lanes
    return out;
  }
  out.elsewhere = contains(of.live, reg);
  return out;
}

bool Flow::is_written(int reg, int first, int last) const {
  const std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
  for (auto at = std::ranges::upper_bound(all, first, {}, &Access::statement);
       at != all.end() && at->statement < last; ++at)
    if (at->writes) return true;
  return false;
}

// ---- Definitions

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
    if (statement(f_, i).opcode == "bra") ++block;
  }
}

int Definitions::at(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) return std::numeric_limits<int>::max();
  const auto reg = static_cast<std::size_t>(operand.index);
  return count_[reg] > 1 && last_[reg] < join_ ? 2 * join_ + 1 : at_[reg];
}

void Definitions::pass(int i) {
  const Statement& s = statement(f_, i);
  const auto has = [&](std::string_view word) {
    const auto first = f_.qualifiers.begin() + s.first_qualifier, last = first + s.qualifiers;
    return std::find(first, last, word) != last;
  };
  const bool is_parameter = f_.is_entry && s.opcode == "ld" && has("param");
  int place = is_parameter ? std::numeric_limits<int>::max() : 2 * i + 2;
  if ((s.opcode == "mov" || s.opcode == "neg" || s.opcode == "abs") && s.guard < 0) {
    const Operand& from = f_.operands[static_cast<std::size_t>(s.first_operand + 1)];
    if (from.kind != Operand::Kind::vector) place = at(from);
  }
  for_each_access(
      f_, i, [](int) {},
      [&](int reg) {
        at_[static_cast<std::size_t>(reg)] = place;
        last_[static_cast<std::size_t>(reg)] = i;
      });
  if (joins_[static_cast<std::size_t>(i) + 1]) join_ = i + 1;
}

}  // namespace warpbit::grid
