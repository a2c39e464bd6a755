// SPDX-License-Identifier: Apache-2.0
#include "grid/reach.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "assembler/flow.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"
#include "ptx/special.hpp"

namespace warpbit::grid {

bool stays_in_lane(ptx::Does does) {
  using enum ptx::Does;
  constexpr ptx::Does kAll[] = {compute, convert, move, logic, branch, window, is_space, policy};
  return std::ranges::find(kAll, does) != std::end(kAll);
}

void followers(const Program& program, int i, std::vector<int>& to) {
  const Step& step = program.steps[static_cast<std::size_t>(i)];
  const ptx::Does what = does(program, step);
  if (step.guard >= 0 || ptx::goes_on(what)) to.push_back(i + 1);
  if (what == ptx::Does::branch) to.push_back(step.target);
  if (what != ptx::Does::branch_indexed) return;
  const std::vector<std::int32_t>& targets = program.tables[static_cast<std::size_t>(step.extra)];
  to.insert(to.end(), targets.begin(), targets.end());
}

namespace {

// Threads meet there, or wait for those that arrive.
bool is_barrier(const Program& program, const Step& step) {
  const ptx::Does what = does(program, step);
  if (what == ptx::Does::barrier) return steps::what_runs(step) != steps::sync_warp;
  if (what != ptx::Does::mbarrier) return false;
  const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
  const std::string_view word = words_of(*origin.function, statement_of(origin)).front();
  return word == "try_wait" || word == "test_wait";
}

}  // namespace

bool leads_to(const Program& program, int from, int to, bool without_barrier) {
  const auto of = [&](int step) { return program.steps[static_cast<std::size_t>(step)].statement; };
  std::vector<int> todo;
  for (int i = 0; i < std::ssize(program.steps); ++i)
    if (of(i) == from) followers(program, i, todo);
  std::vector<bool> seen(program.steps.size());
  while (!todo.empty()) {
    const int i = todo.back();
    todo.pop_back();
    if (i < 0 || i >= std::ssize(program.steps) || seen[static_cast<std::size_t>(i)]) continue;
    seen[static_cast<std::size_t>(i)] = true;
    if (of(i) == to) return true;
    if (!without_barrier || !is_barrier(program, program.steps[static_cast<std::size_t>(i)]))
      followers(program, i, todo);
  }
  return false;
}

namespace {

template <class Is>
int statement_that(const Program& program, Is is) {
  const auto found = std::ranges::find_if(program.steps, is);
  return found == program.steps.end() ? -1 : found->statement;
}

}  // namespace

int awaits_before(const Program& program, int read, int write) {
  return statement_that(program, [&](const Step& step) {
    const int at = step.statement;
    return step.access.polls && leads_to(program, at, read, false) && !leads_to(program, at, write, false) &&
           !leads_to(program, write, at, false);
  });
}

int claims(const Program& program, int one, int other) {
  return statement_that(program, [&](const Step& step) {
    if (does(program, step) != ptx::Does::atomic) return false;
    const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
    const auto words = words_of(*origin.function, statement_of(origin));
    return std::ranges::find(words, "cas") != words.end() && leads_to(program, step.statement, one, true) &&
           leads_to(program, step.statement, other, true);
  });
}

namespace {

enum class Touches : std::uint8_t { nothing, reads, writes };

Touches touches_shared(const Program& program, const Step& step) {
  const bool is_shared = !step.access.generic && step.access.space == ptx::StateSpace::shared;
  switch (does(program, step)) {
    case ptx::Does::load:
    case ptx::Does::atomic: return is_shared ? Touches::reads : Touches::nothing;
    case ptx::Does::store:
    case ptx::Does::reduction: return is_shared ? Touches::writes : Touches::nothing;
    case ptx::Does::tensor: return Touches::reads;
    case ptx::Does::copy: break;
    default: return Touches::nothing;
  }
  const bool stores =
      steps::what_runs(step) == steps::bulk &&
      program.async.bulks[static_cast<std::size_t>(step.extra)].kind == BulkOperation::Kind::store;
  return stores ? Touches::reads : Touches::writes;
}

}  // namespace

bool fills_next(const Program& program, int step) {
  std::vector<int> todo;
  followers(program, step, todo);
  std::vector<bool> seen(program.steps.size());
  bool writes = false;
  while (!todo.empty()) {
    const int i = todo.back();
    todo.pop_back();
    if (i < 0 || i >= std::ssize(program.steps) || seen[static_cast<std::size_t>(i)]) continue;
    seen[static_cast<std::size_t>(i)] = true;
    const Touches what = touches_shared(program, program.steps[static_cast<std::size_t>(i)]);
    if (what == Touches::reads) return false;
    writes = writes || what == Touches::writes;
    if (what == Touches::nothing) followers(program, i, todo);
  }
  return writes;
}

namespace {

// Whether nobody can know of a thread's step by this one.
bool is_of_own(const Program& program, const Step& step) {
  switch (does(program, step)) {
    case ptx::Does::branch_indexed:
    case ptx::Does::active_mask:
    case ptx::Does::hint: return true;
    case ptx::Does::load:
    case ptx::Does::store: return !step.access.strong;
    default: return stays_in_lane(does(program, step)) && steps::what_runs(step) != steps::tensor;
  }
}

// What a step does to the registers that another one writes: a read comes before a write of its own.
enum class Meets : std::uint8_t { none, takes, replaces };
Meets meets(const Program& program, const Step& step, const std::vector<Place>& registers) {
  Meets out = Meets::none;
  for_each_use(program, step, [&](const Place& place, Use use) {
    if (std::ranges::find(registers, place) == registers.end() || out == Meets::takes) return;
    out = use == Use::result ? Meets::replaces : Meets::takes;
  });
  return out;
}

bool is_taken_first(const Program& program, int load) {
  std::vector<Place> registers;
  for_each_use(program, program.steps[static_cast<std::size_t>(load)], [&](const Place& place, Use use) {
    if (use == Use::result) registers.push_back(place);
  });
  std::vector<int> todo = {load + 1};
  std::vector<bool> seen(program.steps.size());
  while (!todo.empty()) {
    const int i = todo.back();
    todo.pop_back();
    if (i < 0 || i >= std::ssize(program.steps)) return false;
    if (seen[static_cast<std::size_t>(i)]) continue;
    seen[static_cast<std::size_t>(i)] = true;
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    const Meets how = meets(program, step, registers);
    if (how == Meets::takes) continue;
    if (how == Meets::replaces || !is_of_own(program, step)) return false;
    followers(program, i, todo);
  }
  return true;
}

}  // namespace

bool is_taken_before_others(const Program& program, int statement) {
  bool is_any = false, out = true;
  for (int i = 0; i < std::ssize(program.steps); ++i) {
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    if (step.statement != statement || does(program, step) != ptx::Does::load) continue;
    is_any = true;
    out = out && is_taken_first(program, i);
  }
  return is_any && out;
}

// From the last step to the first, until nothing changes: most jumps that lead on go forward.
std::vector<bool> lead_out(const Program& program) {
  using enum ptx::Does;
  std::vector<bool> out(program.steps.size());
  std::vector<int> next;
  const auto leads_out = [&](int i) {
    const ptx::Does what = does(program, program.steps[static_cast<std::size_t>(i)]);
    if (what == ret || what == exit || what == trap || what == call) return true;
    next.clear();
    followers(program, i, next);
    return std::ranges::any_of(
        next, [&](int to) { return to >= 0 && to < std::ssize(out) && out[static_cast<std::size_t>(to)]; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = static_cast<int>(out.size()) - 1; i >= 0; --i)
      if (!out[static_cast<std::size_t>(i)] && leads_out(i)) out[static_cast<std::size_t>(i)] = changed = true;
  }
  return out;
}

namespace {

class Names {
 public:
  explicit Names(const ptx::ModuleText& module) : module_(module) {
    for (const ptx::Variable& one : module.variables) variables_.try_emplace(one.name, &one);
  }

  void add(const ptx::FunctionText* function) {
    if (function == nullptr || !function->has_body) return;
    if (known_.insert(function).second) out.functions.push_back(function);
  }
  // With those to which it points, and so on.
  void add(const ptx::Variable& first) {
    std::vector<const ptx::Variable*> todo = {&first};
    while (!todo.empty()) {
      const ptx::Variable& variable = *todo.back();
      todo.pop_back();
      if (!out.variables.insert(&variable).second) continue;
      for (const ptx::Relocation& relocation : variable.relocations) {
        add(module_.find(relocation.symbol));
        if (const auto named = variables_.find(relocation.symbol); named != variables_.end())
          todo.push_back(named->second);
      }
    }
  }
  void add_all_of(const ptx::FunctionText& function) {
    for (const ptx::Operand& operand : function.operands) {
      if (operand.kind == ptx::Operand::Kind::special)
        out.reserved_shared =
            out.reserved_shared || ptx::is_of_reserved(static_cast<ptx::Special>(operand.index));
      if (operand.kind == ptx::Operand::Kind::function) add(module_.find(operand.text));
      if (operand.kind == ptx::Operand::Kind::symbol && operand.variable != nullptr) add(*operand.variable);
    }
    for (const ptx::LabelTable& table : function.tables)
      for (const std::string_view name : table.functions) add(module_.find(name));
  }
  Named out;

 private:
  const ptx::ModuleText& module_;
  std::unordered_map<std::string_view, const ptx::Variable*> variables_;
  std::unordered_set<const ptx::FunctionText*> known_;
};

}  // namespace

Named named(const ptx::ModuleText& module, const ptx::FunctionText& kernel) {
  Names names(module);
  names.add(&kernel);
  for (std::size_t i = 0; i < names.out.functions.size(); ++i) names.add_all_of(*names.out.functions[i]);
  return std::move(names.out);
}

}  // namespace warpbit::grid
