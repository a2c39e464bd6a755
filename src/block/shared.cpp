// SPDX-License-Identifier: Apache-2.0
#include "block/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>  // std::memcpy
#include <utility>

namespace warpbit::block {
namespace {

constexpr std::uint64_t kProduct = std::uint64_t{1} << 63;
constexpr int kPlaceBits = 16;

}  // namespace

Shared::Shared(std::shared_ptr<Cluster> cluster, int rank, std::uint64_t bytes, std::uint64_t window,
               bool records)
    : cluster_(std::move(cluster)),
      rank_(rank),
      records_(records),
      memory_(bytes, window),
      accesses_(records ? static_cast<std::size_t>(bytes) : 0),
      copiers_(static_cast<std::size_t>(cluster_->stride())) {}

Shared::Shared(int threads, std::uint64_t bytes) : Shared(std::make_shared<Cluster>(1, threads), 0, bytes) {}

std::string Shared::at(std::int64_t byte) const {
  const std::string name = name_of ? name_of(byte) : std::string();
  return name.empty() ? fmt::format("{:#x}", byte) : fmt::format("{:#x} ({})", byte, name);
}

// ---- Conflicts

// A thread that has waited for too few of its groups has made the mistake there.
void Shared::tell_pending(Fault& fault, std::string_view what, const Accesses::Conflict& conflict) const {
  const int thread = conflict.thread;
  const int writer = conflict.before->thread;
  const Copier& copier = copiers_[static_cast<std::size_t>(writer - first_thread())];
  const auto copy = std::ranges::find_if(
      copier.copies, [&](const Copy& c) { return conflict.byte >= c.to && conflict.byte - c.to < c.size; });
  const bool committed = copy != copier.copies.end() && copy->group < copier.group;
  const std::string who =
      writer == thread ? std::string("this thread") : fmt::format("thread {}", writer - first_thread());
  fault.error = {
      Errc::copy_pending, std::string(what),
      fmt::format("byte {:#x} is the target of a cp.async of {} that is not complete (it is in {})",
                  conflict.byte, who,
                  committed ? fmt::format("group {} of {}", copy->group + 1, copier.group) : "no group yet"),
      fmt::format("{} must execute {}{} before this statement", who,
                  committed ? fmt::format("cp.async.wait_group {}", copier.group - copy->group - 1)
                            : "cp.async.wait_all (or cp.async.commit_group and then cp.async.wait_group 0)",
                  writer == thread ? "" : ", and then a barrier must come,")};
  const bool waits_for_too_few = committed && copier.waited_for == copier.group && copier.waited_pending != 0;
  if (!waits_for_too_few || copier.waited.line == 0) return;
  fault.error.where = what.empty() ? "" : "cp.async.wait_group";  // without a name it has that of its statement
  fault.error.seen = fmt::format(
      "it waits for all groups but the last{}, and {} accesses byte {:#x}, the target of a cp.async of {} that is "
      "not complete (it is in group {} of {})",
      copier.waited_pending == 1 ? "" : fmt::format(" {}", copier.waited_pending),
      cluster_->name(thread, rank_), conflict.byte, who, copy->group + 1, copier.group);
  fault.error.accepted =
      fmt::format("this statement must be cp.async.wait_group {}", copier.group - copy->group - 1);
  fault.other = static_cast<FaultSide&>(fault);
  fault.other->what = fmt::format("accesses byte {:#x}", conflict.byte);
  fault.warp = writer / kWarp;
  fault.lanes = {writer % kWarp};
  fault.at = copier.waited;
}

// A bulk copy, or an operation on tensor memory, is the other side: it is still on its way, or who accesses its bytes has not waited for it.
Error Shared::by_agent(std::string_view what, const Accesses::Conflict& conflict) const {
  const Accesses::Access& before = *conflict.before;
  const Who by = cluster_->who(before.thread, before.at);
  const bool is_on_its_way = conflict.kind == Accesses::Conflict::Kind::pending;
  return {Errc::copy_pending, std::string(what),
          fmt::format("byte {:#x} is {} by {} of {}, which {}", conflict.byte,
                      conflict.before_writes ? "written" : "read", cluster_->work(before.thread),
                      cluster_->name(by.thread, rank_),
                      is_on_its_way ? "is not complete" : "has not been waited for"),
          cluster_->advice(before.thread, before.clock)};
}

Error Shared::race(std::string_view what, const Accesses::Conflict& conflict, Place at) const {
  const Accesses::Access& before = *conflict.before;
  const int by = cluster_->who(before.thread, before.at).thread, rank = cluster_->rank_of(conflict.thread);
  const std::string_view how = conflict.before_writes ? "written" : "read";
  if (cluster_->order.is_agent(before.thread))
    return {
        Errc::data_race, std::string(what),
        fmt::format("byte {:#x} was {} by a wgmma of {}, and {}", conflict.byte, how,
                    cluster_->group_name(by, rank),
                    has_waited(conflict, by) ? "this warp has waited for its own part only"
                                             : "nothing orders that before this statement"),
        "all four warps must execute wgmma.wait_group, and then a barrier or an mbarrier must come before this "
        "statement"};
  const bool same_warp = by / kWarp == conflict.thread / kWarp;
  // Where warps have parted, a barrier of all of them would never be complete.
  const bool have_parted = cluster_->flow && cluster_->flow(before.at, at) == Cluster::Flow::apart;
  const Unordered found{
      cluster_->order.nearly_before(before.thread, before.clock, conflict.thread),
      cluster_->order.is_open(before.thread, before.clock, conflict.thread),
      cluster_->rank_of(by) == rank ? Scope::cta : Scope::cluster,
      same_warp                       ? "a __syncwarp or a __syncthreads must come between the two"
      : is_told_by_lane(conflict)     ? "a __syncwarp must come before what another lane of its warp releases"
      : cluster_->rank_of(by) != rank ? "a barrier.cluster or an mbarrier must come between the two"
      : have_parted
          ? "an mbarrier, or a bar.sync that counts the threads of both warps, must come between the two"
          : "a __syncthreads must come between the two"};
  return unordered(what, fmt::format("byte {:#x} was {} by {}", conflict.byte, how, cluster_->name(by, rank)),
                   found);
}

// A warp that has waited for a product knows the agent of its own (Products::control).
bool Shared::has_waited(const Accesses::Conflict& conflict, int by) const {
  const int warp = conflict.thread / kWarp;
  if (warp / kGroupWarps != by / kWarpgroup) return false;
  const int own = conflict.before->thread + (warp % kGroupWarps == 0 ? 0 : 1);
  return conflict.before->clock < cluster_->order.known_of(own, warp);
}

// A lane has had the answer of its strong read, as a test of an mbarrier, when another lane of its path releases.
bool Shared::is_told_by_lane(const Accesses::Conflict& conflict) const {
  const Accesses::Access& before = *conflict.before;
  return !conflict.before_writes && before.strong &&
         cluster_->order.told_by_lane(before.thread, before.clock, conflict.thread);
}

KernelRule Shared::rule_of(const Accesses::Conflict& conflict) const {
  using Kind = Accesses::Conflict::Kind;
  if (conflict.kind == Kind::never_written) return KernelRule::never_written;
  const Accesses::Access& before = *conflict.before;
  if (conflict.kind == Kind::pending || cluster_->copies(before.thread)) return KernelRule::copy_pending;
  if (cluster_->order.is_agent(before.thread))
    return has_waited(conflict, cluster_->who(before.thread, before.at).thread)
               ? KernelRule::product_of_other_warps
               : KernelRule::data_race;
  if (cluster_->order.were_together(before.thread, before.clock, conflict.thread) || is_told_by_lane(conflict))
    return KernelRule::lanes_not_synchronised;
  return rule_of_race(cluster_->order.nearly_before(before.thread, before.clock, conflict.thread));
}

Fault Shared::conflict(std::string_view what, const Accesses::Conflict& conflict, Place at) const {
  using Kind = Accesses::Conflict::Kind;
  Fault out = fault_of({conflict.thread, at}, {}, rule_of(conflict));
  out.address = {Space::shared, conflict.byte, {}, rank_};
  if (conflict.before) {
    const Who by = cluster_->who(conflict.before->thread, conflict.before->at);
    out.other =
        side_of(by, fmt::format("{} byte {:#x}", conflict.before_writes ? "writes" : "reads", conflict.byte));
    if (conflict.kind == Kind::pending) out.other->what = "issues the cp.async";
    if (cluster_->copies(conflict.before->thread)) {
      out.other->what = fmt::format("issues {}", cluster_->work(conflict.before->thread));
      out.error = by_agent(what, conflict);
      return out;
    }
    if (cluster_->order.is_agent(conflict.before->thread))
      out.other =
          FaultSide{by.thread / kWarp, lanes_of(kAllLanes), by.at, kGroupWarps, 0, {}, {}, "issues the wgmma"};
  }
  switch (conflict.kind) {
    case Kind::never_written:
      out.error = {Errc::never_written, std::string(what),
                   fmt::format("byte {:#x} of shared memory has never been written", conflict.byte),
                   "it must be written before this statement"};
      break;
    case Kind::pending: tell_pending(out, what, conflict); break;
    case Kind::race:
      out.error = race(what, conflict, at);
      if (!cluster_->order.is_agent(conflict.before->thread))
        add_flag(out, cluster_->order.nearly_before(conflict.before->thread, conflict.before->clock,
                                                    conflict.thread));
      break;
  }
  return out;
}

// No barrier stands between the two sides, so either may come first. A person looks for it before the one that stands behind
// the other in the program.
Fault Shared::conflict(std::string_view what, const Accesses::Conflict& conflict, Place at,
                       const Actor& now) const {
  const bool is_race = conflict.kind == Accesses::Conflict::Kind::race;
  if (!is_race || !cluster_->flow || cluster_->order.is_agent(conflict.before->thread) ||
      cluster_->flow(at, conflict.before->at) != Cluster::Flow::follows)
    return Shared::conflict(what, conflict, at);
  const Accesses::Conflict turned{conflict.kind, conflict.before->thread, conflict.byte,
                                  Accesses::Access{now.number, at, now.clock}, now.writes};
  Fault out = Shared::conflict(what, turned, conflict.before->at);
  if (!cluster_->order.is_agent(now.number)) out.rule = rule_of(conflict);
  return out;
}

Fault Shared::conflict_of_thread(std::string_view what, const Accesses::Conflict& conflict, Place at,
                                 bool writes) const {
  return Shared::conflict(what, conflict, at,
                          {conflict.thread, cluster_->order.clock(conflict.thread), writes});
}

// Whether products are pending, which may read what is written.
bool Shared::is_read() const {
  return std::ranges::any_of(readers_, [](const AsyncState* products) { return products->is_pending(); });
}

// Whether a pending product reads bytes that are about to be written.
Found Shared::overwritten(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) const {
  const ByteRange range{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(first + bytes - 1)};
  for (const AsyncState* products : readers_)
    if (products->is_pending())
      if (const auto found = products->check_store({what}, range)) return violated(fault_of(who, {}), *found);
  return std::nullopt;
}

Found Shared::read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, bool strong) {
  const auto found = accesses_.read(first, bytes, who.thread, who.at, cluster_->order, strong);
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, who.at, false);
}

Found Shared::write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                    Accesses::Written state, bool strong) {
  const auto found = accesses_.write(first, bytes, who.thread, who.at, cluster_->order, state, strong);
  if (auto fault = overwritten(what, first, bytes, who)) return fault;
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, who.at, true);
}

Found Shared::write(std::string_view what, std::int64_t first, std::span<const std::byte> value, Who who,
                    bool strong, const std::function<std::string_view()>& type) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  const Accesses::Written state = state_of(first, value);
  Found read = overwritten(what, first, bytes, who);
  const auto found = accesses_.write(first, bytes, who.thread, who.at, cluster_->order, state, strong);
  if (read || !found) return read;
  Fault out = conflict_of_thread(what, *found, who.at, true);
  const auto there = memory_.shared().subspan(static_cast<std::size_t>(first), value.size());
  if (found->kind == Accesses::Conflict::Kind::race && found->before_writes) {
    const bool is_turned = out.warp * kWarp + out.lanes.front() != who.thread;
    out.error.seen += fmt::format(" (that lane stores {}, this one {}{})", hex(is_turned ? value : there),
                                  hex(is_turned ? there : value), type ? apart(there, value, type()) : "");
    if (out.rule == KernelRule::data_race) out.error.accepted = one_must_store(out);
  }
  return out;
}

Accesses::Written Shared::state_of(std::int64_t first, std::span<const std::byte> value) const {
  bool same =
      std::ranges::equal(memory_.shared().subspan(static_cast<std::size_t>(first), value.size()), value);
  for (std::size_t i = 0; same && i < value.size(); ++i)
    same = !accesses_.is_unsettled(first + static_cast<std::int64_t>(i));
  return same ? Accesses::Written::same : Accesses::Written::done;
}

// ---- Accesses of a thread

Found Shared::load(std::string_view what, const View& from, std::span<std::byte> value, std::size_t alignment,
                   Who who) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  if (auto fault = check_bytes(what, Space::shared, from, bytes, alignment, who)) return fault;
  std::memcpy(value.data(), memory_.shared().data() + from.at, value.size());
  return read(what, from.at, bytes, who);
}

Found Shared::store(std::string_view what, const View& to, std::span<const std::byte> value,
                    std::size_t alignment, Who who) {
  const auto bytes = static_cast<std::int64_t>(value.size());
  if (auto fault = check_bytes(what, Space::shared, to, bytes, alignment, who)) return fault;
  Found found = write(what, to.at, bytes, who);
  (void)memory_.write(Space::shared, static_cast<std::uint64_t>(to.at), value);  // checked above
  return found;
}

// PTX manual, "cp.async": the destination is written at some time before the copy is waited for. Here it is written at once,
// as without a record; until the wait it counts as not written.
void Shared::begin_copy(std::int64_t to, std::int64_t size, const CopiedBytes& bytes, int thread,
                        std::uint16_t place) {
  Copier& of = copier(thread);
  of.copies.push_back({static_cast<std::uint32_t>(to), of.group, place, static_cast<std::uint16_t>(size)});
  ++of.begun;
  std::memcpy(memory_.shared_for_writing().data() + to, bytes.data(), static_cast<std::size_t>(size));
}

Found Shared::copy_async(std::string_view what, const View& to, const CopiedBytes& bytes, int size, Who who) {
  if (auto fault = check_bytes(what, Space::shared, to, size, static_cast<std::size_t>(size), who))
    return fault;
  Found found = write(what, to.at, size, who, Accesses::Written::pending);
  begin_copy(to.at, size, bytes, who.thread, accesses_.number(who.at));
  return found;
}

void Shared::commit_group(int thread) {
  ++copier(thread).group;
}

void Shared::wait_group(int thread, unsigned pending, Place at) {
  auto& [group, copies, delivered, waited, waited_for, waited_pending, begun] = copier(thread);
  waited = at;
  waited_for = group;
  waited_pending = pending;
  for (const Accesses::Agent& agent : delivered)
    cluster_->order.learn(thread / kWarp, agent.number, agent.clock + 1);
  delivered.clear();
  if (group <= pending) return;
  const auto end =
      std::ranges::find_if(copies, [first = group - pending](const Copy& c) { return c.group >= first; });
  for (auto c = copies.begin(); c != end; ++c)
    accesses_.settle(c->to, c->size, thread, c->place, cluster_->order);
  copies.erase(copies.begin(), end);
}

std::vector<Who> Shared::pending_copies() const {
  std::vector<Who> out;
  for (std::size_t i = 0; i < copiers_.size(); ++i)
    if (const std::vector<Copy>& copies = copiers_[i].copies; !copies.empty())
      out.push_back({first_thread() + static_cast<int>(i), accesses_.place(copies.back().place)});
  return out;
}

// PTX manual, "cp.async.mbarrier.arrive".
void Shared::deliver(int thread, Accesses::Agent agent) {
  Copier& of = copier(thread);
  if (of.copies.empty()) return;
  for (const Copy& c : of.copies) {
    const Place at = accesses_.place(c.place);
    cluster_->issued(agent.number, {thread, at});
    accesses_.settle(c.to, c.size, agent, at);
  }
  of.copies.clear();
  of.delivered.push_back(agent);
}

// ---- Accesses of bulk copies

void Shared::needs_no_fence(Place at) {
  if (std::ranges::find(need_no_fence_, at) == need_no_fence_.end()) need_no_fence_.push_back(at);
}

Found Shared::unfenced_write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                             bool reads) {
  std::optional<Accesses::Unfenced> found;
  for (const std::int64_t end = first + bytes; first < end; first = found->last + 1) {
    found = accesses_.unfenced(first, end - first, who.thread, 1, cluster_->order);
    if (!found || reads || std::ranges::find(need_no_fence_, found->write.at) == need_no_fence_.end()) break;
    if (found->last + 1 >= end) return std::nullopt;
  }
  if (!found) return std::nullopt;
  Fault out = fault_of(
      who,
      {Errc::protocol_violation, std::string(what),
       fmt::format("bytes {:#x} to {:#x} were written by {} through the generic proxy, and no "
                   "fence.proxy.async came between the two",
                   found->first, found->last, cluster_->name(found->write.thread, rank_)),
       "the thread that wrote them must execute fence.proxy.async after that, and before any barrier between "
       "the two"},
      KernelRule::proxy_fence);
  out.address = {Space::shared, found->first, {}, rank_};
  out.other = side_of({found->write.thread, found->write.at}, fmt::format("writes byte {:#x}", found->first));
  return out;
}

Found Shared::unfenced_read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) {
  const auto found = accesses_.unfenced_read(first, bytes, who.thread, cluster_->order);
  if (!found) return std::nullopt;
  Fault out = fault_of(
      who,
      {Errc::protocol_violation, std::string(what),
       fmt::format("byte {:#x} was read by {} through the generic proxy, and no fence.proxy.async "
                   "came between the two",
                   found->first, cluster_->name(found->write.thread, rank_)),
       "the thread that read it must execute fence.proxy.async after that, and before any barrier between the "
       "two"},
      KernelRule::proxy_fence_read);
  out.address = {Space::shared, found->first, {}, rank_};
  out.other = side_of({found->write.thread, found->write.at}, fmt::format("reads byte {:#x}", found->first));
  return out;
}

Found Shared::read_fenced_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                             Accesses::Agent agent) {
  cluster_->issued(agent.number, who);
  const auto found = accesses_.read(first, bytes, who.thread, who.at, agent, cluster_->order);
  return found ? Found(conflict(what, *found, who.at, {agent.number, agent.clock, false})) : std::nullopt;
}

Found Shared::read_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                      Accesses::Agent agent, bool moves) {
  Found found = read_fenced_by(what, first, bytes, who, agent);
  if (found && !(moves && found->error.code == Errc::never_written)) return found;
  return unfenced_write(what, first, bytes, who, true);
}

Found Shared::read_by(std::string_view what, std::span<const Effects::MemoryRead> bytes, Who who,
                      Accesses::Agent agent) {
  cluster_->issued(agent.number, who);
  bool fenced = false;
  const bool at_once =
      accesses_.read_at_once(bytes, who.thread, who.thread, 1, who.at, agent, cluster_->order, fenced);
  if (at_once && fenced) return std::nullopt;
  for (const Effects::MemoryRead& one : bytes) {
    const auto first = static_cast<std::int64_t>(one.address), count = static_cast<std::int64_t>(one.bytes);
    if (Found found =
            at_once ? unfenced_write(what, first, count, who, true) : read_by(what, first, count, who, agent))
      return found;
  }
  return std::nullopt;
}

Found Shared::write_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                       Accesses::Agent agent, bool async) {
  Found read = overwritten(what, first, bytes, who);
  if (!read && async && fences_reads_) read = unfenced_read(what, first, bytes, who);
  cluster_->issued(agent.number, who);
  if (accesses_.write_at_once(first, bytes, who.thread, who.at, agent, cluster_->order)) return read;
  Found unfenced = async ? unfenced_write(what, first, bytes, who, false) : std::nullopt;
  const auto found = accesses_.write(first, bytes, who.thread, who.at, agent, cluster_->order);
  if (read) return read;
  Found out = found ? Found(conflict(what, *found, who.at, {agent.number, agent.clock, true})) : std::nullopt;
  return unfenced && (!out || is_worse(*unfenced, *out)) ? unfenced : out;
}

Found Shared::ends(Who who, const std::function<bool(std::int64_t)>& is_object) {
  const auto found = accesses_.foreign(0, static_cast<std::int64_t>(memory_.shared_bytes()), first_thread(),
                                       cluster_->stride(), who.thread, cluster_->order, is_object);
  if (!found) return std::nullopt;
  Fault out = conflict({}, *found, who.at);
  const bool arrives = !found->before_writes && is_object(found->byte);
  out.rule = arrives ? KernelRule::arrival_at_ended_block : KernelRule::block_ended;
  out.error = {
      Errc::protocol_violation,
      {},
      fmt::format("{} {} {:#x} of the shared memory of block {} of the cluster, which may have ended by then",
                  cluster_->name(found->before->thread, rank_),
                  arrives                ? "arrives at the mbarrier at"
                  : found->before_writes ? "writes byte"
                                         : "reads byte",
                  found->byte, rank_),
      fmt::format(
          "all threads of both blocks must execute a barrier.cluster after the last {} another block's {}",
          arrives ? "arrival at" : "access to", arrives ? "mbarrier" : "shared memory")};
  std::swap(static_cast<FaultSide&>(out), *out.other);
  out.what.clear();
  out.related.clear();
  out.other->what = fmt::format("block {} of the cluster ends", rank_);
  return out;
}

// ---- Order

void Shared::barrier() {
  if (cluster_->blocks() == 1) return order().barrier();
  std::vector<int> warps;
  for (int warp = 0; warp < cluster_->stride() / kWarp; ++warp) warps.push_back(first_warp() + warp);
  order().barrier_of(warps);
}

// ---- Accesses of instructions

Found Shared::read(std::string_view what, const LaneAccesses& of) {
  const auto found = accesses_.read(of, cluster_->order);
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, of.at, false);
}

Found Shared::write(std::string_view what, const LaneAccesses& of, Accesses::Written state) {
  const auto found = accesses_.write(of, cluster_->order, state);
  if (is_read())
    for (std::uint32_t rest = of.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (auto fault = overwritten(what, of.first[static_cast<std::size_t>(lane)], of.bytes,
                                   {of.warp * kWarp + lane, of.at}))
        return fault;
    }
  if (!found) return std::nullopt;
  return conflict_of_thread(what, *found, of.at, true);
}

Found Shared::copy_async(std::string_view what, const LaneAccesses& to,
                         const std::array<CopiedBytes, kWarp>& bytes) {
  Found found = write(what, to, Accesses::Written::pending);
  const std::uint16_t place = accesses_.number(to.at);
  for (std::uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto i = static_cast<std::size_t>(lane);
    begin_copy(to.first[i], to.bytes, bytes[i], to.warp * kWarp + lane, place);
  }
  return found;
}

Found Shared::apply(std::string_view what, const Effects& effects, int warp, Place at) {
  for (const Effects::MemoryRead& r : effects.memory_reads)
    if (auto fault = read(what, static_cast<std::int64_t>(r.address), static_cast<std::int64_t>(r.bytes),
                          {warp * kWarp + r.lane, at}))
      return fault;
  for (const Effects::MemoryWrite& w : effects.memory_writes) {
    if (auto fault = write(what, static_cast<std::int64_t>(w.address),
                           static_cast<std::int64_t>(w.bytes.size()), {warp * kWarp + w.lane, at}))
      return fault;
    (void)memory_.write(w.space, w.address, w.bytes);  // execute_warp has checked it
  }
  return std::nullopt;
}

// Lanes of two warps represent the rest: without a barrier, a lane's write must not be read by any lane of
// another warp.
Found Shared::read_as_group(std::string_view what, const Effects::MemoryRead& bytes, int group, Place at,
                            Accesses::Agent agent) {
  const int first = group * kWarpgroup, second = first + kWarp;
  for (const int reader : {first, second}) {
    auto found = accesses_.read(static_cast<std::int64_t>(bytes.address),
                                static_cast<std::int64_t>(bytes.bytes), reader, at, agent, cluster_->order);
    if (!found) continue;
    const bool by_first_warp = found->before && found->before->thread / kWarp == first / kWarp;
    found->thread = by_first_warp ? second : first;
    return of_group(group, conflict(what, *found, at));
  }
  return std::nullopt;
}

Found Shared::read_as_group(std::string_view what, std::span<const Effects::MemoryRead> bytes, int group,
                            Place at, Accesses::Agent agent, bool& fenced) {
  const int first = group * kWarpgroup;
  cluster_->issued(agent.number, {first, at});
  if (accesses_.read_at_once(bytes, first, first + kWarp, kWarpgroup, at, agent, cluster_->order, fenced))
    return std::nullopt;
  for (const Effects::MemoryRead& read : bytes)
    if (auto fault = read_as_group(what, read, group, at, agent)) return fault;
  return std::nullopt;
}

std::optional<Accesses::Unfenced> Shared::unfenced(std::uint64_t address, std::uint64_t bytes, int group) {
  return accesses_.unfenced(static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes),
                            group * kWarpgroup, kWarpgroup, cluster_->order);
}

// ---- Actors

std::uint64_t Shared::actor(Who who, bool is_product) {
  return (is_product ? kProduct : 0) | static_cast<std::uint64_t>(who.thread) << kPlaceBits |
         accesses_.number(who.at);
}

FaultSide Shared::side(std::uint64_t actor) const {
  const int thread = static_cast<int>((actor & ~kProduct) >> kPlaceBits);
  const Place at = accesses_.place(static_cast<std::uint16_t>(actor));
  if ((actor & kProduct) != 0)
    return {thread / kWarp, lanes_of(kAllLanes), at, kGroupWarps, 0, {}, {}, "issues the wgmma"};
  return side_of({thread, at}, "accesses the register");
}

Fault Shared::violated(Fault fault, const AsyncViolation& violation) const {
  fault.error = violation.error;
  fault.rule = violation.rule;
  if (violation.other) fault.other = side(*violation.other);
  if (violation.bytes)
    fault.address = {Space::shared, static_cast<std::int64_t>(violation.bytes->first), {}, rank_};
  return fault;
}

}  // namespace warpbit::block
