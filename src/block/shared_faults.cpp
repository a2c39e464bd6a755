// SPDX-License-Identifier: Apache-2.0
// What is told of conflicts in shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block/shared.hpp"

namespace warpbit::block {

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
      fmt::format("{} the destination of a cp.async of {} that is not complete (it is in {})",
                  bytes_text(conflict.byte, conflict.last, "is", "are"), who,
                  committed ? fmt::format("group {} of {}", copy->group + 1, copier.group) : "no group yet"),
      fmt::format("{} must execute {}{} before this statement", who,
                  committed ? fmt::format("cp.async.wait_group {}", copier.group - copy->group - 1)
                            : "cp.async.wait_all (or cp.async.commit_group and then cp.async.wait_group 0)",
                  writer == thread ? "" : ", and then a barrier together with this thread,")};
  const bool waits_for_too_few = committed && copier.waited_for == copier.group && copier.waited_pending != 0;
  if (!waits_for_too_few || copier.waited.line == 0) return;
  fault.error.where = what.empty() ? "" : "cp.async.wait_group";  // without a name it has that of its statement
  fault.error.seen = fmt::format(
      "it waits for all groups but the last{}, and {} accesses {}, the destination of a cp.async of {} that is "
      "not complete (it is in group {} of {})",
      copier.waited_pending == 1 ? "" : fmt::format(" {}", copier.waited_pending),
      cluster_->name(thread, rank_), bytes_text(conflict.byte, conflict.last), who, copy->group + 1,
      copier.group);
  fault.error.accepted = fmt::format(
      "this statement must be cp.async.wait_group {}, or each step must commit a group, an empty one, too",
      copier.group - copy->group - 1);
  fault.other = static_cast<FaultSide&>(fault);
  fault.other->what = "accesses " + bytes_text(conflict.byte, conflict.last);
  fault.warp = writer / kWarp;
  fault.lanes = {writer % kWarp};
  fault.at = copier.waited;
}

// A bulk copy, or an operation on tensor memory, is the other side: it is still on its way, or who accesses its bytes has not waited for it.
Error Shared::by_agent(std::string_view what, const Accesses::Conflict& conflict) const {
  const Accesses::Access& before = *conflict.before;
  const Who by = cluster_->who(before.thread, before.at);
  const bool is_on_its_way = conflict.kind == Accesses::Conflict::Kind::pending;
  std::string advice = cluster_->advice(before.thread, before.clock);
  constexpr std::string_view kFirst = " first";
  // Nobody waits for an object of another block: who may must tell.
  if (const int rank = cluster_->rank_of(conflict.thread);
      rank != rank_ && advice.starts_with("wait for phase") && advice.ends_with(kFirst))
    advice = fmt::format(
        "a thread there must {}, and then arrive at an mbarrier of block {} for which this thread waits, or both blocks "
        "must meet at a barrier.cluster",
        advice.substr(0, advice.size() - kFirst.size()), rank);
  return {Errc::copy_pending, std::string(what),
          fmt::format("{} {} by {} of {}, which {}", bytes_text(conflict.byte, conflict.last, "is", "are"),
                      conflict.before_writes ? "written" : "read", cluster_->work(before.thread, before.at),
                      cluster_->name(by.thread, rank_),
                      is_on_its_way ? "is not complete" : "has not been waited for"),
          std::move(advice)};
}

Error Shared::race(std::string_view what, const Accesses::Conflict& conflict, Place at, bool writes) const {
  const Accesses::Access& before = *conflict.before;
  const int by = cluster_->who(before.thread, before.at).thread, rank = cluster_->rank_of(conflict.thread);
  const auto flaw = flaw_of(conflict);
  const bool is_early = is_early_read(conflict, flaw), is_one = conflict.byte == conflict.last;
  const std::string first = fmt::format("{} {} by", bytes_text(conflict.byte, conflict.last, "was", "were"),
                                        conflict.before_writes ? "written" : "read");
  const bool is_own = cluster_->rank_of(by) == rank;
  if (cluster_->order.is_agent(before.thread))
    return {
        Errc::data_race, std::string(what),
        fmt::format("{} a wgmma of {}, and {}", first, cluster_->group_name(by, rank),
                    has_waited(conflict, by) ? "this warp has waited for its own part only"
                                             : "nothing orders that before this statement"),
        fmt::format(
            "all four warps must execute wgmma.wait_group 0, and then a {} together with this thread, or each "
            "of them must arrive at an mbarrier that this thread waits for, before this statement",
            is_own ? "barrier (bar.sync)" : "barrier.cluster")};
  const bool same_warp = by / kWarp == conflict.thread / kWarp;
  const int teller =
      same_warp || is_early ? -1 : cluster_->order.told_by_lane(before.thread, before.clock, conflict.thread);
  const std::string told = teller < 0 ? "" : fmt::format("lane {}{}", teller % kWarp, kToldByLane);
  const std::string must_meet = fmt::format(
      "a __syncwarp must come between that {} and the arrival, or the store of the flag, by the other lane",
      conflict.before_writes ? "write" : "read");
  // Where warps have parted, a barrier of all of them would never be complete.
  const bool have_parted = cluster_->flow && cluster_->flow(before.at, at) == Cluster::Flow::apart;
  const Unordered found{
      is_early ? "this write and that read" : both_accesses(conflict.before_writes, writes),
      is_early ? std::nullopt : flaw,
      cluster_->order.is_open(before.thread, before.clock, conflict.thread),
      is_own ? Scope::cta : Scope::cluster,
      same_warp ? "a __syncwarp must come between them, or a __syncthreads if other warps use these bytes, too"
      : teller >= 0 ? std::string_view(must_meet)
      : !is_own ? "a barrier.cluster, or an arrival at an mbarrier and a wait for it, must come between them"
      : have_parted
          ? "an arrival at an mbarrier and a wait for it, or a bar.sync that counts the threads of both "
            "warps, must come between them"
          : "a __syncthreads must come between them",
      told,
      !is_early && is_weak_read(conflict, at, writes),
      conflict.misfit,
      cluster_->order.use_at(before.at),
      cluster_->order.use_at(at)};
  const std::string_view when = !is_early ? "" : is_one ? kBeforeWrittenOne : kBeforeWritten;
  return unordered(what, fmt::format("{} {}{}", first, cluster_->name(by, rank), when), found);
}

// The write must come first, whatever nearly makes it wait for the read. A strong read may wait for the write by itself.
bool Shared::is_early_read(const Accesses::Conflict& conflict, const std::optional<Flaw>& flaw) const {
  return conflict.was_unwritten && !conflict.before->strong &&
         !cluster_->order.is_agent(conflict.before->thread) && (!flaw || flaw->kind == Flaw::Kind::early);
}

// What nearly orders both; of atomics that do not reach each other, nothing.
std::optional<Flaw> Shared::flaw_of(const Accesses::Conflict& conflict) const {
  const Accesses::Access& before = *conflict.before;
  auto out = cluster_->order.nearly_before(before.thread, before.clock, conflict.thread);
  if (!out && conflict.misfit == Misfit::none)
    return cluster_->order.written_early(before.thread, before.clock, conflict.thread);
  const bool is_none =
      conflict.misfit == Misfit::scope ||
      (may_be_flags(conflict.misfit) && out &&
       cluster_->order.is_flag_itself(*out, {before.thread, before.at}, before.clock, conflict.thread));
  return is_none ? std::nullopt : out;
}

// Of a plain load and a strong write by statements.
bool Shared::is_weak_read(const Accesses::Conflict& conflict, Place at, bool writes) const {
  const bool is_strong_now = cluster_->order.use_at(at).bytes != 0,
             was_strong = conflict.before->strong && cluster_->order.use_at(conflict.before->at).bytes != 0;
  return (conflict.before_writes && was_strong && !writes && !is_strong_now) ||
         (writes && is_strong_now && !conflict.before_writes && !conflict.before->strong);
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
         cluster_->order.told_by_lane(before.thread, before.clock, conflict.thread) >= 0;
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
  if (conflict.misfit != Misfit::scope &&
      (cluster_->order.are_in_turn(before.thread, before.clock, conflict.thread) || is_told_by_lane(conflict)))
    return KernelRule::lanes_not_synchronised;
  return rule_of_race(flaw_of(conflict), conflict.misfit);
}

Fault Shared::told(std::string_view what, const Accesses::Conflict& conflict, Place at, bool writes) const {
  using Kind = Accesses::Conflict::Kind;
  Fault out = fault_of({conflict.thread, at}, {}, rule_of(conflict));
  out.address = {Space::shared, conflict.byte, {}, rank_};
  if (conflict.before) {
    const Who by = cluster_->who(conflict.before->thread, conflict.before->at);
    out.other = side_of(by, fmt::format("{} {}", conflict.before_writes ? "writes" : "reads",
                                        bytes_text(conflict.byte, conflict.last)));
    if (conflict.kind == Kind::pending) out.other->what = "issues the cp.async";
    if (cluster_->copies(conflict.before->thread)) {
      out.other->what = fmt::format("issues {}", cluster_->work(conflict.before->thread, conflict.before->at));
      out.error = by_agent(what, conflict);
      return out;
    }
    if (cluster_->order.is_agent(conflict.before->thread))
      out.other =
          FaultSide{by.thread / kWarp, lanes_of(kAllLanes), by.at, kGroupWarps, 0, {}, {}, "issues the wgmma"};
  }
  switch (conflict.kind) {
    case Kind::never_written:
      out.error = {
          Errc::never_written, std::string(what),
          fmt::format("{} of shared memory {} never been written", bytes_text(conflict.byte, conflict.last),
                      conflict.byte == conflict.last ? "has" : "have"),
          fmt::format("{} must be written before this statement",
                      conflict.byte == conflict.last ? "it" : "they")};
      break;
    case Kind::pending: tell_pending(out, what, conflict); break;
    case Kind::race:
      out.error = race(what, conflict, at, writes);
      if (const auto flaw = flaw_of(conflict);
          !cluster_->order.is_agent(conflict.before->thread) && !is_early_read(conflict, flaw))
        add_flag(out, flaw);
      break;
  }
  return out;
}

// No barrier stands between both sides, so either may come first. A person looks for it before the one that stands behind
// the other in the program.
Fault Shared::conflict(std::string_view what, const Accesses::Conflict& conflict, Place at,
                       const Actor& now) const {
  const bool is_race = conflict.kind == Accesses::Conflict::Kind::race;
  if (!is_race || !cluster_->flow || cluster_->order.is_agent(conflict.before->thread) ||
      cluster_->flow(at, conflict.before->at) != Cluster::Flow::follows)
    return told(what, conflict, at, now.writes);
  const Accesses::Conflict turned{
      conflict.kind,
      conflict.before->thread,
      conflict.byte,
      conflict.last,
      Accesses::Access{now.number, at, now.clock, cluster_->order.use_at(at).bytes != 0},
      now.writes,
      conflict.misfit};
  Fault out = told(what, turned, conflict.before->at, conflict.before_writes);
  if (!cluster_->order.is_agent(now.number)) out.rule = rule_of(conflict);
  return out;
}

Fault Shared::conflict_of_thread(std::string_view what, const Accesses::Conflict& conflict, Place at,
                                 bool writes) const {
  return Shared::conflict(what, conflict, at,
                          {conflict.thread, cluster_->order.clock(conflict.thread), writes});
}

// ---- Fences between proxies

namespace {

/// What the generic proxy did before the async proxy does something.
struct UnfencedWords {
  std::string_view done, noun, does;
  KernelRule rule;
};
constexpr UnfencedWords kUnfencedWrite{"written", "write", "writes", KernelRule::proxy_fence},
    kUnfencedRead{"read", "read", "reads", KernelRule::proxy_fence_read};

Fault unfenced_fault(std::string_view what, Who who, const Accesses::Unfenced& found, const Cluster& cluster,
                     int rank, const UnfencedWords& words) {
  const Accesses::Access& before = found.write;
  const std::string bytes = bytes_text(found.first, found.last);
  Fault out = fault_of(
      who,
      {Errc::protocol_violation, std::string(what),
       fmt::format(
           "{} {} by {}{} through the generic proxy, and no fence.proxy.async that orders {} came before "
           "this statement",
           bytes_text(found.first, found.last, "was", "were"), words.done, cluster.name(before.thread, rank),
           found.has_others ? " and others" : "",
           found.has_others ? fmt::format("those {}s", words.noun) : fmt::format("that {}", words.noun)),
       must_fence_proxy(before.thread, who.thread, words.noun, found.has_others)},
      words.rule);
  out.address = {Space::shared, found.first, {}, rank};
  out.other = side_of({before.thread, before.at},
                      fmt::format("{} {}", words.does, found.has_others ? "some of these bytes" : bytes));
  return out;
}

}  // namespace

Found Shared::unfenced_write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                             bool reads) {
  std::optional<Accesses::Unfenced> found;
  for (const std::int64_t end = first + bytes; first < end; first = found->last + 1) {
    found = accesses_.unfenced(first, end - first, who.thread, 1, cluster_->order);
    if (!found || reads || std::ranges::find(need_no_fence_, found->write.at) == need_no_fence_.end()) break;
    if (found->last + 1 >= end) return std::nullopt;
  }
  if (!found) return std::nullopt;
  return unfenced_fault(what, who, *found, *cluster_, rank_, kUnfencedWrite);
}

Found Shared::unfenced_read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) {
  const auto found = accesses_.unfenced_read(first, bytes, who.thread, cluster_->order);
  if (!found) return std::nullopt;
  return unfenced_fault(what, who, *found, *cluster_, rank_, kUnfencedRead);
}

}  // namespace warpbit::block
