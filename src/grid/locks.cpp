// SPDX-License-Identifier: Apache-2.0
#include "grid/locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/global_races.hpp"
#include "grid/reach.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"

namespace warpbit::grid {
namespace {

using ptx::Does;

constexpr std::size_t kMostInner = 4096;   // locks of which nests are kept
constexpr std::size_t kMostNests = 64;     // of each
constexpr std::ptrdiff_t kMostLocks = 16;  // of a thread: what it takes for good is no lock

/// Loops that a thread leaves with a lock alone.
class SpinSearch {
 public:
  SpinSearch(const Program& program, const FunctionCode& function)
      : program_(program),
        first_(static_cast<int>(function.first_step)),
        end_(static_cast<int>(program.steps.size())),
        sets_(static_cast<std::size_t>(function.predicates)) {
    for (int i = first_; i < end_; ++i)
      for_each_use(program_, at(i), [&](const Place& place, Use use) {
        if (use == Use::result && place.kind == Place::Kind::predicate && place.slot < sets_.size())
          sets_[place.slot].push_back(&at(i));
      });
  }

  /// What an atomic must have returned for its loop to end, if that is a loop of it alone, or of one at the same place that is
  /// known: compilers put the first try before the loop.
  std::optional<Place> free_value(int atomic) const {
    const Place& old = at(atomic).place[0];
    if (old.kind != Place::Kind::reg) return std::nullopt;
    std::optional<Place> out;
    std::vector<int> todo = {atomic + 1};
    std::vector<bool> seen(static_cast<std::size_t>(end_ - first_));
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      if (i == atomic || tries_again(atomic, i)) continue;
      if (i < first_ || i >= end_ || !is_harmless(i) || writes(program_, at(i), at(atomic).place[2]))
        return std::nullopt;
      if (seen[static_cast<std::size_t>(i - first_)]) continue;
      seen[static_cast<std::size_t>(i - first_)] = true;
      const Step& step = at(i);
      if (does(program_, step) == Does::branch && step.guard >= 0)
        if (const Step* const test = tested(step, old)) {
          out = test->place[3];
          const bool is_ne = operation(*test).compare == scalar::Compare::ne;
          todo.push_back(is_ne != step.guard_negated ? step.target : i + 1);
          continue;
        }
      followers(program_, i, todo);
    }
    return out;
  }

 private:
  const Step& at(int i) const { return program_.steps[static_cast<std::size_t>(i)]; }
  const scalar::Operation& operation(const Step& step) const {
    return program_.operations[static_cast<std::size_t>(step.extra)];
  }
  bool is_harmless(int i) const {
    const Does what = does(program_, at(i));
    return what == Does::load || what == Does::fence || what == Does::hint || stays_in_lane(what);
  }
  bool tries_again(int first, int i) const {
    if (i < first_ || i >= end_ || does(program_, at(i)) != Does::atomic || !at(i).place[kFreeValue].exists())
      return false;
    return at(i).place[2].is_same_as(at(first).place[2]) && at(i).access.offset == at(first).access.offset;
  }
  // The comparison of the old value with a constant, for equality, that alone decides a branch.
  const Step* tested(const Step& branch, const Place& old) const {
    const std::vector<const Step*>& sets = sets_[static_cast<std::size_t>(branch.guard)];
    if (sets.size() != 1 || steps::what_runs(*sets[0]) != steps::compute || sets[0]->extra < 0) return nullptr;
    const scalar::Operation& of = operation(*sets[0]);
    const bool is_test = of.function == scalar::Function::setp && of.boolean == scalar::Boolean::none &&
                         (of.compare == scalar::Compare::eq || of.compare == scalar::Compare::ne);
    return is_test && sets[0]->place[2].is_same_as(old) && sets[0]->place[3].kind == Place::Kind::constant
               ? sets[0]
               : nullptr;
  }

  const Program& program_;
  int first_, end_;
  std::vector<std::vector<const Step*>> sets_;  // of each predicate, the steps that set it
};

}  // namespace

void find_spin_locks(Program& program, const FunctionCode& function) {
  std::optional<SpinSearch> search;
  for (std::size_t i = program.steps.size();
       i-- > static_cast<std::size_t>(function.first_step);) {  // loops first
    Step& step = program.steps[i];
    if (does(program, step) != Does::atomic || steps::what_runs(step) != steps::atomic) continue;
    const auto kind = static_cast<steps::Atomic>(step.target);
    if (kind != steps::Atomic::compare && kind != steps::Atomic::exchange) continue;
    if (!search) search.emplace(program, function);
    if (const std::optional<Place> free = search->free_value(static_cast<int>(i)))
      step.place[kFreeValue] = *free;
  }
}

std::vector<std::shared_ptr<LockNest>> LockNests::unordered(const Lock& inner, const block::Order& order,
                                                            std::uint64_t cluster, int me) const {
  std::vector<std::shared_ptr<LockNest>> out;
  const std::lock_guard lock(mutex_);
  const auto found = by_inner_.find(inner);
  if (found == by_inner_.end()) return out;
  for (const auto& one : found->second) {
    const bool is_near = one->cluster == cluster;
    if (is_near && one->thread / block::kWarp == me / block::kWarp) continue;
    const bool is_before = is_near ? order.before(one->thread, one->clock, me)
                                   : order.before(one->cluster, one->thread, one->clock, me);
    if (!is_before) out.push_back(one);
  }
  return out;
}

void LockNests::add(std::shared_ptr<LockNest> one) {
  const std::lock_guard lock(mutex_);
  if (by_inner_.size() == kMostInner && !by_inner_.contains(one->inner)) return;
  auto& all = by_inner_[one->inner];
  std::erase_if(all, [&](const auto& other) {
    return other->outer == one->outer && other->cluster == one->cluster && other->thread == one->thread;
  });
  if (all.size() < kMostNests) all.push_back(std::move(one));
}

void HeldLocks::take(const Lock& lock, std::int32_t site, LockNests& nests, const block::Order& order,
                     std::uint64_t cluster, int me) {
  forget(lock, me);
  const auto is_mine = [&](const Held& one) { return one.thread == me; };
  if (std::ranges::count_if(held_, is_mine) == kMostLocks) {
    const Lock oldest = std::ranges::find_if(held_, is_mine)->lock;
    forget(oldest, me);
    std::erase_if(open_, [&](const Open& one) { return one.is_of(oldest, me); });
  }
  std::vector<Lock> gates;
  for (const Held& outer : held_) {
    if (outer.thread != me) continue;
    const std::shared_ptr<LockNest> nest(
        new LockNest{outer.lock, lock, gates, cluster, me, order.clock(me), outer.site, site});
    gates.push_back(outer.lock);
    const auto against = std::ranges::find_if(outer.others, [&](const auto& other) {
      return other->outer == lock &&
             std::ranges::find_first_of(other->gates, nest->gates) == other->gates.end();
    });
    nests.add(nest);
    open_.push_back({nest, against == outer.others.end() ? nullptr : *against});
  }
  held_.push_back({lock, me, site, nests.unordered(lock, order, cluster, me)});
}

std::vector<HeldLocks::Inversion> HeldLocks::release(const Lock& lock, int me) {
  std::vector<Inversion> out;
  if (!forget(lock, me)) return out;
  for (Open& one : open_)
    if (one.is_of(lock, me) && --one.held == 0) {
      one.nest->is_done = true;
      if (one.against != nullptr && one.against->is_done) out.push_back({one.against, one.nest});
    }
  std::erase_if(open_, [](const Open& one) { return one.held == 0; });
  return out;
}

std::string name_of(const Grid& grid, const Lock& lock) {
  if (lock.memory == 0) {
    const GlobalMemory::Range* const range = grid.memory.find(lock.address, 1);
    return range == nullptr ? fmt::format("{:#x}", lock.address)
                            : fmt::format("byte {} of {}", lock.address - range->address, range->name);
  }
  const auto byte = static_cast<std::int64_t>(lock.address & ((std::uint64_t{1} << kRankShift) - 1));
  const std::string name = name_of_shared(grid.program, byte);
  return name.empty() ? fmt::format("{:#x}", byte) : fmt::format("{:#x} ({})", byte, name);
}

namespace steps {

namespace {

Lock lock_at(const Block& block, const Target& at, Block& of) {
  if (at.space != ptx::StateSpace::shared) return {0, at.address};
  return {block.cluster().number() + 1, static_cast<std::uint64_t>(of.rank()) << kRankShift |
                                            static_cast<std::uint64_t>(at.data - of.shared().data())};
}

}  // namespace

void Records::takes_lock(const Target& at, int lane) {
  if (!block_.checks() || block_.grid().locks == nullptr || at.space == ptx::StateSpace::local ||
      !block_.is_told(KernelRule::lock_order))
    return;
  warp_.locks().take(lock_at(block_, at, of(at)), warp_.site(step_), *block_.grid().locks,
                     block_.accesses().order(), block_.cluster().number(),
                     Block::who(warp_, step_, lane).thread);
}

bool Records::releases_lock(const Target& at, int lane) {
  const Grid& grid = block_.grid();
  for (const auto& [before, now] :
       warp_.locks().release(lock_at(block_, at, of(at)), Block::who(warp_, step_, lane).thread)) {
    const std::string outer = name_of(grid, now->outer), inner = name_of(grid, now->inner);
    const auto side = [&](const LockNest& nest, std::int32_t site, std::string what) {
      FaultSide out = block::side_of({nest.thread, Block::place(site)}, std::move(what));
      if (nest.cluster == block_.cluster().number()) return out;
      place_elsewhere(grid, nest.cluster, nest.thread, out);
      return out;
    };
    Fault out = block::fault_of(
        {now->thread, Block::place(now->inner_site)},
        {Errc::protocol_violation,
         {},
         fmt::format("it takes the lock at {} and holds the one at {}, and another thread takes the two in "
                     "the opposite order, so each may wait for the other for ever",
                     inner, outer),
         "all threads must take these locks in one order"},
        KernelRule::lock_order);
    out.other = side(*before, before->inner_site,
                     fmt::format("takes the lock at {} and holds the one at {}", outer, inner));
    out.related.push_back(side(*now, now->outer_site, "takes the first lock"));
    out.related.push_back(side(*before, before->outer_site, "takes the first lock"));
    if (!allowed(std::move(out))) return false;
  }
  return true;
}

}  // namespace steps
}  // namespace warpbit::grid
