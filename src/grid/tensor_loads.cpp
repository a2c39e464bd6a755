// SPDX-License-Identifier: Apache-2.0
// Registers of tcgen05.ld that are used before a wait.
#include <algorithm>
#include <set>
#include <vector>

#include "async/tensor.hpp"
#include "grid/block.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid::steps {

using tensor::Ordering, tensor::RegisterMove;

namespace {

const TensorAction* action_of(const Program& program, const Step& step) {
  if (what_runs(step) != tensor_memory) return nullptr;
  return &std::get<TensorAction>(program.instructions[static_cast<std::size_t>(step.extra)].decoded().kernel);
}
bool is_load(const Program& program, const Step& step) {
  const TensorAction* const action = action_of(program, step);
  const auto* const move = action == nullptr ? nullptr : std::get_if<RegisterMove>(&action->what);
  return move != nullptr && !move->stores;
}
bool waits_for_loads(const Program& program, const Step& step) {
  const TensorAction* const action = action_of(program, step);
  const auto* const order = action == nullptr ? nullptr : std::get_if<Ordering>(&action->what);
  return order != nullptr && order->kind == Ordering::Kind::wait_ld;
}

/// A step, and the slots that a load has written before it.
struct Reached {
  int step;
  std::set<std::uint32_t> slots;
};

// The slots that a load writes.
std::set<std::uint32_t> loaded_by(const Program& program, const Step& load) {
  std::set<std::uint32_t> out;
  for_each_use(program, load, [&](const Place& place, Use use) {
    if (use == Use::result && place.kind == Place::Kind::reg) out.insert(place.slot);
  });
  return out;
}

// False behind a wait for loads.
bool follow(Program& program, Reached& at) {
  Step& step = program.steps[static_cast<std::size_t>(at.step)];
  if (waits_for_loads(program, step)) return false;
  for_each_use(program, step, [&](const Place& place, Use use) {
    if (place.kind != Place::Kind::reg || !at.slots.contains(place.slot)) return;
    if (use == Use::result) {
      if (step.guard < 0) at.slots.erase(place.slot);
    } else if (!step.uses_load) {
      step.uses_load = true;
      note(step);
    }
  });
  return !at.slots.empty();
}

}  // namespace

void find_early_uses(Program& program) {
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& load = program.steps[static_cast<std::size_t>(i)];
    if (!is_load(program, load)) continue;
    Reached first{i + 1, loaded_by(program, load)};
    std::set<int> seen;
    std::vector<Reached> next = {std::move(first)};
    while (!next.empty()) {
      Reached at = std::move(next.back());
      next.pop_back();
      if (!seen.insert(at.step).second || !follow(program, at)) continue;
      std::vector<int> to;
      followers(program, at.step, to);
      for (const int step : to) next.push_back({step, at.slots});
    }
  }
}

bool use_load(Warp& warp, const Path& path, const Step& step) {
  const Program& program = warp.program();
  const auto name = [&](block::Place load) {
    const ptx::Statement& statement = statement_of(origin_at(program, load));
    const auto found = std::ranges::find_if(
        program.steps, [&](const Step& one) { return &statement_of(program, one) == &statement; });
    const std::set<std::uint32_t> slots = loaded_by(program, *found);
    std::string out;
    for_each_use(program, step, [&](const Place& place, Use use) {
      if (out.empty() && use != Use::result && place.kind == Place::Kind::reg && slots.contains(place.slot))
        out = register_name(program.functions[static_cast<std::size_t>(path.function)], place, 2 * path.pc);
    });
    return out.empty() ? "a register" : out;
  };
  return async::TensorIssue(warp.block().async(), Block::who(warp, step, 0)).use_register(name);
}

}  // namespace warpbit::grid::steps
