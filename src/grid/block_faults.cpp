// SPDX-License-Identifier: Apache-2.0
// What a block tells: where a fault is, what explains it, and which findings are of one cause.
#include "grid/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "api/checks.hpp"
#include "block/source_lines.hpp"
#include "grid/cluster.hpp"
#include "grid/pending.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

// A place in a fault of shared memory: a site, from 1 on.
constexpr const char* kStatement = "PTX";

// The name of a source file, which faults may keep for as long as the process lives.
const char* interned(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> all;
  const std::lock_guard lock(mutex);
  return all.insert(name).first->c_str();
}

}  // namespace

block::Who Block::who(const Warp& warp, const Step& step, int lane) {
  return {warp.number_in_cluster() * kLanes + lane, place(warp.site(step))};
}

block::Who Block::who(const Warp& warp, const Path& path) {
  const Step& step = warp.program().steps[static_cast<std::size_t>(path.pc)];
  return {warp.number_in_cluster() * kLanes, place(warp.site(step, path.stack))};
}

block::Place Block::place(std::int32_t site) {
  return {kStatement, static_cast<unsigned>(site + 1)};
}

// Faults of what kernels in C++ do, too, have a form alone.
void name_statement(const Program& program, Fault& fault) {
  if (fault.at.line == 0) return;
  const ptx::Statement& at = statement_of(origin_at(program, fault.at));
  std::string& where = fault.error.where;
  const bool is_form = where.starts_with(at.opcode) && where.find_first_of(" (") == where.npos;
  if (where.empty() || is_form) where = ptx::one_line(at.text);
}

void locate(const Program& program, Fault& fault) {
  using Chain = std::vector<SourceLink>;
  const auto one = [&](block::Place& at, int& ptx_line, Chain& chain) {
    if (at.line == 0) return;
    const auto append = [&](const Origin& origin) {
      const Chain own = chain_of(*program.module, *origin.function, statement_of(origin));
      chain.insert(chain.end(), own.begin(), own.end());
    };
    const auto stack = static_cast<int>((at.line - 1) / program.origins.size());
    for (const std::int32_t call : program.stacks->calls(stack))
      append(program.origins[static_cast<std::size_t>(call)]);
    append(origin_at(program, at));
    ptx_line = statement_of(origin_at(program, at)).position.line;
    at = {};
  };
  const auto tell = [](block::Place& at, const Chain& chain, const Chain& other) {
    if (chain.empty()) return;
    const SourceLink& told = chain[block::told_link(chain, other)];
    at = {interned(told.file), static_cast<unsigned>(told.line)};
  };
  one(fault.at, fault.ptx_line, fault.chain);
  if (fault.other) one(fault.other->at, fault.other->ptx_line, fault.other->chain);
  const bool has_sides = fault.other && fault.waiting.empty();
  tell(fault.at, fault.chain, has_sides ? fault.other->chain : Chain());
  if (fault.other) tell(fault.other->at, fault.other->chain, has_sides ? fault.chain : Chain());
  const auto alone = [&](auto& side) {
    one(side.at, side.ptx_line, side.chain);
    tell(side.at, side.chain, {});
  };
  std::ranges::for_each(fault.related, alone);
  std::ranges::for_each(fault.waiting, alone);
  fault.kernel = program.functions[static_cast<std::size_t>(program.entry)].function->name;
}

// With its places in the kernel.
Fault Block::located(Fault found) const {
  name_statement(grid_.program, found);
  if (found.address && found.address->space == Space::shared)
    found.address->name = async_.shared.name_of(found.address->byte);
  async_.cluster.locate(found, [&](int rank) -> device::Index3 {
    const Extent at = cluster_.blocks()[static_cast<std::size_t>(rank)]->index();
    return {at[0], at[1], at[2]};
  });
  locate(grid_.program, found);
  return found;
}

void Block::explain_by_phase(Fault& fault) const {
  name_statement(grid_.program, fault);
  const bool is_of_shared = fault.address && fault.address->space == Space::shared;
  if (fault.error.code == Errc::never_written && is_of_shared && async_.mbarriers.has(fault.address->byte)) {
    fault.error.seen = fmt::format("it reads the mbarrier at {}, whose contents are opaque",
                                   async_.shared.at(fault.address->byte / 8 * 8));
    fault.error.accepted =
        "an mbarrier must be used by mbarrier instructions alone (mbarrier.test_wait tells whether a phase is complete)";
  }
  if ((fault.error.code == Errc::data_race || fault.error.code == Errc::copy_pending) &&
      explain_by_waits(fault))
    return;
  async_.cluster.explain_by_phase(fault);
}

namespace {

// In a kernel whose warps part at barriers, one of all threads would be reached by some of them alone.
bool has_bar_arrive(const Program& program) {
  return std::ranges::any_of(program.steps, [](const Step& step) {
    return steps::what_runs(step) == steps::barrier && (step.target & steps::kWaits) == 0;
  });
}

// The statement of the barrier at which a warp waits and that stands between both accesses in the text; -1: none.
std::int32_t barrier_between(const Program& program, Warp& warp, const FaultSide& first,
                             const FaultSide& second) {
  const Origin &from = origin_at(program, first.at), &to = origin_at(program, second.at);
  for (const Path& path : warp.paths()) {
    const std::int32_t statement = program.steps[static_cast<std::size_t>(path.pc)].statement;
    if (path.waits_for != Waits::barrier || statement < 0) continue;
    const Origin& at = program.origins[static_cast<std::size_t>(statement)];
    const int line = statement_of(at).position.line;
    if (at.function == from.function && at.function == to.function && line > statement_of(from).position.line &&
        line < statement_of(to).position.line)
      return statement;
  }
  return -1;
}

// Whether a bulk copy of another warp stands behind the access, with no barrier between and in no loop: it begins too early.
bool is_behind(const Program& program, const Fault& fault) {
  const FaultSide& copy = *fault.other;
  const auto statement = [&](const FaultSide& side) { return number_at(program, side.at); };
  if (copy.warp == fault.warp || copy.at.line == 0 || fault.at.line == 0 ||
      (copy.what.find("copy") == copy.what.npos && copy.what.find("cp.async") == copy.what.npos))
    return false;
  const int at = statement(fault), begins = statement(copy);
  return origin_at(program, fault.at).function == origin_at(program, copy.at).function &&
         leads_to(program, at, begins, true) && !leads_to(program, begins, at, false);
}

}  // namespace

// What the warps of a fault have waited for in vain. Whether that is the cause, and where it is told.
bool Block::explain_by_waits(Fault& fault) const {
  std::vector<int> warps = {fault.warp};
  if (fault.other) warps.push_back(fault.other->warp);
  for (const int warp : warps) {
    const auto unread = async_.mbarriers.unread(warp), failed = async_.mbarriers.failed(warp);
    if (!unread && !failed) continue;
    const block::Mbarriers::AtObject& at = unread ? *unread : *failed;
    if (is_of_object(fault, at.address, warp)) {
      fault = block::told_at_cause(std::move(fault), at.who,
                                   {fault.error.code,
                                    {},
                                    unread ? "nothing reads its answer, so this warp has not waited"
                                           : "its answer was false, as it may be, and this warp has gone on",
                                    "it must be executed again until its answer is true"});
      return true;
    }
    const ptx::Statement& test = statement_of(origin_at(grid_.program, at.who.at));
    const int number = warp - async_.shared.first_warp();
    fault.error.accepted += fmt::format(
        fmt::runtime(unread ? " (nothing reads the answer of {} at PTX line {}, so warp {} has not waited)"
                            : " ({} at PTX line {} was false, as it may be, and warp {} has gone on)"),
        ptx::one_line(test.text), test.position.line, number);
    return false;
  }
  explain_by_others(fault);
  return false;
}

void Block::explain_by_others(Fault& fault) const {
  if (fault.error.code == Errc::copy_pending && async_.groups.has_waited_for_none(fault.warp) &&
      fault.error.accepted.find("wait_group") != std::string::npos)
    fault.error.accepted +=
        fmt::format(" (it waits for groups of the thread that executes it, and warp {} has none)",
                    fault.warp - async_.shared.first_warp());
  if (fault.other && !fault.other->lanes.empty() && fault.error.code == Errc::copy_pending)
    if (const auto wait = async_.groups.last_wait(fault.other->warp * kLanes + fault.other->lanes.front());
        wait && wait->pending != 0)
      fault.related.push_back(
          block::side_of(wait->who, fmt::format("waits for all groups but the last {}", wait->pending)));
  if (fault.other && fault.error.code == Errc::copy_pending && is_behind(grid_.program, fault)) {
    fault.error.seen += ", and no barrier came between this statement and that copy";
    fault.error.accepted = "a __syncthreads must come between this statement and the copy";
  }
  if (fault.other && fault.error.code == Errc::copy_pending)
    if (const auto cause = async_.mbarriers.cause_of_copy(fault.other->at)) {
      fault.error.seen += fmt::format(" ({})", cause->what);
      fault.error.accepted = cause->accepted;
      fault.related.push_back(block::side_of(cause->who, cause->label));
    }
  if (!fault.other || fault.error.code != Errc::data_race) return;
  if (fault.other->warps > 1 || fault.error.seen.find(block::kToldByLane) != std::string::npos)
    if (const auto phase = async_.mbarriers.seen_phase(fault.warp)) {
      const auto is_of_group = [&](const block::Who& one) {
        const int warp = one.thread / kLanes - fault.other->warp;
        return warp >= 0 && warp < fault.other->warps;
      };
      const auto arrival = std::find_if(phase->arrived.rbegin(), phase->arrived.rend(), is_of_group);
      if (arrival != phase->arrived.rend())
        fault.related.push_back(
            block::side_of(*arrival, "arrives at the mbarrier that this thread has waited for"));
    }
  const int first = async_.shared.first_warp(), now = fault.warp - first, before = fault.other->warp - first;
  if (std::min(now, before) >= 0 && std::max(now, before) < static_cast<int>(warps_.size())) {
    const std::int32_t at =
        barrier_between(grid_.program, *warps_[static_cast<std::size_t>(before)], *fault.other, fault);
    if (at >= 0 && !has_met_at(now, at) && (met_at_.empty() || met_at_[static_cast<std::size_t>(now)] != at)) {
      fault.error.accepted = fmt::format(
          "all warps must execute the barrier at PTX line {} (warp {} waits there, and warp {} has not come to it)",
          statement_of(grid_.program.origins[static_cast<std::size_t>(at)]).position.line, before, now);
      return;
    }
  }
  constexpr std::string_view kOfAll = "a __syncthreads must come between them";
  if (fault.error.accepted.starts_with(kOfAll) && has_bar_arrive(grid_.program))
    fault.error.accepted =
        "a bar.sync that counts the threads of both warps must come between them (bar.arrive waits for nobody)";
  if (!explain_by_count(fault, fault, *fault.other) && !explain_by_count(fault, *fault.other, fault) &&
      !explain_by_early_arrival(fault) && !explain_by_narrow(fault) && !explain_by_missing_arrival(fault) &&
      !explain_by_early_wait(fault))
    explain_by_barriers(fault);
}

void Block::fault(Fault found) {
  if (fault_) return;
  // The write may come, and then be in a race with this read. Of what tensor memory has not, no address is known.
  if (found.error.code == Errc::never_written && (found.address || async_.has_tensor()) &&
      !std::exchange(waits_for_write_, true)) {
    stuck_ = std::move(found);
    return;
  }
  explain_by_phase(found);
  fault_ = located(std::move(found));
}

namespace {

bool is_same_place(const FaultSide& x, const FaultSide& y) {
  return x.chain == y.chain && (!x.chain.empty() || x.ptx_line == y.ptx_line);
}
bool shares_line(const Fault& x, const Fault& y) {
  for (const FaultSide* one : {static_cast<const FaultSide*>(&x), x.other ? &*x.other : nullptr})
    for (const FaultSide* other : {static_cast<const FaultSide*>(&y), y.other ? &*y.other : nullptr})
      if (one != nullptr && other != nullptr && is_same_place(*one, *other)) return true;
  return false;
}
void unite(std::vector<int>& to, const std::vector<int>& more) {
  std::vector<int> all;
  std::ranges::set_union(to, more, std::back_inserter(all));
  to = std::move(all);
}
// Of accesses that nothing orders, or of bytes that were read too early.
bool is_of_order(const Fault& fault) {
  using enum KernelRule;
  return fault.rule == data_race || fault.rule == lanes_not_synchronised || fault.rule == copy_pending ||
         fault.rule == never_written;
}

}  // namespace

bool are_same(const Fault& x, const Fault& y) {
  if (x.rule != y.rule || x.error.code != y.error.code || x.other.has_value() != y.other.has_value())
    return false;
  if (is_same_place(x, y)) return !x.other || is_same_place(*x.other, *y.other);
  return x.other && is_same_place(x, *y.other) && is_same_place(*x.other, y);  // the other way round
}

void add(Finding& to, const Finding& one) {
  to.times += one.times;
  unite(to.warps, one.warps);
  unite(to.lanes, one.lanes);
}

namespace {

bool have_same_lines(const Fault& x, const Fault& y) {
  if (x.other.has_value() != y.other.has_value() || !x.other) return false;
  return (is_same_place(x, y) && is_same_place(*x.other, *y.other)) ||
         (is_same_place(x, *y.other) && is_same_place(*x.other, y));
}

void leave_out_weaker(std::vector<Finding>& all, const std::optional<Fault>& fault) {
  const auto is_weaker = [&](const Fault& one, const Fault& other) {
    return is_of_order(one) && is_of_order(other) && block::is_worse(other, one) && have_same_lines(one, other);
  };
  std::erase_if(all, [&](const Finding& one) { return fault && is_weaker(one.fault, *fault); });
  std::vector<Finding> out;
  for (const Finding& one : all)
    if (std::ranges::none_of(all, [&](const Finding& other) { return is_weaker(one.fault, other.fault); }))
      out.push_back(one);
  all = std::move(out);
}

}  // namespace

// Bytes that were read too early may be found before the race for them.
void find_causes(std::vector<Finding>& all, const std::optional<Fault>& fault) {
  leave_out_weaker(all, fault);
  const auto is_early_read = [](const Finding& one) { return one.fault.rule == KernelRule::never_written; };
  for (const bool early_reads : {false, true})
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!is_of_order(all[i].fault) || is_early_read(all[i]) != early_reads) continue;
      for (std::size_t k = 0; k < (early_reads ? all.size() : i) && all[i].cause < 0; ++k)
        if (is_of_order(all[k].fault) && !is_early_read(all[k]) && shares_line(all[i].fault, all[k].fault))
          all[i].cause = all[k].cause < 0 ? static_cast<int>(k) : all[k].cause;
    }
}

// A store that is in a race with the uses of a barrier object has hit the object by mistake.
void Block::blame_store(Fault& fault) const {
  const bool is_race = fault.error.code == Errc::data_race && fault.other && fault.address;
  if (!is_race || fault.address->space != Space::shared || !async_.mbarriers.has(fault.address->byte)) return;
  const int first = async_.shared.first_warp(), end = first + static_cast<int>(warps_.size());
  const auto is_use = [&](const FaultSide& side) {
    return statement_of(origin_at(grid_.program, side.at)).is->does == ptx::Does::mbarrier;
  };
  const auto is_own = [&](const FaultSide& side) { return side.warp >= first && side.warp < end; };
  if (is_use(fault) == is_use(*fault.other) || !is_own(fault) || !is_own(*fault.other)) return;
  if (is_use(fault)) std::swap(static_cast<FaultSide&>(fault), *fault.other);
  fault.what.clear();
  fault.other->what = "uses the mbarrier";
  fault.related.clear();
  fault.rule = KernelRule::mbarrier_overwritten;
  fault.error = {Errc::barrier_misused,
                 {},
                 fmt::format("it overwrites the mbarrier at {}, which is in use",
                             async_.shared.at(fault.address->byte / 8 * 8)),
                 "store the data elsewhere, or execute mbarrier.inval before this statement"};
}

bool Block::allows(block::Found found) {
  if (!found) return true;
  blame_store(*found);
  const Grade grade =
      found->rule == KernelRule::none ? Grade::fault : grid_.grades[static_cast<std::size_t>(found->rule)];
  if (grade == Grade::fault) return fault(*std::move(found)), false;
  if (grade == Grade::silent) return true;
  explain_by_phase(*found);
  const std::array<unsigned, 3> key = {static_cast<unsigned>(found->rule), found->at.line,
                                       found->other ? found->other->at.line : 0};
  const int warp = found->warp % (async_.shared.cluster().stride() / kLanes);
  Finding one{{}, 1, grade, {warp}, found->lanes};
  const auto [known, is_new] = known_.try_emplace(key, findings_.size());
  if (!is_new) return add(findings_[known->second], one), true;
  one.fault = located(*std::move(found));
  const auto is_same = [&](const Finding& other) { return are_same(other.fault, one.fault); };
  const auto same = std::ranges::find_if(findings_, is_same);
  known->second = static_cast<std::size_t>(same - findings_.begin());
  same == findings_.end() ? findings_.push_back(std::move(one)) : add(*same, one);
  return true;
}

void Block::fault(Warp& warp, const Path& path, Lanes lanes, Error error) {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  Fault out = block::fault_of(who(warp, step, 0), std::move(error));
  out.lanes = block::lanes_of(lanes);
  fault(std::move(out));
}

}  // namespace warpbit::grid
