// SPDX-License-Identifier: Apache-2.0
#include "grid/states.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

/// Registers that are copied into one another, and whether all that is written to them are states of arrivals.
class StateRegisters {
 public:
  explicit StateRegisters(int slots) : other_(static_cast<std::size_t>(slots)), has_more_(other_.size()) {
    std::iota(other_.begin(), other_.end(), 0);
  }
  std::uint32_t of(std::uint32_t slot) const {
    while (other_[slot] != slot) slot = other_[slot];
    return slot;
  }
  void unite(std::uint32_t x, std::uint32_t y) {
    const std::uint32_t from = of(x), to = of(y);
    other_[from] = to;
    has_more_[to] = has_more_[to] | has_more_[from];
  }
  void add_more(std::uint32_t slot) { has_more_[of(slot)] = 1; }
  bool has_more(std::uint32_t slot) const { return has_more_[of(slot)] != 0; }

 private:
  std::vector<std::uint32_t> other_;
  std::vector<std::uint8_t> has_more_;
};

bool has_slot(const Place& place) {
  return place.kind == Place::Kind::reg;
}

MbarrierOperation* mbarrier_of(Program& program, const Step& step) {
  return steps::what_runs(step) == steps::mbarrier
             ? &program.async.mbarriers[static_cast<std::size_t>(step.extra)]
             : nullptr;
}

}  // namespace

void find_states(Program& program, const FunctionCode& function) {
  const std::span<const Step> steps =
      std::span(program.steps).subspan(static_cast<std::size_t>(function.first_step));
  const auto takes_state = [&](const Step& step) {
    const MbarrierOperation* const of = mbarrier_of(program, step);
    return of != nullptr && of->kind == MbarrierOperation::Kind::test && !of->is_parity &&
           has_slot(step.place[3]);
  };
  if (std::ranges::none_of(steps, takes_state)) return;
  StateRegisters copies(function.slots);
  for (const Step& step : steps) {
    const MbarrierOperation* const of = mbarrier_of(program, step);
    if (of != nullptr && of->kind == MbarrierOperation::Kind::arrive) continue;
    if (step.statement >= 0 && does(program, step) == ptx::Does::move && step.extra < 0 &&
        has_slot(step.place[0]) && has_slot(step.place[2])) {
      copies.unite(step.place[0].slot, step.place[2].slot);
      continue;
    }
    for_each_use(program, step, [&](const Place& place, Use use) {
      if (use == Use::result && has_slot(place) && place.slot < static_cast<std::uint32_t>(function.slots))
        copies.add_more(place.slot);
    });
  }
  std::vector<std::int32_t> number(static_cast<std::size_t>(function.slots),
                                   -1);  // an operation that is one of them
  for (const Step& step : steps)
    if (takes_state(step) && !copies.has_more(step.place[3].slot))
      number[copies.of(step.place[3].slot)] = step.extra;
  for (const Step& step : steps) {
    MbarrierOperation* const of = mbarrier_of(program, step);
    if (of == nullptr || (of->kind != MbarrierOperation::Kind::arrive && !takes_state(step))) continue;
    const Place& state = step.place[of->kind == MbarrierOperation::Kind::arrive ? 0 : 3];
    if (has_slot(state)) of->states = number[copies.of(state.slot)];
  }
}

}  // namespace warpbit::grid
