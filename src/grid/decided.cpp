// SPDX-License-Identifier: Apache-2.0
#include "grid/decided.hpp"

#include <algorithm>

#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

constexpr int kFarthest = 2'000;  // steps behind the guard

// Of its lanes, and of those alone.
bool is_private(const Program& program, const Step& step) {
  const ptx::Does what = does(program, step);
  if (what == ptx::Does::load && (step.access.strong || steps::matrix_move(program, step) != nullptr))
    return false;
  if (what == ptx::Does::store) return step.access.space == ptx::StateSpace::local && !step.access.generic;
  return (what == ptx::Does::load || stays_in_lane(what)) && steps::what_runs(step) != steps::tensor;
}

// The steps on the ways from a step to another one, the first included and the last not.
std::optional<std::vector<int>> ways(const Program& program, int from, int to) {
  std::vector<int> out = {from}, next;
  std::vector<bool> seen(program.steps.size());
  seen[static_cast<std::size_t>(from)] = seen[static_cast<std::size_t>(to)] = true;
  for (std::size_t i = 0; i < out.size(); ++i) {
    next.clear();
    followers(program, out[i], next);
    for (const int one : next) {
      if (one < 0 || one >= std::ssize(seen)) return std::nullopt;
      if (seen[static_cast<std::size_t>(one)]) continue;
      seen[static_cast<std::size_t>(one)] = true;
      if (!is_private(program, program.steps[static_cast<std::size_t>(one)])) return std::nullopt;
      out.push_back(one);
    }
  }
  return out;
}

}  // namespace

std::optional<Decided> decided_by(const Program& program, int step) {
  if (!is_private(program, program.steps[static_cast<std::size_t>(step)])) return std::nullopt;
  const int end = std::min(step + kFarthest, static_cast<int>(program.steps.size()));
  for (int join = step + 1; join < end; ++join) {
    const std::optional<std::vector<int>> all = ways(program, step, join);
    if (!all) continue;
    Decided out;
    out.join = join;
    for (const int one : *all) {
      const Step& way = program.steps[static_cast<std::size_t>(one)];
      out.stores = out.stores || does(program, way) == ptx::Does::store;
      for_each_use(program, way, [&](const Place& place, Use use) {
        if (use == Use::result && std::ranges::find(out.written, place) == out.written.end())
          out.written.push_back(place);
      });
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace warpbit::grid
