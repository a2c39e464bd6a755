// SPDX-License-Identifier: Apache-2.0
#include "grid/polls.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

using ptx::Does;
using ptx::StateSpace;

bool is_of_others(const Access& access) {
  return access.generic || access.space == StateSpace::global || access.space == StateSpace::shared;
}

/// Registers and predicates on which it depends which steps are executed, or what leaves the registers of the function for others
/// than memory that threads share.
class Deciding {
 public:
  Deciding(const Program& program, const FunctionCode& function)
      : program_(program),
        registers_(static_cast<std::size_t>(function.slots)),
        predicates_(static_cast<std::size_t>(function.predicates)) {}

  void find(std::span<const Step> steps) {
    for (const Step& step : steps)
      for_each_use(program_, step, [&](const Place& place, Use use) {
        if (!has(place)) return;
        Value& value = of(place)[place.slot];
        use == Use::result ? value.results_of.push_back(&step) : void(value.is_used = true);
      });
    for (const Step& step : steps) {
      if (step.guard >= 0) add(predicates_[static_cast<std::size_t>(step.guard)]);
      if (keeps_nothing(step)) add_sources(step);
    }
    while (!todo_.empty()) {
      const Value& value = *todo_.back();
      todo_.pop_back();
      for (const Step* const step : value.results_of) add_sources(*step);
    }
  }

  /// Whether no result of the step is one, and some step takes one.
  bool is_data(const Step& step) const {
    bool decides = false, is_used = false;
    for_each_use(program_, step, [&](const Place& place, Use use) {
      if (use != Use::result || !has(place)) return;
      const Value& value = of(place)[place.slot];
      decides = decides || value.decides;
      is_used = is_used || value.is_used;
    });
    return is_used && !decides;
  }

  /// Whether a strong store writes what is made of data that a strong load has read there, at the same register and offset.
  bool updates(const Step& store) {
    std::vector<const Step*> todo, seen;
    const auto add_results = [&](const Place& place) {
      if (!has(place)) return;
      for (const Step* const step : of(place)[place.slot].results_of)
        if (std::ranges::find(seen, step) == seen.end()) {
          seen.push_back(step);
          todo.push_back(step);
        }
    };
    for (const Place& place : program_.places[static_cast<std::size_t>(store.extra)]) add_results(place);
    while (!todo.empty()) {
      const Step& step = *todo.back();
      todo.pop_back();
      const bool loads = does(program_, step) == Does::load;
      if (loads && step.access.is_data && step.place[2] == store.place[2] &&
          step.access.offset == store.access.offset)
        return true;
      if (!loads)
        for_each_use(program_, step, [&](const Place& place, Use use) {
          if (use != Use::result) add_results(place);
        });
    }
    return false;
  }

  /// Whether a strong store is left out by what such a load has found, which is compared with the very value stored: a maximum, say.
  bool improves(std::span<const Step> steps, const Step& store) const {
    const std::vector<Place>& values = program_.places[static_cast<std::size_t>(store.extra)];
    if (values.size() != 1 || values[0].kind != Place::Kind::reg) return false;
    if (store.guard >= 0) return compares(store, store.guard);
    const auto at = static_cast<std::size_t>(&store - steps.data());
    for (std::size_t i = at; i-- > 0;) {  // the branch around it
      if (does(program_, steps[i]) != Does::branch) continue;
      const int first = static_cast<int>(&steps[i] - program_.steps.data());
      return steps[i].guard >= 0 && steps[i].target > first + static_cast<int>(at - i) &&
             compares(store, steps[i].guard);
    }
    return false;
  }

 private:
  // Whether a predicate says which is greater: what a strong load has read where a store writes, or the value stored.
  bool compares(const Step& store, int predicate) const {
    const std::vector<const Step*>& results = predicates_[static_cast<std::size_t>(predicate)].results_of;
    if (results.size() != 1 || steps::what_runs(*results[0]) != steps::compute || results[0]->extra < 0)
      return false;
    const Step& test = *results[0];
    const scalar::Operation& of = program_.operations[static_cast<std::size_t>(test.extra)];
    if (of.function != scalar::Function::setp || of.boolean != scalar::Boolean::none || !is_order(of.compare))
      return false;
    const Place& value = program_.places[static_cast<std::size_t>(store.extra)][0];
    const bool is_second = test.place[3] == value;
    return (is_second || test.place[2] == value) && is_loaded(store, test.place[is_second ? 2 : 3]);
  }
  static bool is_order(scalar::Compare compare) {
    using enum scalar::Compare;
    return compare != eq && compare != ne && compare != equ && compare != neu && compare != num &&
           compare != nan;
  }
  // Whether a register is what a strong load has read where a store writes.
  bool is_loaded(const Step& store, const Place& place) const {
    if (place.kind != Place::Kind::reg || !has(place)) return false;
    const std::vector<const Step*>& results = of(place)[place.slot].results_of;
    return results.size() == 1 && does(program_, *results[0]) == Does::load && results[0]->access.strong &&
           results[0]->place[2] == store.place[2] && results[0]->access.offset == store.access.offset;
  }
  struct Value {
    bool decides = false, is_used = false;
    std::vector<const Step*> results_of = {};
  };

  // What becomes of its sources is not seen in registers, or an atom.cas compares them.
  bool keeps_nothing(const Step& step) const {
    switch (does(program_, step)) {
      case Does::store:
      case Does::reduction: return !is_of_others(step.access);
      case Does::atomic: return static_cast<steps::Atomic>(step.target) == steps::Atomic::compare;
      case Does::call: return true;
      default: break;
    }
    bool has_result = false;
    for_each_use(program_, step, [&](const Place&, Use use) { has_result = has_result || use == Use::result; });
    return !has_result;
  }

  void add_sources(const Step& step) {
    for_each_use(program_, step, [&](const Place& place, Use use) {
      if (use != Use::result && has(place)) add(of(place)[place.slot]);
    });
  }
  void add(Value& value) {
    if (!value.decides) todo_.push_back(&value);
    value.decides = true;
  }

  std::vector<Value>& of(const Place& place) {
    return place.kind == Place::Kind::predicate ? predicates_ : registers_;
  }
  const std::vector<Value>& of(const Place& place) const {
    return place.kind == Place::Kind::predicate ? predicates_ : registers_;
  }
  bool has(const Place& place) const {
    return (place.kind == Place::Kind::predicate || place.kind == Place::Kind::reg) &&
           place.slot < of(place).size();
  }

  const Program& program_;
  std::vector<Value> registers_, predicates_;
  std::vector<Value*> todo_;
};

void add_use(Program& program, const Step& step, bool updates) {
  const Does what = does(program, step);
  const bool is_atomic = what == Does::atomic || what == Does::reduction;
  if (!step.access.strong || !is_of_others(step.access) ||
      (what != Does::load && what != Does::store && !is_atomic))
    return;
  const auto bytes =
      static_cast<std::uint8_t>(step.access.bytes * (what == Does::store ? step.access.count : 1));
  program.strong_uses.resize(program.origins.size());
  program.strong_uses[static_cast<std::size_t>(step.statement)] = {
      bytes, step.access.order.scope, is_atomic, step.access.is_data, updates, step.access.bytes};
}

/// A jump back, and the steps from where it goes.
class Loop {
 public:
  Loop(const Program& program, int first, int last) : program_(program), first_(first), last_(last) {}

  /// Whether nothing happens there but that threads look at what others leave, and tell their block of it.
  bool only_polls() const {
    bool polls = false;
    for (int i = first_; i <= last_; ++i) {
      polls = polls || looks(at(i));
      if (!looks(at(i)) && !is_idle(at(i)) && !tells_block(at(i))) return false;
    }
    return polls;
  }

  /// Whether what it finds there is all that ends it: no count of rounds, and no clock.
  bool ends_by_looks() {
    for (int i = first_; i <= last_; ++i) {
      const Step& step = at(i);
      if (tells_block(step)) return false;
      const bool leaves = i == last_ || step.target < first_ || step.target > last_;
      if (does(program_, step) == Does::branch && step.guard >= 0 && leaves && !is_fixed(predicate(step.guard)))
        return false;
    }
    return true;
  }

 private:
  const Step& at(int i) const { return program_.steps[static_cast<std::size_t>(i)]; }
  static Place predicate(int number) {
    return {Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(number)};
  }
  bool looks(const Step& step) const {
    const Does what = does(program_, step);
    return (what == Does::load || what == Does::atomic) && step.access.strong && is_of_others(step.access);
  }

  bool is_idle(const Step& step) const {
    const Does what = does(program_, step);
    return what == Does::fence || what == Does::hint || stays_in_lane(what);
  }
  bool tells_block(const Step& step) const {
    const Does what = does(program_, step);
    const bool is_shared = step.access.space == StateSpace::shared && !step.access.generic;
    return what == Does::barrier ||
           ((what == Does::load || what == Does::store) && is_shared && !step.access.strong);
  }

  // Whether a place has the same value in each round, as long as what is read has: no step there writes it, or one that each round
  // executes, from such places.
  bool is_fixed(const Place& place) {
    if (place.kind != Place::Kind::reg && place.kind != Place::Kind::predicate) return true;
    std::vector<int> writers;
    for (int i = first_; i <= last_; ++i)
      if (writes(program_, at(i), place)) writers.push_back(i);
    if (writers.empty()) return true;
    const int writer = writers.front();
    const Step& step = at(writer);
    const bool is_open = writers.size() > 1 || step.guard >= 0 || may_be_left_out(writer) ||
                         steps::what_runs(step) == steps::clock ||
                         std::ranges::find(open_, writer) != open_.end();
    if (is_open) return false;
    open_.push_back(writer);
    bool out = true;
    for_each_use(program_, step, [&](const Place& one, Use use) {
      if (use != Use::result && out) out = is_fixed(one);
    });
    open_.pop_back();
    return out;
  }
  bool may_be_left_out(int step) const {
    for (int i = first_; i < step; ++i)
      if (does(program_, at(i)) == Does::branch && at(i).target > step && at(i).target <= last_) return true;
    return false;
  }

  const Program& program_;
  int first_, last_;
  std::vector<int> open_;  // steps whose sources are looked at
};

}  // namespace

void find_polls(Program& program, const FunctionCode& function) {
  const std::span<Step> steps = std::span(program.steps).subspan(static_cast<std::size_t>(function.first_step));
  const auto is_strong_load = [&](const Step& step) {
    return does(program, step) == Does::load && step.access.strong && is_of_others(step.access);
  };
  std::optional<Deciding> deciding;
  if (std::ranges::any_of(steps, is_strong_load)) {
    deciding.emplace(program, function);
    deciding->find(steps);
    for (Step& step : steps)
      if (is_strong_load(step)) step.access.is_data = deciding->is_data(step);
  }
  for (const Step& step : steps) {
    const bool is_store = does(program, step) == Does::store && step.access.strong && is_of_others(step.access);
    add_use(program, step,
            is_store && deciding && (deciding->updates(step) || deciding->improves(steps, step)));
  }
  if (!program.strong_uses.empty()) program.strong_uses.resize(program.origins.size());
  for (int i = function.first_step; i < static_cast<int>(program.steps.size()); ++i) {
    Step& step = program.steps[static_cast<std::size_t>(i)];
    if (does(program, step) != Does::branch || step.target > i) continue;
    Loop loop(program, step.target, i);
    step.access.polls = loop.only_polls();
    step.access.ends_by_looks = step.access.polls && loop.ends_by_looks();
    for (int at = step.target; step.access.ends_by_looks && at < i; ++at)  // a clock decides nothing there
      if (Step& one = program.steps[static_cast<std::size_t>(at)]; steps::what_runs(one) == steps::clock)
        one.changes = false;
  }
}

}  // namespace warpbit::grid
