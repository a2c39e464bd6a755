// SPDX-License-Identifier: Apache-2.0
#include "grid/freedom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "grid/answers.hpp"
#include "grid/block.hpp"
#include "grid/resolver.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"
#include "ptx/source.hpp"
#include "ptx/special.hpp"

namespace warpbit::grid {
namespace {

using ptx::Does;
using When = Freedom::When;

// ---- Which statements

/// A step, and what rules ask of it.
struct Seen {
  const Program& program;
  const Step& step;
  const Origin& origin() const { return program.origins[static_cast<std::size_t>(step.statement)]; }
  bool has(std::string_view word) const {
    const auto words = words_of(*origin().function, statement_of(origin()));
    return std::ranges::find(words, word) != words.end();
  }
};

bool any(const Seen&) {
  return true;
}

// Integers commute, and so do minima, maxima and the logic of bits.
bool adds_floats(const Seen& seen) {
  if (!seen.has("add")) return false;
  constexpr std::array<std::string_view, 6> kFloats = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"};
  return std::ranges::any_of(kFloats, [&](std::string_view type) { return seen.has(type); });
}

// Of a tensor the map has the type.
bool adds_in_bulk(const Seen& seen) {
  return seen.has("reduce") && (adds_floats(seen) || (seen.has("tensor") && seen.has("add")));
}

bool returns_what_is_read(const Seen& seen) {
  return seen.step.result_is_read;
}

// The last one remains; a constant is what all of them leave.
bool replaces(const Seen& seen) {
  return seen.has("cas") || (seen.has("exch") && seen.step.place[3].kind != Place::Kind::constant);
}

// A load by which a thread may wait for others.
bool polls(const Seen& seen) {
  const ptx::StateSpace space = seen.step.access.space;
  return seen.step.access.strong && (seen.step.access.generic || space == ptx::StateSpace::global);
}

bool has_special(const Seen& seen, std::span<const std::string_view> names) {
  const ptx::Statement& statement = statement_of(seen.origin());
  const std::vector<ptx::Operand>& all = seen.origin().function->operands;
  const auto is_named = [&](const ptx::Operand& operand, const auto& self) -> bool {
    if (operand.kind == ptx::Operand::Kind::special)
      return std::ranges::find(names, std::string_view(operand.text)) != names.end();
    for (int i = 0; i < operand.count; ++i)
      if (self(all[static_cast<std::size_t>(operand.first + i)], self)) return true;
    return false;
  };
  for (int i = 0; i < statement.operands; ++i)
    if (is_named(all[static_cast<std::size_t>(statement.first_operand + i)], is_named)) return true;
  return false;
}
bool reads_time(const Seen& seen) {
  constexpr std::array<std::string_view, 6> kNames = {"%clock",       "%clock_hi",       "%clock64",
                                                      "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
  return has_special(seen, kNames);
}
bool reads_where_it_runs(const Seen& seen) {
  constexpr std::array<std::string_view, 7> kNames = {"%smid",
                                                      "%nsmid",
                                                      "%warpid",
                                                      "%nwarpid",
                                                      "%gridid",
                                                      "%locality_domain_id",
                                                      "%locality_domain_supplemental_sm"};
  return has_special(seen, kNames);
}

bool reads_reserved(const Seen& seen) {
  constexpr std::array<std::string_view, 2> kNames = {"%reserved_smem_offset_end", "%reserved_smem_offset_1"};
  return has_special(seen, kNames);
}

/// Of statements that do this, or of all; the first rule that applies is taken.
struct Rule {
  std::optional<Does> does;
  bool (*applies)(const Seen&);
  When when;
  std::string_view why;
};
constexpr Rule kRules[] = {
    {Does::atomic, adds_floats, When::atomics, "the sum depends on the order of the additions"},
    {Does::reduction, adds_floats, When::atomics, "the sum depends on the order of the additions"},
    {Does::copy, adds_in_bulk, When::atomics, "a sum of floats depends on the order of the additions"},
    {Does::copy, [](const Seen& seen) { return seen.has("reduce"); }, When::atomics, {}},
    {Does::atomic, returns_what_is_read, When::atomics, "the old value depends on the order of the threads"},
    {Does::atomic, replaces, When::atomics, "what remains depends on the order of the threads"},
    {Does::atomic, any, When::atomics, {}},
    {Does::reduction, any, When::atomics, {}},
    {Does::load, polls, When::threads, "the value depends on when other threads write it"},
    {Does::launch_control, [](const Seen& seen) { return seen.has("try_cancel"); }, When::always,
     "which clusters are taken, and by whom, is left to the GPU"},
    {Does::active_mask, any, When::threads, "which lanes are together is left to the GPU"},
    {{}, reads_time, When::always, "the time differs from run to run"},
    {{}, reads_reserved, When::always, "what is reserved of shared memory is left to the driver"},
    {{}, reads_where_it_runs, When::always, "where a thread runs is left to the GPU"},
};

}  // namespace

void find_read_results(Program& program, const FunctionCode& function) {
  const std::span<Step> steps = std::span(program.steps).subspan(static_cast<std::size_t>(function.first_step));
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].run == steps::mbarrier) {
      const int at = function.first_step + static_cast<int>(i);
      steps[i].result_is_read = is_read_behind(program, at);
      steps[i].may_go_on = steps[i].result_is_read && goes_on_when_false(program, at);
    }
  const auto is_atomic = [&](const Step& step) { return does(program, step) == ptx::Does::atomic; };
  if (std::ranges::none_of(steps, is_atomic)) return;
  std::vector<bool> read(static_cast<std::size_t>(function.slots));
  const auto take = [&](const Place& place) {
    if (place.kind == Place::Kind::reg) read[place.slot] = true;
  };
  for (const Step& step : steps) {
    for (std::size_t i = 2; i < step.place.size(); ++i) take(step.place[i]);
    for_each_use(program, step, [&](const Place& place, Use use) {
      if (use != Use::result) take(place);
    });
  }
  for (Step& step : steps)
    if (is_atomic(step))
      for_each_use(program, step, [&](const Place& place, Use use) {
        step.result_is_read = step.result_is_read || (use == Use::result && read[place.slot]);
      });
}

void find_freedoms(Program& program) {
  std::map<std::pair<Origin, const Rule*>, std::int32_t>
      known;  // of a loop that is unrolled the rounds together
  for (std::size_t f = 0; f < program.functions.size(); ++f) {
    for (Step& step : steps_of(program, f)) {
      if (step.statement < 0) continue;
      const Seen seen{program, step};
      const auto rule = std::ranges::find_if(kRules, [&](const Rule& one) {
        return (!one.does || *one.does == does(program, step)) && one.applies(seen);
      });
      if (rule == std::end(kRules)) continue;
      const std::pair key(program.origins[static_cast<std::size_t>(step.statement)], &*rule);
      const auto [at, is_new] = known.try_emplace(key, static_cast<std::int32_t>(program.freedoms.size()));
      if (is_new) program.freedoms.push_back({step.statement, rule->when, rule->why});
      step.freedom = at->second;
      steps::note(step);
    }
  }
}

// ---- What a launch has executed

namespace {

ptx::OrderDependence dependence(const Program& program, const Freedom& freedom) {
  const Origin& origin = program.origins[static_cast<std::size_t>(freedom.statement)];
  const ptx::Statement& statement = statement_of(origin);
  const SourceLink at = source_of(*program.module, *origin.function, statement);
  return {statement.position.line, form_of(origin), std::string(freedom.why), at.file, at.line};
}

}  // namespace

std::vector<ptx::OrderDependence> left_open(const Program& program, std::span<const Executors> executors,
                                            std::uint64_t threads) {
  Executors atomics;
  for (std::size_t i = 0; i < executors.size(); ++i)
    if (const std::uint64_t who = executors[i].who();
        who != Executors::kNone && program.freedoms[i].when == When::atomics)
      atomics.add(who - 1);
  std::vector<ptx::OrderDependence> out;
  for (std::size_t i = 0; i < executors.size(); ++i) {
    const Freedom& freedom = program.freedoms[i];
    if (freedom.why.empty() || executors[i].who() == Executors::kNone) continue;
    if (freedom.when == When::atomics && atomics.who() != Executors::kSeveral) continue;
    if (freedom.when == When::threads && threads == 1) continue;
    out.push_back(dependence(program, freedom));
  }
  std::ranges::stable_sort(out, {}, &ptx::OrderDependence::line);
  return out;
}

namespace steps {

namespace {

// Local memory at generic addresses is each thread's own: nobody else decides what it reads there.
bool is_own_memory(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  // red.async has a list of places
  bool out = step.access.generic && ptx::accesses_memory(does(warp.program(), step)) && step.place[2].exists();
  for_each_lane(out ? lanes : 0, [&](int lane) {
    out = out && address_of(warp, path, step, 2, lane) - kLocalWindow < kWindowBytes;
  });
  return out;
}

}  // namespace

void note(Step& step) {
  if (step.noted == nullptr) step.noted = std::exchange(step.run, noted);
}

Next noted(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (step.freedom >= 0 && !is_own_memory(warp, path, step, lanes))
    warp.block().executed(step.freedom, warp, lanes);
  if (step.touch >= 0 && !warp.block().touches(warp, path, step, lanes)) return Next::end;
  if (step.uses_load && !use_load(warp, path, step)) return Next::end;
  return step.noted(warp, path, step, lanes);
}

}  // namespace steps
}  // namespace warpbit::grid
