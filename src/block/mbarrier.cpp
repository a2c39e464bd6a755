// SPDX-License-Identifier: Apache-2.0
#include "block/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace warpbit::block {
// ---- What is at an address

std::string Mbarriers::name(std::int64_t address) const {
  return fmt::format("the mbarrier at {}", shared_.at(address));
}

// For a thread that may be of another block.
std::string Mbarriers::name(std::int64_t address, Who who) const {
  const bool is_others = shared_.cluster().rank_of(who.thread) != shared_.rank();
  return name(address) + (is_others ? fmt::format(" of block {} of the cluster", shared_.rank()) : "");
}

Found Mbarriers::misused(std::string_view what, std::int64_t address, std::string seen, std::string accepted,
                         Who who, const Object* object, KernelRule rule) const {
  Fault out =
      fault_of(who, {Errc::barrier_misused, std::string(what), std::move(seen), std::move(accepted)}, rule);
  out.address = {Space::shared, address, {}, shared_.rank()};
  if (object != nullptr) out.other = made_by(address, *object);
  return out;
}

Found Mbarriers::find(std::int64_t address, std::string_view what, Who who, Object*& out) {
  const auto found = objects_.find(address);
  if (found == objects_.end())
    return misused(what, address, fmt::format("there is no barrier object at {}", shared_.at(address)),
                   "mbarrier.init must come before this use", who);
  out = &found->second;
  out->used = true;
  const std::optional<Who> by = overwriter(address, *out);
  if (!by) return std::nullopt;
  const Who writer = *by;
  out->overwritten = true;
  Found fault =
      misused(what, address,
              fmt::format("{} was overwritten by {}", name(address, who),
                          shared_.cluster().name(writer.thread, shared_.rank())),
              "store the data elsewhere, or execute mbarrier.inval before the store and mbarrier.init after it",
              who, nullptr, KernelRule::mbarrier_overwritten);
  fault->other = side_of(writer, "overwrites it");
  return fault;
}

// The last write of its bytes is the object's init, or this one.
std::optional<Who> Mbarriers::overwriter(std::int64_t address, const Object& object) const {
  if (!shared_.records()) return std::nullopt;
  for (std::int64_t byte = address; byte < address + kBytes; ++byte) {
    const std::optional<Accesses::Access> last = shared_.last_write(byte);
    if (last && (last->thread != object.made.thread || last->at != object.made.at))
      return shared_.cluster().who(last->thread, last->at);
  }
  return std::nullopt;
}

bool Mbarriers::has(std::int64_t byte) const {
  const auto behind = objects_.upper_bound(byte);
  return behind != objects_.begin() && byte < std::prev(behind)->first + kBytes;
}

Found Mbarriers::use(std::int64_t address, std::string_view what, Who who, Object*& out) {
  Found found = find(address, what, who, out);
  if (out == nullptr || found || !shared_.records()) return found;
  return record_use(address, what, who, *out);
}

// A thread uses an object: strong accesses to its bytes are ordered by nothing but its init and its inval.
Found Mbarriers::record_use(std::int64_t address, std::string_view what, Who who, const Object& object) {
  shared_.order().used(who.thread / kWarp);
  return unordered_use(shared_.read_opaque(what, address, kBytes, who), address, what, who, object);
}

// What the race of a use with the object's init means.
Found Mbarriers::unordered_use(const Found& race, std::int64_t address, std::string_view what, Who who,
                               const Object& object) const {
  if (!race || race->error.code != Errc::data_race) return std::nullopt;
  const Cluster& cluster = shared_.cluster();
  const bool is_others = cluster.rank_of(who.thread) != shared_.rank();
  const auto flaw = shared_.order().nearly_before(object.made.thread, object.made_at, who.thread);
  const Unordered why{
      "that mbarrier.init and this statement",
      flaw,
      shared_.order().is_open(object.made.thread, object.made_at, who.thread),
      is_others ? Scope::cluster : Scope::cta,
      is_others ? "that thread must execute fence.mbarrier_init.release.cluster after it, and then all "
                  "threads of the cluster a barrier.cluster, before this statement"
                : "a __syncthreads must come between them",
      "nothing orders that mbarrier.init before this statement"};
  auto [cause, advice] = why.words();
  Found out = misused(what, address,
                      fmt::format("{} was initialised by {}, and {}", name(address, who),
                                  cluster.name(object.made.thread, cluster.rank_of(who.thread)), cause),
                      std::move(advice), who, &object, KernelRule::mbarrier_init_order);
  add_flag(*out, flaw);
  return out;
}

// An init or an inval is a write: other threads' uses must be ordered with it.
Found Mbarriers::change(std::int64_t address, std::string_view what, Who who) {
  if (!shared_.records()) return std::nullopt;
  shared_.needs_no_fence(who.at);  // compilers reuse the bytes of objects so
  Found fault = shared_.write_opaque(what, address, kBytes, who);
  shared_.forget(address, kBytes);  // opaque
  const auto object = objects_.find(address);
  if (!fault || fault->error.code != Errc::data_race || object == objects_.end()) return fault;
  if (fault->rule == KernelRule::mbarrier_inval_order && !is_arrival(object->second, *fault->other))
    return std::nullopt;
  fault->error.code = Errc::barrier_misused;
  if (fault->rule == KernelRule::mbarrier_inval_order) {
    fault->error.seen = fmt::format(
        "{} has arrived at {}, and since then it has met lanes by an instruction that orders no memory",
        shared_.cluster().name(fault->other->warp * kWarp + fault->other->lanes.front(), shared_.rank()),
        name(address, who));
    fault->error.accepted =
        "a wait for that phase, a __syncwarp or a __syncthreads must come between that arrival and this statement";
    fault->other->what = "arrives";
    return fault;
  }
  const bool by_lane = fault->rule == KernelRule::lanes_not_synchronised;
  const bool is_told = by_lane && fault->other && fault->other->warp != fault->warp;
  if (!is_told) fault->rule = KernelRule::mbarrier_in_use;
  fault->error.seen = fmt::format("{} is in use: {}", name(address, who), fault->error.seen);
  return fault;
}

// Of a use: a test, whose answer its lane had when it met others, is done by then. An arrival is executed, and the manual does not
// say that it has been performed.
bool Mbarriers::is_arrival(const Object& object, const FaultSide& use) {
  return std::ranges::any_of(object.arrived, [&](const Arrived& one) {
    return one.who.at == use.at && one.who.thread / kWarp == use.warp;
  });
}

//     63      62 ........ 43   42   41 ........ 21   20 ........ 1   0
//     phase   -pending         0    -bytes           -expected       0       (src/async/ASYNCHRONOUS.md)
//
// An H100 returns the upper 32 bits of this word; the lower ones are what the register had.
std::uint64_t Mbarriers::state(const Object& object) {
  const auto field = [](std::int64_t value, int bits, int at) {
    return (static_cast<std::uint64_t>(-value) & ((std::uint64_t{1} << bits) - 1)) << at;
  };
  return static_cast<std::uint64_t>(object.phase & 1) << 63 | field(object.pending, 20, 43) |
         field(object.bytes, 21, 21) | field(object.expected, 20, 1);
}

std::uint32_t Mbarriers::pending_count(std::uint64_t state) {
  return static_cast<std::uint32_t>(-(state >> 43)) & kMaxCount;
}

// ---- Beginning and end

Found Mbarriers::init(std::int64_t address, std::uint32_t count, Who who) {
  constexpr std::string_view kWhat = "mbarrier.init";
  if (count == 0 || count > kMaxCount)
    return misused(kWhat, address, fmt::format("a count of {}", count),
                   fmt::format("it can be 1 to {}", kMaxCount), who);
  Object made{count, count, 0, 0, who, shared_.order().clock(who.thread)};
  Found used, by_lanes, again;
  const auto found = objects_.find(address);
  const std::optional<Who> by = found == objects_.end() ? std::nullopt : overwriter(address, found->second);
  made.used = found != objects_.end() && found->second.used;
  if (by && made.used && !found->second.overwritten) used = reused(address, found->second, *by);
  if (found != objects_.end() && !by) {
    const Object& before = found->second;
    made.copies = before.copies;
    if (!is_idle(before))
      used = misused(kWhat, address, in_use(address, before),
                     "the phase must be complete, and mbarrier.inval must come before mbarrier.init", who,
                     &before, KernelRule::mbarrier_in_use);
    else if (before.phase == 0 && is_unordered(before, who))
      by_lanes =
          misused(kWhat, address,
                  fmt::format("{} also initialises {}, for {} arrival{}{}, and nothing orders that before this",
                              shared_.cluster().name(before.made.thread, shared_.rank()), name(address),
                              before.expected, before.expected == 1 ? "" : "s",
                              before.expected == count ? "" : fmt::format(" (this statement for {})", count)),
                  "one thread of the block must execute mbarrier.init", who, &before,
                  before.expected == count ? KernelRule::mbarrier_init_by_lanes : KernelRule::mbarrier_in_use);
    else if (shared_.records())
      again = misused(kWhat, address,
                      fmt::format("{} is initialised already, by {}", name(address),
                                  shared_.cluster().name(before.made.thread, shared_.rank())),
                      "mbarrier.inval must come before mbarrier.init", who, &before,
                      KernelRule::mbarrier_init_again);
  }
  Found changed = change(address, kWhat, who);
  forget_states(address);
  if (changed && by_lanes) changed = by_lanes;
  objects_.insert_or_assign(address, std::move(made));
  return first_of(first_of(used, changed), again);
}

// Whether two threads initialise an object as if each did it alone: lanes of a warp by one instruction, or different warps without
// a barrier between.
bool Mbarriers::is_unordered(const Object& object, Who who) const {
  if (object.made.thread == who.thread) return false;
  const bool is_of_warp = object.made.thread / kWarp == who.thread / kWarp;
  return is_of_warp ? object.made.at == who.at && shared_.order().clock(object.made.thread) == object.made_at
                    : !shared_.order().before(object.made.thread, object.made_at, who.thread);
}

Found Mbarriers::invalidate(std::int64_t address, Who who) {
  constexpr std::string_view kWhat = "mbarrier.inval";
  Object* object = nullptr;
  Found found = find(address, kWhat, who, object);
  if (object == nullptr) return found;
  if (!is_idle(*object))
    found = first_of(std::move(found),
                     misused(kWhat, address, in_use(address, *object), "the phase must be complete", who,
                             object, KernelRule::mbarrier_in_use));
  found = first_of(std::move(found), change(address, kWhat, who));
  forget_states(address);
  objects_.erase(address);
  return found;
}

void Mbarriers::fence_init(int thread) {
  for (auto& [address, object] : objects_)
    if (object.made.thread == thread) object.fenced = true;
}

}  // namespace warpbit::block
