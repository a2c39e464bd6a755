// SPDX-License-Identifier: Apache-2.0
// Copies that arrive at barrier objects.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block/mbarrier.hpp"

namespace warpbit::block {

int Mbarriers::agent_of(std::int64_t address, Object& object) {
  if (object.agent < 0)
    object.agent = shared_.cluster().add_agent(
        [address, rank = shared_.rank(), alone = shared_.cluster().blocks() == 1](std::uint32_t phase) {
          return fmt::format("wait for phase {} (parity {}) of the mbarrier at {:#x}{} first", phase, phase & 1,
                             address, alone ? "" : fmt::format(" of block {} of the cluster", rank));
        });
  return object.agent;
}

Found Mbarriers::promise_copies(std::int64_t address, bool counted, Who who, MbarrierPromise& out) {
  constexpr std::string_view kWhat = "cp.async.mbarrier.arrive";
  Found found = promise(address, {.releases = false, .name = kWhat}, who, out);
  const auto at = objects_.find(address);
  if (at == objects_.end()) return found;
  Object& object = at->second;
  if (counted) {
    if (object.pending == kMaxCount)
      return misused(kWhat, address, "the count of pending arrivals is at its maximum", {}, who, &object);
    ++object.pending;
    ++object.raised;
    object.raises = who;
  }
  // More arrivals than the phase waits for count in the next one, or in one behind that.
  const std::int64_t more = std::int64_t{object.promised} - object.pending,
                     behind = more > 0 ? 1 + (more - 1) / std::max<std::int64_t>(object.expected, 1) : 0,
                     phase = static_cast<std::int64_t>(object.phase) + behind;
  if (shared_.records())
    shared_.deliver(who.thread, {agent_of(address, object), static_cast<std::uint32_t>(phase)});
  return found;
}

// The init of an object is a write through the generic proxy. Compilers put no fence before copies of the block's own: a rule of
// its own asks for that.
Found Mbarriers::begin_copy(std::int64_t address, Who who, Accesses::Agent& agent, bool async) {
  constexpr std::string_view kWhat = "cp.async.bulk";
  Object* object = nullptr;
  Found found = find(address, kWhat, who, object);
  if (object == nullptr) return found;
  agent = {agent_of(address, *object), static_cast<std::uint32_t>(object->phase)};
  ++object->copies;
  object->copied = {who, object->phase};
  if (!found && shared_.records())  // the copy uses it until the phase is complete, not the thread
    found = unordered_use(
        shared_.read_fenced_by(kWhat, address, kBytes, who, {agent.number, agent.clock, true}, true), address,
        kWhat, who, *object);
  Order& order = shared_.order();
  const bool is_others = shared_.cluster().rank_of(who.thread) != shared_.rank();
  if (async && (is_others || fences_own_inits_) && shared_.records() && !object->fenced &&
      !order.fenced(object->made.thread, object->made_at, who.thread))
    found = first_of(
        std::move(found),
        is_others
            ? misused(
                  kWhat, address,
                  fmt::format("{} was initialised by {} of that block, and that thread executed no fence after "
                              "mbarrier.init",
                              name(address, who), shared_.cluster().name(object->made.thread, shared_.rank())),
                  "it must execute fence.mbarrier_init.release.cluster or fence.proxy.async after mbarrier.init and "
                  "before its next barrier.cluster.arrive",
                  who, object, KernelRule::mbarrier_init_fence)
            : misused(
                  kWhat, address,
                  fmt::format(
                      "{} was initialised by {} through the generic proxy, and no fence came between that "
                      "mbarrier.init and this copy",
                      name(address), shared_.cluster().name(object->made.thread, shared_.rank())),
                  object->made.thread == who.thread
                      ? "this thread must execute fence.mbarrier_init.release.cluster or fence.proxy.async between them"
                      : "the thread that executed mbarrier.init must execute fence.mbarrier_init.release.cluster or "
                        "fence.proxy.async after it, before any barrier that comes between them",
                  who, object, KernelRule::mbarrier_init_proxy));
  return found;
}

// A phase waits for the bytes that are expected in it. Those that come behind it were not: had they come in time, it would
// have waited for ever.
Found Mbarriers::complete_copy(std::int64_t address, std::uint32_t bytes, Accesses::Agent agent, Who who) {
  constexpr std::string_view kWhat = "cp.async.bulk";
  Object* object = nullptr;
  Found found = find(address, kWhat, who, object);
  if (object == nullptr) return found;
  --object->copies;
  Found late;
  if (bytes != 0 && agent.clock < object->phase) late = too_late(address, *object, bytes, agent.clock, who);
  if (auto fault = add_bytes(address, kWhat, *object, -std::int64_t{bytes}, who)) return fault;
  object->came += bytes;
  settle(*object);
  return first_of(std::move(found), std::move(late));
}

}  // namespace warpbit::block
