// SPDX-License-Identifier: Apache-2.0
#include "grid/overtakes.hpp"

#include <algorithm>
#include <bit>

#include "grid/block.hpp"
#include "grid/reach.hpp"
#include "grid/resolver.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

using ptx::Does;
using ptx::StateSpace;

constexpr std::uint64_t kOneOf = 3;  // loads that may come first do

// A strong access by which blocks tell each other something.
bool is_told_to_others(const Step& step) {
  const Access& of = step.access;
  return of.strong && of.order.scope != block::Scope::cta && !of.in_frame && !of.of_parameter &&
         (of.generic || of.space == StateSpace::global);
}

bool is_load(const Program& program, const Step& step) {
  return does(program, step) == Does::load && is_told_to_others(step);
}

// Registers of its lanes alone change, and the next step follows.
bool stays(const Program& program, int i) {
  const Step& step = program.steps[static_cast<std::size_t>(i)];
  const Does what = does(program, step);
  const bool is_fixed = what == Does::load &&
                        (step.access.space == StateSpace::param || step.access.space == StateSpace::constant);
  std::vector<int> next;
  followers(program, i, next);
  return (is_fixed || what == Does::hint || stays_in_lane(what)) && steps::what_runs(step) != steps::tensor &&
         next == std::vector<int>{i + 1};
}

// What the steps that come late read.
class Kept {
 public:
  Kept(const Program& program) : program_(program) {}
  void add(const Step& step) {
    if (step.guard >= 0)
      places_.push_back({Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(step.guard)});
    for_each_use(program_, step, [&](const Place& place, Use) { places_.push_back(place); });
  }
  bool is_written_by(const Step& step) const {
    return std::ranges::any_of(places_, [&](const Place& one) { return writes(program_, step, one); });
  }

 private:
  const Program& program_;
  std::vector<Place> places_;
};

std::int32_t last_before(const Program& program, int store) {
  Kept kept(program);
  std::int32_t out = 0;
  for (int i = store; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    if (is_late(program, step)) {
      kept.add(step);
      continue;
    }
    const bool loads = is_load(program, step);
    if ((!loads && !stays(program, i)) || kept.is_written_by(step)) break;
    if (loads) out = i;
  }
  return out;
}

}  // namespace

bool is_late(const Program& program, const Step& step) {
  const Does what = does(program, step);
  return (what == Does::store && is_told_to_others(step)) ||
         (steps::what_runs(step) == steps::fence_memory && step.target != steps::kSequential);
}

void find_overtakes(Program& program, const FunctionCode& function) {
  for (std::size_t i = static_cast<std::size_t>(function.first_step); i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    if (does(program, step) != Does::store || !is_told_to_others(step)) continue;
    const std::int32_t load = last_before(program, static_cast<int>(i));
    step.access.may_be_late = load != 0;
    if (load != 0) step.target = load;
  }
}

// ---- During a launch

// Whether its store may wait for a load of other bytes of global memory.
bool Warp::is_apart(const Path& path, const Step& load, Lanes lanes) {
  const GlobalMemory& memory = block_.grid().memory;
  const auto begins = [&](const Step& step, int lane) { return steps::address_of(*this, path, step, 2, lane); };
  const auto bytes = [](const Step& step) { return std::uint64_t{step.access.bytes} * step.access.count; };
  bool out = true;
  for_each_lane(lanes, [&](int reader) {
    const std::uint64_t from = begins(load, reader), size = bytes(load);
    out = out && memory.find(from, size) != nullptr;
    for (int i = path.pc; &program_.steps[static_cast<std::size_t>(i)] != &load && out; ++i) {
      const Step& store = program_.steps[static_cast<std::size_t>(i)];
      if (!is_late(program_, store) || does(program_, store) != Does::store) continue;
      for_each_lane(path.lanes, [&](int writer) {
        const std::uint64_t to = begins(store, writer);
        out =
            out && memory.find(to, bytes(store)) != nullptr && (from + size <= to || to + bytes(store) <= from);
      });
    }
  });
  return out;
}

// That a load has come first, with the store that it has left behind.
bool Warp::note_overtake(const Path& path, const Step& load, Lanes lanes) {
  if (lanes == 0 || !block_.is_told(KernelRule::load_before_store)) return true;
  const Step& store = program_.steps[static_cast<std::size_t>(path.pc)];
  const int lane = std::countr_zero(lanes);
  Fault out = block::fault_of(
      Block::who(*this, load, lane),
      {Errc::protocol_violation,
       {},
       "in this order of the threads this load comes before the store that stands before it in its thread, as PTX allows",
       "if each of two threads stores first, and then loads what the other one stores, a __threadfence (fence.sc) must "
       "stand between the store and the load"},
      KernelRule::load_before_store);
  out.other = block::side_of(Block::who(*this, store, lane), "is done after that load");
  return block_.allows(std::move(out));
}

Next Warp::overtake(Path& path) {
  const int first = path.pc;
  const bool is_behind = path.overtaken_by >= 0;
  if (!is_behind && block_.grid().schedule->pick(kOneOf) != 0) return do_step(path, step_at(first));
  const int end = is_behind ? path.overtaken_by : step_at(first).target;
  bool has_loaded = false;
  path.overtaken_by = end;
  for (int i = first; i <= end; ++i) {
    const Step& step = step_at(i);
    if (is_late(program_, step) != is_behind) continue;
    if (is_load(program_, step)) {
      if (!is_apart(path, step, guarded(path, step))) {
        path.overtaken_by = i - 1;
        break;
      }
      if (!note_overtake(path, step, guarded(path, step))) return Next::end;
      has_loaded = true;
    }
    path.pc = i;
    Next next = do_step(path, step);
    while (next == Next::again) next = do_step(path, step);
    path.pc = first;
    if (next != Next::step) return next;
  }
  if (has_loaded) return Next::pause;
  if (!is_behind) return overtake(path);
  block_.skip(static_cast<std::uint64_t>(end - first));
  path.pc = end + 1;
  path.overtaken_by = -1;
  return Next::moved;
}

}  // namespace warpbit::grid
