// SPDX-License-Identifier: Apache-2.0
// Who uses a value, and where it comes from.
#include <algorithm>

#include "assembler/editor.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {

using ptx::Does, ptx::Operand;

// Adds what uses a register behind a statement, or from the beginning of a block on, up to the end of the block.
Flow::Leaves Flow::add_uses(int b, int behind, int reg, std::vector<int>& to) const {
  const Block& of = blocks_[static_cast<std::size_t>(b)];
  const std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
  for (auto at = std::ranges::upper_bound(all, behind, {}, &Access::statement);
       at != all.end() && at->statement < of.last; ++at) {
    if (!is_needed(at->statement)) continue;
    if (at->reads) to.push_back(at->statement);
    if (at->writes)
      return f_.statements[static_cast<std::size_t>(at->statement)].guard >= 0 ? Leaves::mixed
                                                                               : Leaves::not_at_all;
  }
  return (of.live[static_cast<std::size_t>(reg) / 64] >> reg % 64 & 1) != 0 ? Leaves::alone
                                                                            : Leaves::not_at_all;
}

Flow::Uses Flow::uses(int from, int reg) const {
  Uses out;
  out.elsewhere = add_uses(block(from), from, reg, out.statements) != Leaves::not_at_all;
  return out;
}

// Whether no other statement gives a register the value that it has at the beginning of a block.
bool Flow::comes_alone(int from, int reg, int b) const {
  std::vector<bool> seen(blocks_.size());
  for (std::vector<int> open = {b}; !open.empty();) {
    const int here = open.back();
    open.pop_back();
    for (const int before : blocks_[static_cast<std::size_t>(here)].before) {
      const int last = definition_above(reg, blocks_[static_cast<std::size_t>(before)].last, before);
      if (last >= 0 && last != from) return false;
      if (last < 0 && !seen[static_cast<std::size_t>(before)]) open.push_back(before);
      seen[static_cast<std::size_t>(before)] = true;
    }
  }
  return true;
}

Flow::Uses Flow::all_uses(int from, int reg) const {
  Uses out;
  if (is_written_once(reg)) {
    for (const Access& one : accesses_[static_cast<std::size_t>(reg)])
      if (one.reads && is_needed(one.statement)) out.statements.push_back(one.statement);
    return out;
  }
  if (f_.statements[static_cast<std::size_t>(from)].guard >= 0) return uses(from, reg);
  std::vector<bool> seen(blocks_.size());
  std::vector<int> open;
  const auto go_on = [&](int b, Leaves how) {
    out.elsewhere = out.elsewhere || how == Leaves::mixed;
    if (how != Leaves::alone) return;
    for (const int next : blocks_[static_cast<std::size_t>(b)].next)
      if (!seen[static_cast<std::size_t>(next)]) open.push_back(next);
  };
  go_on(block(from), add_uses(block(from), from, reg, out.statements));
  while (!open.empty()) {
    const int b = open.back();
    open.pop_back();
    if (seen[static_cast<std::size_t>(b)]) continue;
    seen[static_cast<std::size_t>(b)] = true;
    std::vector<int> here;
    const Leaves how = add_uses(b, blocks_[static_cast<std::size_t>(b)].first - 1, reg, here);
    if (here.empty() && how == Leaves::not_at_all) continue;
    if (!comes_alone(from, reg, b)) {
      out.elsewhere = true;  // one of several values there
      continue;
    }
    out.statements.insert(out.statements.end(), here.begin(), here.end());
    go_on(b, how);
  }
  std::ranges::sort(out.statements);
  return out;
}

std::vector<int> Flow::uses_below(int from, int reg) const {
  std::vector<int> out;
  const std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
  for (auto at = std::ranges::upper_bound(all, from, {}, &Access::statement); at != all.end(); ++at) {
    if (at->reads && is_needed(at->statement)) out.push_back(at->statement);
    if (at->writes) break;
  }
  return out;
}

int Flow::only_use(int from, int reg) const {
  const Uses all = all_uses(from, reg);
  return all.elsewhere || all.statements.size() != 1 ? -1 : all.statements.front();
}

int Flow::definition(int reg, int statement) const {
  for (;;) {
    const int above = definition_above(reg, statement), at = above >= 0 ? above : only_definition(reg);
    if (at < 0 || at >= statement) return -1;
    const View v{f_, at};
    if (v.does() != Does::move || v.is_guarded() || !v.is_register(0) || !v.is_register(1)) return at;
    reg = v.operand(1).index;
    statement = at;
  }
}

int Flow::origin(int reg) const {
  for (int at = only_definition(reg); at >= 0;) {
    const View v{f_, at};
    if (v.does() != Does::move || v.is_guarded() || !v.is_register(1)) break;
    const int before = only_definition(v.operand(1).index);
    if (before < 0 || before >= at) break;
    reg = v.operand(1).index;
    at = before;
  }
  return reg;
}

bool Flow::is_constant(int reg) const {
  const int at = only_definition(reg);
  if (at < 0) return false;
  const View v{f_, at};
  if (v.does() != Does::load || v.is_guarded() || (!v.has("const") && !(v.has("param") && f_.is_entry)))
    return false;
  const Operand& address = v.operand(1);
  return address.count == 1 &&
         f_.operands[static_cast<std::size_t>(address.first)].kind == Operand::Kind::symbol;
}

bool Flow::keeps(int reg, int above, int statement) const {
  return above < statement && block(above) == block(statement) && definition_above(reg, statement) < above;
}

int Flow::definition_above(int reg, int statement) const {
  return definition_above(reg, statement, block(statement));
}
int Flow::definition_above(int reg, int statement, int b) const {
  const int first = blocks_[static_cast<std::size_t>(b)].first;
  const std::vector<Access>& all = accesses_[static_cast<std::size_t>(reg)];
  for (auto at = std::ranges::lower_bound(all, statement, {}, &Access::statement);
       at != all.begin() && (--at)->statement >= first;)
    if (at->writes) return at->statement;
  return -1;
}

}  // namespace warpbit::assembler
