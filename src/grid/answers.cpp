// SPDX-License-Identifier: Apache-2.0
#include "grid/answers.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "grid/async_tables.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

using ptx::Does;

/// What follows from the answers alone, by register and predicate:
///
///     mbarrier.try_wait ... p      p = 0
///     selp.u32 r, 1, 0, p          r = 0
///     setp.ne.u32 q, r, 0          q = 0
using Known = std::map<std::pair<Place::Kind, std::uint32_t>, std::uint64_t>;

class Walk {
 public:
  explicit Walk(const Program& program) : program_(program) {}

  bool reaches_access(int test) {
    go(test, {});
    while (!todo_.empty() && seen_.size() < kMost) {
      auto [at, known] = std::move(todo_.back());
      todo_.pop_back();
      const Step& step = program_.steps[static_cast<std::size_t>(at)];
      const std::optional<bool> guard = guard_of(step, known);
      if (guard == false) {
        go(at + 1, std::move(known));
        continue;
      }
      if (is_access(step)) return true;
      follow(at, step, guard.has_value(), std::move(known));
    }
    return false;
  }

 private:
  static constexpr std::size_t kMost =
      4096;  // steps, each with what is known there: beyond them nothing is said

  void go(int at, Known known) {
    if (at < 0 || at >= std::ssize(program_.steps)) return;
    if (seen_.emplace(at, known).second) todo_.emplace_back(at, std::move(known));
  }

  static std::optional<bool> guard_of(const Step& step, const Known& known) {
    if (step.guard < 0) return true;
    const auto found = known.find({Place::Kind::predicate, static_cast<std::uint32_t>(step.guard)});
    if (found == known.end()) return std::nullopt;
    return (found->second != 0) != step.guard_negated;
  }

  // Of shared memory, or by a copy or a tensor instruction.
  bool is_access(const Step& step) const {
    switch (does(program_, step)) {
      case Does::load:
      case Does::store:
      case Does::atomic:
      case Does::reduction: return step.access.generic || step.access.space == ptx::StateSpace::shared;
      case Does::copy:
      case Does::tensor: return true;
      default: return false;
    }
  }

  bool is_test(const Step& step) const {
    return steps::what_runs(step) == steps::mbarrier &&
           program_.async.mbarriers[static_cast<std::size_t>(step.extra)].kind == MbarrierOperation::Kind::test;
  }

  void follow(int at, const Step& step, bool is_sure, Known known) {
    const std::optional<scalar::Results> results = is_test(step) ? scalar::Results{} : value(step, known);
    for_each_use(program_, step, [&](const Place& place, Use use) {
      if (use == Use::result) known.erase({place.kind, place.slot});
    });
    if (results && is_sure) {
      known[{step.place[0].kind, step.place[0].slot}] = results->value;
      if (step.place[1].exists()) known[{step.place[1].kind, step.place[1].slot}] = results->second;
    }
    std::vector<int> next;
    followers(program_, at, next);
    if (is_sure && step.guard >= 0 && !ptx::goes_on(does(program_, step))) std::erase(next, at + 1);
    for (const int one : next) go(one, known);
  }

  std::optional<std::uint64_t> read(const Place& place, const Known& known, bool& is_of_answer) const {
    if (place.kind == Place::Kind::constant) {
      const auto found = std::ranges::find(program_.constants, place.slot, &ConstantSlot::slot);
      if (found == program_.constants.end() || found->special || found->in_shared) return std::nullopt;
      return found->value;
    }
    const auto found = known.find({place.kind, place.slot});
    if (found == known.end()) return std::nullopt;
    is_of_answer = true;
    return place.negated ? std::uint64_t{found->second == 0} : found->second;
  }

  // Of what has an answer among its sources, and else what is known.
  std::optional<scalar::Results> value(const Step& step, const Known& known) const {
    const Run run = steps::what_runs(step);
    const bool votes = run == steps::vote && static_cast<steps::Vote>(step.extra) != steps::Vote::uniform;
    if (run != steps::compute && run != steps::move && run != steps::logic_predicates && !votes)
      return std::nullopt;
    scalar::Sources sources;
    if (run == steps::compute) sources.predicate = operation(step).predicate;
    std::vector<std::uint64_t> values;
    bool is_of_answer = false;
    for (std::size_t i = 2; i < (votes ? 3 : step.place.size()) && step.place[i].exists(); ++i) {
      const auto one = read(step.place[i], known, is_of_answer);
      if (!one) return std::nullopt;
      values.push_back(*one);
      if (step.place[i].kind == Place::Kind::predicate)
        sources.predicate = *one != 0;
      else
        sources.value[static_cast<std::size_t>(sources.count++)] = *one;
    }
    if (!is_of_answer || values.empty()) return std::nullopt;
    if (votes && values[0] != 0) return std::nullopt;  // all lanes have the same answer, but not all are there
    if (run == steps::move || votes) return scalar::Results{.value = values[0]};
    if (run == steps::compute)
      return step.target >= 0 ? std::nullopt : std::optional(scalar::execute(operation(step), sources));
    const Lanes a = values[0] != 0 ? 1 : 0, b = values.size() > 1 && values[1] != 0 ? 1 : 0;
    return scalar::Results{.value = steps::combined(step, a, b) & 1};
  }

  const scalar::Operation& operation(const Step& step) const {
    return program_.operations[static_cast<std::size_t>(step.extra)];
  }

  const Program& program_;
  std::set<std::pair<int, Known>> seen_;
  std::vector<std::pair<int, Known>> todo_;
};

}  // namespace

bool goes_on_when_false(const Program& program, int test) {
  return Walk(program).reaches_access(test);
}

}  // namespace warpbit::grid
