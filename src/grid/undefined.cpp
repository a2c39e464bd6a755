// SPDX-License-Identifier: Apache-2.0
#include "grid/undefined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "grid/undefined_bits.hpp"

namespace warpbit::grid {

// ---- Registers

void Undefined::begin() {
  active_ = true;
  warp_.reserve_masks(masks_);
  slot_cause_.resize(masks_.slots());
  unknown_.resize(masks_.slots());
  predicate_cause_.resize(masks_.predicates());
}

void Undefined::enter(const Path& path, const FunctionCode& function, Lanes lanes) {
  if (!warp_.block().checks() || (!active_ && function.unwritten.empty())) return;
  begin();
  const auto clear = [&](std::uint32_t* mask) { for_each_lane(lanes, [&](int lane) { mask[lane] = 0; }); };
  for (int i = 0; i < function.slots; ++i) clear(masks_.slot(path.frame + static_cast<std::uint32_t>(i)));
  for (int i = 0; i < function.predicates; ++i)
    masks_.predicate(path.predicates + static_cast<std::uint32_t>(i)) &= ~lanes;
  LaneBits all;
  all.fill(~std::uint64_t{0});
  for (const Place& place : function.unwritten) {
    take(path, place, lanes, all);
    cause_of(path, place) = 0;
  }
}

std::uint64_t Undefined::read(const Path& path, const Place& place, int lane) {
  if (place.kind == Place::Kind::none || place.kind == Place::Kind::constant) return 0;
  if (place.kind == Place::Kind::predicate) return masks_.predicate(path.predicates + place.slot) >> lane & 1;
  return lane_bits(masks_.slot(path.frame + place.slot), place.bits, lane);
}

void Undefined::write(const Path& path, const Place& place, int lane, std::uint64_t bits) {
  if (place.kind == Place::Kind::none) return;
  if (place.kind == Place::Kind::predicate) {
    std::uint32_t& to = masks_.predicate(path.predicates + place.slot);
    to = (to & ~(Lanes{1} << lane)) | (bits != 0 ? Lanes{1} << lane : 0);
    return;
  }
  set_lane_bits(masks_.slot(path.frame + place.slot), place.bits, lane, bits);
  if (bits != 0) unknown_[path.frame + place.slot][static_cast<std::size_t>(lane)] = ++unknowns_;
}

std::uint64_t Undefined::unknown(const Path& path, const Place& place, int lane) {
  if (place.kind != Place::Kind::reg || place.bits > 64 || read(path, place, lane) == 0) return 0;
  return unknown_[path.frame + place.slot][static_cast<std::size_t>(lane)];
}

namespace {

// A register of 128 bits is two of 64.
template <class F>
void for_each_half(const Place& place, F f) {
  if (place.bits <= 64) return f(place);
  for (const Place& half : halves(place)) f(half);
}

}  // namespace

void Undefined::take(const Path& path, const Place& place, Lanes lanes, const LaneBits& bits) {
  for_each_half(place, [&](const Place& half) {
    for_each_lane(lanes, [&](int lane) { write(path, half, lane, bits[static_cast<std::size_t>(lane)]); });
  });
}

Lanes Undefined::lanes_of(const Path& path, const Place& place, Lanes lanes) {
  Lanes out = 0;
  for_each_half(place, [&](const Place& half) {
    for_each_lane(lanes, [&](int lane) { out |= Lanes{read(path, half, lane) != 0} << lane; });
  });
  return out;
}

// Once no register has undefined bits, nothing is followed any more.
void Undefined::settle() {
  constexpr int kSteps = 64;
  if (++steps_ % kSteps != 0 || !open_.empty()) return;
  const auto has_some = [](std::uint32_t bits) { return bits != 0; };
  for (std::uint32_t i = 0; i < masks_.slots(); ++i)
    if (std::any_of(masks_.slot(i), masks_.slot(i) + kLanes, has_some)) return;
  for (std::uint32_t i = 0; i < masks_.predicates(); ++i)
    if (masks_.predicate(i) != 0) return;
  active_ = false;
}

// ---- Steps

bool Undefined::check_guard(Path& path, const Step& step, Lanes lanes) {
  const Place guard{Place::Kind::predicate, 1, step.guard_negated, static_cast<std::uint32_t>(step.guard)};
  const Lanes undefined = lanes_of(path, guard, lanes);
  return undefined == 0 || decides(path, guard, undefined) || fault(path, step, guard, undefined);
}

// Whether nothing depends on a value that was read in a race but registers and local memory of these lanes, behind this step or
// where the ways meet that it decides.
bool Undefined::decides(const Path& path, const Place& place, Lanes lanes) {
  const std::uint32_t cause = cause_of(path, place);
  if (!causes_[cause].is_of_race()) return false;
  auto found = decided_.find(path.pc);
  if (found == decided_.end()) found = decided_.emplace(path.pc, decided_by(warp_.program(), path.pc)).first;
  if (!found->second) return false;
  const Decided* const what = &*found->second;
  const auto is_same = [&](const Open& one) { return one.what == what && one.frame == path.frame; };
  if (const auto open = std::ranges::find_if(open_, is_same); open != open_.end())
    open->lanes |= lanes;
  else
    open_.push_back({what, path.frame, lanes, cause});
  return true;
}

void Undefined::arrive(const Path& path) {
  LaneBits all;
  all.fill(~std::uint64_t{0});
  for (Open& one : open_) {
    const Lanes lanes = one.lanes & path.lanes;
    if (one.what->join != path.pc || one.frame != path.frame || lanes == 0) continue;
    one.lanes &= ~lanes;
    for (const Place& place : one.what->written) {
      take(path, place, lanes, all);
      cause_of(path, place) = one.cause;
    }
    if (one.what->stores) lose_frame(path, lanes, causes_[one.cause]);
  }
  std::erase_if(open_, [](const Open& one) { return one.lanes == 0; });
}

// Nobody knows what local memory has: of this call, and of those that may have passed an address of theirs.
void Undefined::lose_frame(const Path& path, Lanes lanes, const Cause& cause) {
  const std::int64_t bytes =
      path.local + warp_.program().functions[static_cast<std::size_t>(path.function)].local_bytes;
  for_each_lane(lanes, [&](int lane) {
    if (std::byte* const defined = warp_.defined(lane, 0, bytes)) std::fill_n(defined, bytes, std::byte{0});
  });
  local_.store(0, bytes, cause);
}

namespace {

// Addresses in a window have 32 bits, whatever their registers have.
Lanes undefined_lanes(Undefined& of, const Path& path, const Step& step, const Place& place, Lanes lanes) {
  using enum ptx::StateSpace;
  const ptx::StateSpace space = step.access.space;
  const bool is_short = place.bits == 64 && !step.access.generic && place == step.place[2] &&
                        (space == shared || space == local || space == param);
  if (!is_short) return of.lanes_of(path, place, lanes);
  Lanes out = 0;
  for_each_lane(lanes, [&](int lane) {
    out |= Lanes{static_cast<std::uint32_t>(of.read(path, place, lane)) != 0} << lane;
  });
  return out;
}

}  // namespace

bool Undefined::follow(Path& path, const Step& step, Lanes lanes) {
  settle();
  pending_.clear();
  causes_pending_.clear();
  uses_.sources.clear();
  uses_.results.clear();
  const bool is_private = does(warp_.program(), step) == ptx::Does::load &&
                          step.access.space == ptx::StateSpace::local && !step.access.generic;
  const Place* missing = nullptr;
  Place first;
  Lanes without = 0, any = 0;
  for_each_use(warp_.program(), step, [&](const Place& place, Use use, Lanes counted) {
    if (use == Use::result) return uses_.results.push_back(place);
    const Lanes undefined = undefined_lanes(*this, path, step, place, lanes & counted);
    if (undefined == 0) return;
    any |= undefined;
    uses_.sources.push_back(place);
    if (use == Use::matters && missing == nullptr) first = place, missing = &first, without = undefined;
  });
  if (missing != nullptr && !(is_private && decides(path, *missing, without)) &&
      !fault(path, step, *missing, without))
    return false;
  if (any != 0) {
    const std::uint32_t cause = cause_of_results(path, step, any);
    for (const Place& place : uses_.results) causes_pending_.emplace_back(&cause_of(path, place), cause);
  }
  find_results(path, step, lanes, missing == nullptr ? any : 0);
  return true;
}

void Undefined::forget(const Path& path, const Place& place, Lanes lanes) {
  begin();
  commit();
  pending_.clear();
  causes_pending_.clear();
  LaneBits all;
  all.fill(~std::uint64_t{0});
  take(path, place, lanes, all);
  cause_of(path, place) = 0;
}

void Undefined::commit() {
  const Path all;
  for (const Result& one : pending_) {
    take(all, one.place, one.lanes, one.bits);
    for_each_lane(one.lanes, [&](int lane) {
      const auto at = static_cast<std::size_t>(lane);
      if (one.unknown[at] != 0) unknown_[one.place.slot][at] = one.unknown[at];
    });
  }
  for (const auto& [to, cause] : causes_pending_) *to = cause;
}

}  // namespace warpbit::grid
