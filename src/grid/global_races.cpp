// SPDX-License-Identifier: Apache-2.0
#include "grid/global_races.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block/shape.hpp"
#include "grid/race_words.hpp"
#include "grid/reach.hpp"

namespace warpbit::grid {

namespace {

// Of lanes that were not together.
KernelRule rule_of(const GlobalConflict& found) {
  return is_stale(found) ? KernelRule::non_coherent_load : block::rule_of_race(found.flaw, found.misfit);
}

}  // namespace

// The side that comes first by the numbers of clusters is the first one, where no flag says which it is. Of strong accesses a load has
// found a store.
void GlobalRaces::add(const GlobalConflict& found) {
  GlobalConflict one = found;
  const bool is_read_behind = one.are_strong && one.misfit == block::Misfit::none;
  if (!is_read_behind && !one.flaw && one.told_warp < 0 && one.now.cluster < one.before.cluster)
    std::swap(one.now, one.before);
  const std::int32_t before = one.before.site % statements_, now = one.now.site % statements_;
  const Key key{std::min(before, now), std::max(before, now), rule_of(one)};
  const auto rank = [](const GlobalConflict& of) {
    return std::tuple(of.before.cluster, of.now.cluster, of.before.thread, of.now.thread, of.byte);
  };
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = found_.try_emplace(key, one);
  if (!is_new && rank(one) < rank(at->second)) at->second = one;
}

std::vector<GlobalConflict> GlobalRaces::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<GlobalConflict> out;
  for (const auto& [key, one] : found_) out.push_back(one);
  return out;
}

Extent first_block(const Grid& grid, std::uint64_t cluster) {
  const Extent &blocks = grid.blocks, &n = grid.cluster;
  const std::uint32_t x = blocks[0] / n[0], y = blocks[1] / n[1];
  return {static_cast<std::uint32_t>(cluster % x) * n[0], static_cast<std::uint32_t>(cluster / x % y) * n[1],
          static_cast<std::uint32_t>(cluster / x / y) * n[2]};
}

namespace {

block::Cluster shape_of(const Grid& grid) {
  const Extent& threads = grid.threads;
  return block::Cluster(1, static_cast<int>(threads[0] * threads[1] * threads[2]));
}

// Of a side in another cluster, or a flag's.
template <class Side>
device::Index3 block_of(const Grid& grid, const Side& side) {
  const Extent& n = grid.cluster;
  const Extent first = first_block(grid, side.cluster);
  const auto rank = static_cast<std::uint64_t>(side.thread / shape_of(grid).stride());
  const device::Index3 at = block::position(rank, {n[0], n[1], n[2]});
  return {first[0] + at.x, first[1] + at.y, first[2] + at.z};
}
std::string name_elsewhere(const Grid& grid, const GlobalSide& side) {
  const block::Cluster shape = shape_of(grid);
  const device::Index3 at = block_of(grid, side);
  return fmt::format("{} of block ({}, {}, {})", shape.name(side.thread % shape.stride(), 0), at.x, at.y, at.z);
}

// "bytes 12 to 15 of the array of 'out'"
std::string conflict_bytes(const Grid& grid, const std::byte* byte, std::size_t bytes) {
  const GlobalMemory::Range& range = grid.memory.range_of(byte);
  return range.part(static_cast<std::uint64_t>(byte - range.data), bytes);
}
std::string conflict_bytes(const Grid& grid, const GlobalConflict& found) {
  return conflict_bytes(grid, found.byte, found.bytes);
}

Error error_of(const Grid& grid, const GlobalConflict& found, std::string_view who, block::Scope reach,
               std::string_view advice, std::string_view cause = {}) {
  const std::string first =
      fmt::format("{} {} {} by {}", conflict_bytes(grid, found), found.bytes == 1 ? "was" : "were",
                  found.before.writes ? "written" : "read", who);
  if (found.before.non_coherent || found.now.non_coherent)
    return {
        Errc::protocol_violation,
        {},
        fmt::format(
            "{} in this launch, and ld.global.nc (__ldg, const __restrict__) {}", first,
            found.now.non_coherent ? "may return the old value" : "must not read what the launch writes"),
        fmt::format("{} must be ld.global, without .nc", found.now.non_coherent ? "this load" : "that load")};
  const GlobalSide &before = found.before, &now = found.now;
  const auto use = [&](const GlobalSide& of) { return grid.program.use_at(Block::place(of.site)); };
  const bool is_weak_read = (!before.strong && !before.writes && now.strong && use(now).bytes != 0) ||
                            (!now.strong && !now.writes && before.strong && use(before).bytes != 0);
  return block::unordered({}, first,
                          {both_of(found), found.flaw, found.is_open, reach, advice, cause,
                           is_weak_read && before.cluster == now.cluster, found.misfit, use(before), use(now)});
}

// Both sides, whose rule is known.
Fault fault_of(const Grid& grid, const GlobalConflict& found, Error error, KernelRule rule) {
  Fault out = block::fault_of({found.now.thread, Block::place(found.now.site)}, std::move(error), rule);
  const GlobalMemory::Range& range = grid.memory.range_of(found.byte);
  out.address = {Space::global, static_cast<std::int64_t>(range.address) + (found.byte - range.data)};
  out.other = block::side_of(
      {found.before.thread, Block::place(found.before.site)},
      fmt::format("{} {}", found.before.writes ? "writes" : "reads", conflict_bytes(grid, found)));
  return out;
}

bool shows_flag(const GlobalConflict& found) {
  return !is_stale(found) && found.misfit != block::Misfit::scope;
}

KernelRule rule_within(const block::Order& order, const GlobalConflict& found) {
  const GlobalSide &before = found.before, &now = found.now;
  if (is_stale(found) || found.misfit == block::Misfit::scope ||
      !order.are_in_turn(before.thread, before.clock, now.thread))
    return rule_of(found);
  const bool is_one = before.site == now.site && before.clock == now.clock && before.writes;
  return is_one ? KernelRule::lanes_store_differently : KernelRule::lanes_not_synchronised;
}

// That a flag between two threads of a cluster should have. One that lacks a fence may be a lock of several blocks.
block::Scope reach_within(const Grid& grid, const GlobalConflict& found, bool of_block) {
  using Kind = block::Flaw::Kind;
  const bool lacks = found.flaw && (found.flaw->kind == Kind::fence || found.flaw->kind == Kind::relaxed);
  if (lacks && grid.blocks != grid.cluster) return block::Scope::gpu;
  return of_block ? block::Scope::cta : block::Scope::cluster;
}

}  // namespace

void place_elsewhere(const Grid& grid, std::uint64_t cluster, int thread, FaultSide& side) {
  side.warp %= shape_of(grid).stride() / block::kWarp;
  side.elsewhere = block_of(grid, block::FlagUse{.cluster = cluster, .thread = thread});
}

Fault fault_within(const Grid& grid, const block::Cluster& cluster, const GlobalConflict& found) {
  const int rank = cluster.rank_of(found.now.thread), other = cluster.rank_of(found.before.thread);
  const bool of_warp = found.before.thread / block::kWarp == found.now.thread / block::kWarp;
  const KernelRule rule = rule_within(cluster.order, found);
  Error error =
      error_of(grid, found, cluster.name(found.before.thread, rank), reach_within(grid, found, rank == other),
               of_warp         ? must_meet(grid, found)
               : rank != other ? "a barrier.cluster, or a flag of .cluster scope, must come between them"
                               : "a __syncthreads must come between them");
  if (rule == KernelRule::lanes_store_differently) {
    error.seen =
        fmt::format("lanes {} and {} store different values to {} ({})", found.before.thread % block::kWarp,
                    found.now.thread % block::kWarp, conflict_bytes(grid, found), kWhichStays);
    error.accepted = kOneLaneStores;
  }
  Fault out = fault_of(grid, found, std::move(error), rule);
  if (rule == KernelRule::data_race && found.before.writes && found.now.writes)
    out.error.accepted = block::one_must_store(out);
  if (rule != KernelRule::lanes_store_differently && shows_flag(found)) block::add_flag(out, found.flaw);
  return out;
}

Fault fault_unfenced(const Grid& grid, const block::Cluster& cluster, const GlobalConflict& found) {
  const bool is_near = found.before.cluster == found.now.cluster;
  const std::string who = is_near ? cluster.name(found.before.thread, cluster.rank_of(found.now.thread))
                                  : name_elsewhere(grid, found.before);
  Fault out = fault_of(
      grid, found,
      {Errc::protocol_violation,
       {},
       fmt::format(
           "{} {} written by {} through the generic proxy, and no fence.proxy.async that orders that write came "
           "before this statement",
           conflict_bytes(grid, found), found.bytes == 1 ? "was" : "were", who),
       is_near
           ? block::must_fence_proxy(found.before.thread, found.now.thread, "write")
           : "a fence.proxy.async of global memory must stand before the flag is written, or behind where it is read"},
      KernelRule::proxy_fence);
  if (is_near) return out;
  place_elsewhere(grid, found.before.cluster, found.before.thread, *out.other);
  return out;
}

Fault fault_of_copy(const Grid& grid, const async::GlobalCopies::Conflict& found, block::Who who, bool writes) {
  const GlobalMemory::Range& range = grid.memory.range_of(found.byte);
  const block::Shared& shared = found.copy.block->shared;
  Fault out = block::fault_of(
      who,
      {Errc::copy_pending,
       {},
       fmt::format("{} {} {}, and a copy of {} may still {} {}", conflict_bytes(grid, found.byte, found.bytes),
                   found.bytes == 1 ? "is" : "are", writes ? "written" : "read",
                   shared.cluster().name(found.thread, shared.rank()), found.copy.writes ? "write" : "read",
                   found.bytes == 1 ? "it" : "them"),
       async::advice(found, who.thread)},
      KernelRule::copy_pending);
  out.address = {Space::global, static_cast<std::int64_t>(range.address) + (found.byte - range.data)};
  out.other = block::side_of({found.thread, found.copy.who.at}, "issues the copy");
  return out;
}

namespace {

// A relaxed flag keeps a write behind a read whose value has been taken before, on GPUs: of 6.9 x 10^8 such reads on an H200 none
// returned what was written behind the flag, and 13,912 did whose value was taken later (tools/capture/reads_before_flags.cu).
KernelRule rule_between(const Program& program, const GlobalConflict& found) {
  const KernelRule out = rule_of(found);
  if (out != KernelRule::data_race) return out;
  const bool has_flag = found.flaw && found.flaw->kind == block::Flaw::Kind::relaxed;
  if (!has_flag || found.before.writes) return KernelRule::blocks_not_ordered;
  const int statement = number_at(program, Block::place(found.before.site));
  return is_taken_before_others(program, statement) ? KernelRule::flag_fence : KernelRule::blocks_not_ordered;
}

bool is_early(const GlobalConflict& found) {
  return found.flaw && found.flaw->kind == block::Flaw::Kind::early;
}
bool is_of_copy(const Grid& grid, const GlobalConflict& found) {
  const ptx::Statement& before = statement_of(origin_at(grid.program, Block::place(found.before.site)));
  return found.before.writes && before.is->does == ptx::Does::copy;
}

// Why a fault is told elsewhere than at the later access, and where.
struct CauseOf {
  device::Index3 block;
  block::Who who;
  block::Unordered::Words words;
};
// One use of a flag, if the other one is right; its release, if that stands before the access of its thread. In a loop it may be the
// release of an earlier round.
std::optional<CauseOf> cause_of(const Grid& grid, const GlobalConflict& found) {
  const int stride = shape_of(grid).stride();
  if (flag_store(grid, found) == &found.before)
    return CauseOf{block_of(grid, found.before),
                   {found.before.thread % stride, Block::place(found.before.site)},
                   {"this is a plain store to a flag, for which a load of another block waits",
                    fmt::format("it {}", kStrongStore)}};
  if (!found.flaw || !shows_flag(found)) return std::nullopt;
  if (const block::FlagUse* const use = block::at_fault(*found.flaw))
    return CauseOf{block_of(grid, *use),
                   {use->thread % stride, use->at},
                   block::words_of(*found.flaw, block::Scope::gpu, grid.program.use_at(use->at).scope)};
  if (!is_early(found) || !found.flaw->write.is_own || is_of_copy(grid, found)) return std::nullopt;
  const block::FlagUse& release = found.flaw->write;
  if (leads_to(grid.program, number_at(grid.program, Block::place(found.before.site)),
               number_at(grid.program, release.at), false))
    return std::nullopt;
  return CauseOf{block_of(grid, release),
                 {release.thread % stride, release.at},
                 block::words_of_early(*found.flaw, found.before.writes)};
}

// At its cause; the accesses and the uses of the flag that are elsewhere follow.
Fault told_at(const Grid& grid, Fault fault, const GlobalConflict& found, CauseOf cause) {
  const int stride = shape_of(grid).stride();
  std::vector<FaultSide> related;
  const auto add = [&](FaultSide side, const device::Index3& of) {
    if (side.at == cause.who.at && of == cause.block) return;
    side.elsewhere = of == cause.block ? std::nullopt : std::optional(of);
    related.push_back(std::move(side));
  };
  add(*fault.other, block_of(grid, found.before));
  const block::Flaw flaw = found.flaw.value_or(block::Flaw());
  for (const block::FlagUse* use : {&flaw.write, &flaw.read})
    if (use->thread >= 0)
      add(block::side_of({use->thread % stride, use->at}, block::flag_text(flaw, *use)), block_of(grid, *use));
  const Errc code = fault.error.code;
  Fault out = block::told_at_cause(std::move(fault), cause.who,
                                   {code, {}, std::move(cause.words.cause), std::move(cause.words.advice)});
  out.block = cause.block;
  const device::Index3 later = block_of(grid, found.now);
  out.other->elsewhere = later == cause.block ? std::nullopt : std::optional(later);
  out.related = std::move(related);
  name_statement(grid.program, out);
  return out;
}

}  // namespace

Fault fault_between(const Grid& grid, const GlobalConflict& found) {
  const block::Cluster shape = shape_of(grid);
  const std::string who = name_elsewhere(grid, found.before);
  const KernelRule rule = rule_between(grid.program, found);
  const BetweenBlocks words = between_blocks(grid, found);
  Error error = error_of(grid, found, who, block::Scope::gpu, words.advice, words.cause);
  if (is_early(found) && is_of_copy(grid, found))
    error.accepted =
        "that copy must be complete (cp.async.bulk.wait_group 0, without .read) before the release of the flag";
  Fault out = fault_of(grid, found, std::move(error), rule);
  out.block = block_of(grid, found.now);
  out.warp %= shape.stride() / block::kWarp;
  out.other->warp %= shape.stride() / block::kWarp;
  out.other->elsewhere = block_of(grid, found.before);
  if (found.flaw && shows_flag(found))
    for (const block::FlagUse* use : {&found.flaw->write, &found.flaw->read}) {
      if (use->thread < 0) continue;
      FaultSide& side = out.related.emplace_back(
          block::side_of({use->thread % shape.stride(), use->at}, block::flag_text(*found.flaw, *use)));
      if (const device::Index3 at = block_of(grid, *use); at != out.block) side.elsewhere = at;
    }
  name_statement(grid.program, out);
  if (std::optional<CauseOf> cause = cause_of(grid, found))
    out = told_at(grid, std::move(out), found, *std::move(cause));
  locate(grid.program, out);
  return out;
}

}  // namespace warpbit::grid
