// SPDX-License-Identifier: Apache-2.0
// Tests of barrier objects, and who has its turn when a phase is complete.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block/mbarrier.hpp"

namespace warpbit::block {

// A fresh object is as if the phase before its first one were complete. The record of accesses keeps two reads of a warp:
// those of the first and the last lane are enough, as long as the object's init is ordered before the others.
Found Mbarriers::test(std::int64_t address, const MbarrierTest& test, int warp, std::uint32_t lanes, Place at,
                      bool& is_complete) {
  constexpr std::string_view kWhat = "mbarrier.test_wait";
  const int first = std::countr_zero(lanes), last = kWarp - 1 - std::countl_zero(lanes);
  Object* object = nullptr;
  Found found = find(address, kWhat, {warp * kWarp + first, at}, object);
  if (object == nullptr) return found;
  if (shared_.records())
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest), thread = warp * kWarp + lane;
      if (lane != first && lane != last && shared_.order().before(object->made.thread, object->made_at, thread))
        continue;
      found = first_of(std::move(found), record_use(address, kWhat, {thread, at}, *object));
    }
  for (std::uint32_t rest = test.states >= 0 ? lanes : 0; rest != 0; rest &= rest - 1)
    found = first_of(std::move(found),
                     old_state(address, *object, test, {warp * kWarp + std::countr_zero(rest), at}));
  const std::uint64_t of = test.is_parity ? test.value & 1 : test.value >> 63;
  is_complete = of != static_cast<std::uint64_t>(object->phase & 1);
  if (!test.is_read) unread_[warp] = {address, {warp * kWarp + first, at}};
  if (!is_complete || !test.is_read || !shared_.records()) return found;
  object->awaited = object->phase;
  if (std::ranges::none_of(object->seen_by,
                           [&](const Arrived& one) { return one.who.thread / kWarp == warp; })) {
    const Who who{warp * kWarp + first, at};
    object->seen_by.push_back({who, object->phase - 1, shared_.order().clock(who.thread)});
  }
  waited_[warp] = {address, {warp * kWarp + first, at}};
  if (const auto failed = failed_.find(warp); failed != failed_.end() && failed->second.address == address)
    failed_.erase(failed);
  if (test.acquires && object->acquired_by == warp && object->acquired_in == object->phase) return found;
  acquire(test, warp, *object);
  if (test.acquires) {
    object->acquired_by = warp;
    object->acquired_in = object->phase;
  }
  return found;
}

// PTX manual, "mbarrier.test_wait": the phase at hand, or the one before it. All states of the thread that may be meant are older,
// if its latest one is.
Found Mbarriers::old_state(std::int64_t address, const Object& object, const MbarrierTest& test,
                           Who who) const {
  const auto kept = states_.find(Kept{address, test.states, who.thread});
  if (kept == states_.end() || kept->second.phase >= object.phase - 1) return std::nullopt;
  Fault out = *misused(
      {}, address,
      fmt::format("this state is of phase {} of {}, and phase {} is at hand", kept->second.phase, name(address),
                  object.phase),
      fmt::format("it must be the state of an arrival in phase {} or {}", object.phase - 1, object.phase), who,
      nullptr, KernelRule::mbarrier_old_state);
  out.other = side_of(kept->second.who, fmt::format("arrives in phase {}", kept->second.phase));
  return out;
}

void Mbarriers::acquire(const MbarrierTest& test, int warp, const Object& object) {
  Order& order = shared_.order();
  const Knowledge& afar = object.complete_afar;
  test.acquires ? order.acquire(warp, object.complete) : order.acquire_relaxed(warp, object.complete);
  if (afar.empty()) return;
  if (!test.acquires) return order.acquire_relaxed(warp, afar, Scope::cluster);
  if (scope_of(test.scope, test.scope_unsaid) != Scope::cta) return order.acquire(warp, afar);
  const FlagUse read{.lacks = true, .scope = Scope::cta, .unsaid = test.scope_unsaid};
  order.nearly_acquire(warp, afar, {Flaw::Kind::scope, Scope::cta, {}, read});
  // What copies and tensor instructions have done, the phase itself makes known: a wait says .cta, or nothing, which means it.
  order.acquire(warp, order.of_agents(afar));
}

void Mbarriers::pass(std::int64_t address, int warp, std::uint32_t lanes, Place at, bool is_parity) {
  const auto of = objects_.find(address);
  if (!shared_.records() || of == objects_.end()) return;
  const std::int64_t phase = of->second.phase - 1;
  const std::uint64_t arrivals = of->second.arrivals;
  Seen& seen = of->second.seen.try_emplace(warp, Seen{phase, 0}).first->second;
  const Who who{warp * kWarp + kWarp - 1 - std::countl_zero(lanes), at};
  if (phase < 0 && is_parity) early_[warp] = {address, who};
  if (!is_parity || seen.phase != phase || seen.lanes == 0)
    repeated_.erase(warp);
  else if ((seen.lanes & lanes) != 0 && repeated(warp) == nullptr)
    repeated_[warp] = {
        phase < 0
            ? fmt::format(
                  "this warp has waited for parity 1 of {} before, and no phase has been complete since, so this wait "
                  "goes on at once",
                  name(address))
            : fmt::format("this warp has waited for {} before, so this wait goes on at once",
                          phase_text(address, phase)),
        who};
  seen = {phase, seen.phase == phase ? seen.lanes | lanes : lanes, arrivals};
}

const Mbarriers::Repeated* Mbarriers::repeated(int warp) const {
  const auto found = repeated_.find(warp);
  return found == repeated_.end() ? nullptr : &found->second;
}

std::optional<Mbarriers::AtObject> Mbarriers::unread(int warp) const {
  const auto found = unread_.find(warp);
  return found == unread_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Mbarriers::AtObject> Mbarriers::failed(int warp) const {
  const auto found = failed_.find(warp);
  return found == failed_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Mbarriers::AtObject> Mbarriers::waited(int warp) const {
  const auto found = waited_.find(warp);
  return found == waited_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<int> Mbarriers::arrived_for(int warp) const {
  std::vector<int> out;
  const auto last = waited(warp);
  if (const auto found = last ? objects_.find(last->address) : objects_.end(); found != objects_.end())
    for (const Arrived& one : found->second.arrived) out.push_back(one.who.thread / kWarp);
  return out;
}

bool Mbarriers::has_arrived(std::int64_t address, int warp) const {
  const auto found = objects_.find(address);
  return found != objects_.end() && std::ranges::any_of(found->second.arrived, [&](const Arrived& one) {
           return one.who.thread / kWarp == warp;
         });
}

std::optional<Mbarriers::SeenPhase> Mbarriers::seen_phase(int warp) const {
  const auto last = waited(warp);
  const auto found = last ? objects_.find(last->address) : objects_.end();
  if (found == objects_.end()) return std::nullopt;
  const Object& object = found->second;
  const auto seen = object.seen.find(warp);
  if (seen == object.seen.end() || seen->second.phase < 0) return std::nullopt;
  const std::int64_t phase = seen->second.phase;
  SeenPhase out{phase_text(last->address, phase), object.expected, {}, {}};
  for (const Arrived& one : object.arrived)
    if (one.phase >= phase) (one.phase == phase ? out.arrived : out.later).push_back(one.who);
  return out;
}

Actor Mbarriers::completed_by(std::int64_t address) const {
  const auto found = objects_.find(address);
  return found == objects_.end() ? Actor{} : found->second.completed_by;
}

std::optional<std::int64_t> Mbarriers::counted_by(int agent) const {
  for (const auto& [address, object] : objects_)
    if (object.agent == agent) return address;
  return std::nullopt;
}

std::vector<Mbarriers::Pending> Mbarriers::pending() const {
  std::vector<Pending> out;
  for (const auto& [address, object] : objects_)
    if (object.copied && object.copied->phase >= object.awaited)
      out.push_back({object.copied->who, address, object.copied->phase});
  return out;
}

// Before their first use parity 1 counts as complete: producers wait so for what consumers have not filled yet. Where bytes
// come, nobody must.
std::optional<Mbarriers::Repeated> Mbarriers::early(int warp) const {
  const auto found = early_.find(warp);
  if (found == early_.end()) return std::nullopt;
  const auto of = objects_.find(found->second.address);
  if (of == objects_.end() || of->second.phase != 0 || (of->second.copies == 0 && of->second.bytes <= 0))
    return std::nullopt;
  return Repeated{
      fmt::format("this wait for parity 1 of {} goes on at once, since the first phase has parity 0",
                  name(found->second.address)),
      found->second.who};
}

// ---- Turns

void Mbarriers::wait(std::int64_t address, int warp, std::uint32_t lanes) {
  if (const auto at = objects_.find(address); at != objects_.end())
    waiters_.push_back({warp, lanes, address, at->second.phase});
}

bool Mbarriers::is_late(const Waiter& one) const {
  const auto at = objects_.find(one.address);
  return at != objects_.end() && one.phase < at->second.phase;
}

Mbarriers::Left Mbarriers::leave(int warp, std::uint32_t lanes) {
  Left out;
  for (Waiter& one : waiters_) {
    if (one.warp != warp) continue;
    out.late = out.late || ((one.lanes & lanes) != 0 && is_late(one));
    one.lanes &= ~lanes;
  }
  out.last = std::erase_if(waiters_, [](const Waiter& one) { return one.lanes == 0; }) != 0;
  return out;
}

bool Mbarriers::has_late(std::int64_t address) const {
  return std::ranges::any_of(waiters_,
                             [&](const Waiter& one) { return one.address == address && is_late(one); });
}

bool Mbarriers::must_let_go(std::int64_t address, std::uint32_t arrivals) const {
  const auto at = objects_.find(address);
  return at != objects_.end() && at->second.pending <= arrivals && has_late(address);
}

bool Mbarriers::must_settle(std::int64_t address) const {
  const auto at = objects_.find(address);
  return at != objects_.end() && (at->second.promised != 0 || has_late(address));
}

}  // namespace warpbit::block
