// SPDX-License-Identifier: Apache-2.0
// What completes a phase: arrivals and bytes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "block/mbarrier.hpp"

namespace warpbit::block {

void Mbarriers::settle(Object& object) {
  if (object.pending != 0 || object.bytes != 0) return;
  ++object.phase;
  ++phases_;
  object.pending = object.expected;
  object.raised = 0;
  object.raises.reset();
  object.came_before = std::exchange(object.came, 0);
  object.expects.reset();
  object.seen_by.clear();
  object.complete = object.released;
  object.complete_afar = object.released_afar;
  object.completed_by = shared_.cluster().actor;
  object.completed_by.done = shared_.cluster().noted;
  if (object.agent >= 0) {
    std::vector<std::uint32_t>& known = object.complete.known;
    const auto agent = static_cast<std::size_t>(object.agent);
    if (known.size() <= agent) known.resize(agent + 1);
    known[agent] = static_cast<std::uint32_t>(object.phase);
  }
}

Found Mbarriers::arrive(std::int64_t address, const MbarrierArrival& arrival, Who who, std::uint64_t& state) {
  const std::string_view what = !arrival.name.empty() ? arrival.name
                                : arrival.drops       ? "mbarrier.arrive_drop"
                                                      : "mbarrier.arrive";
  Object* object = nullptr;
  Found found = use(address, what, who, object);
  if (object == nullptr) return found;
  if (arrival.count == 0 || arrival.count > kMaxCount)
    return misused(what, address, fmt::format("a count of {}", arrival.count),
                   fmt::format("it can be 1 to {}", kMaxCount), who);
  if (arrival.expected != 0)
    if (auto fault = add_bytes(address, what, *object, arrival.expected, who)) return fault;
  if (arrival.count > object->pending) {
    return too_many(address, *object, arrival, what, who);
  }
  if (!arrival.completes && arrival.count == object->pending)
    found = first_of(
        std::move(found),
        misused(what, address, "this arrival with .noComplete is the last of the phase",
                "the last arrival of a phase must be one without .noComplete (mbarrier.arrive, which takes "
                "no count before sm_90)",
                who, object, KernelRule::mbarrier_no_complete));
  state = Mbarriers::state(*object);
  if (arrival.states >= 0 && shared_.records())
    states_.insert_or_assign(Kept{address, arrival.states, who.thread}, Arrived{who, object->phase});
  if (shared_.records()) {
    if (!knows_complete(*object, who)) object->early = {who, object->phase};
    release(arrival, who, released(*object, who));
  }
  count(*object, arrival, who);
  return found;
}

namespace {

bool may_know(const Order& order, int thread, std::uint32_t clock, int me) {
  return thread / kWarp == me / kWarp || order.before(thread, clock, me) ||
         order.nearly_before(thread, clock, me) || order.is_open(thread, clock, me);
}

}  // namespace

// Whether the thread, or somebody of whom it knows, has seen the last complete phase. Threads of other blocks may know by copies.
bool Mbarriers::has_seen_complete(const Object& object, Who who) const {
  return object.phase == 0 || shared_.cluster().rank_of(who.thread) != shared_.rank() ||
         std::ranges::any_of(object.seen_by, [&](const Arrived& one) {
           return may_know(shared_.order(), one.who.thread, one.clock, who.thread);
         });
}

// Or all arrivals of that phase come before the thread's action, behind which their releases are.
bool Mbarriers::knows_complete(const Object& object, Who who) const {
  return has_seen_complete(object, who) || std::ranges::all_of(object.arrived, [&](const Arrived& one) {
           return one.phase != object.phase - 1 ||
                  may_know(shared_.order(), one.who.thread, one.clock - 1, who.thread);
         });
}

void Mbarriers::count(Object& object, const MbarrierArrival& arrival, Who who) {
  const auto same = [&](const Arrived& one) { return one.who.thread == who.thread && one.who.at == who.at; };
  std::erase_if(object.arrived, same);
  object.arrived.push_back({who, object.phase, shared_.order().clock(who.thread)});
  object.pending -= arrival.count;
  object.arrivals += arrival.count;
  if (arrival.drops) {
    object.expected -= arrival.count;
    object.dropped.insert(who.thread);
  }
  settle(object);
}

// Where what an arrival tells is kept.
Knowledge& Mbarriers::released(Object& object, Who who) {
  const bool is_afar = shared_.cluster().rank_of(who.thread) != shared_.rank();
  return is_afar ? object.released_afar : object.released;
}

Found Mbarriers::promise(std::int64_t address, const MbarrierArrival& arrival, Who who, MbarrierPromise& out) {
  Object* object = nullptr;
  Found found = use(address, arrival.name, who, object);
  if (object == nullptr) return found;
  ++object->promised;
  out = {address, arrival.name, who, {}};
  if (shared_.records()) release(arrival, who, out.told);
  return found;
}

Found Mbarriers::keep(const MbarrierPromise& promise) {
  const auto found = objects_.find(promise.address);
  if (found == objects_.end() || found->second.promised == 0) return std::nullopt;
  Object& object = found->second;
  const MbarrierArrival arrival{.name = promise.name};
  --object.promised;
  if (object.pending == 0) return too_many(promise.address, object, arrival, promise.name, promise.who);
  if (shared_.records()) released(object, promise.who).join(promise.told);
  count(object, arrival, promise.who);
  return std::nullopt;
}

// What agents have done is known behind a relaxed arrival, too: that is what tcgen05.fence relies on.
void Mbarriers::release(const MbarrierArrival& arrival, Who who, Knowledge& into) {
  Order& order = shared_.order();
  const int warp = who.thread / kWarp;
  const std::uint32_t lane = 1U << who.thread % kWarp;
  const bool is_afar = shared_.cluster().rank_of(who.thread) != shared_.rank();
  const Scope reach = is_afar ? Scope::cluster : Scope::cta;
  const Scope scope = scope_of(arrival.scope, arrival.scope_unsaid);
  if (!arrival.releases || scope < reach) order.release_relaxed(warp, lane, into, reach);
  if (arrival.releases && scope >= reach) {
    order.release(warp, lane, into);
  } else {
    const FlagUse write{who.at, 0, who.thread, true, scope, arrival.scope_unsaid};
    const Flaw::Kind kind = arrival.releases ? Flaw::Kind::scope : Flaw::Kind::arrival;
    const Knowledge all = order.nearly_release(warp, lane, into, {kind, scope, write});
    if (arrival.releases && arrival.scope_unsaid) into.join(order.of_agents(all));
  }
  for (const Accesses::Agent& agent : arrival.reveals) {
    const auto number = static_cast<std::size_t>(agent.number);
    if (into.known.size() <= number) into.known.resize(number + 1);
    into.known[number] = std::max(into.known[number], agent.clock);
  }
}

Found Mbarriers::add_bytes(std::int64_t address, std::string_view what, Object& object, std::int64_t bytes,
                           Who who) {
  object.bytes += bytes;
  if (bytes > 0) {
    object.expects = who;
    object.expects_early = shared_.records() && !has_seen_complete(object, who);
  }
  if (object.bytes >= -std::int64_t{kMaxCount} && object.bytes <= kMaxCount) return std::nullopt;
  return misused(what, address, fmt::format("{} bytes are expected", object.bytes),
                 fmt::format("they can be -{} to {}", kMaxCount, kMaxCount), who, &object);
}

Found Mbarriers::expect(std::int64_t address, std::uint32_t bytes, Who who) {
  Object* object = nullptr;
  constexpr std::string_view kWhat = "mbarrier.expect_tx";
  Found found = use(address, kWhat, who, object);
  if (object == nullptr) return found;
  return first_of(std::move(found), add_bytes(address, kWhat, *object, bytes, who));
}

Found Mbarriers::complete(std::int64_t address, std::uint32_t bytes, Who who) {
  Object* object = nullptr;
  constexpr std::string_view kWhat = "mbarrier.complete_tx";
  Found found = use(address, kWhat, who, object);
  if (object == nullptr) return found;
  if (auto fault = add_bytes(address, kWhat, *object, -std::int64_t{bytes}, who)) return fault;
  object->came += bytes;
  settle(*object);
  return found;
}

}  // namespace warpbit::block
