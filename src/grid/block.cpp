// SPDX-License-Identifier: Apache-2.0
#include "grid/block.hpp"

#include "api/checks.hpp"
#include "async/tensor.hpp"
#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/pending.hpp"
#include "grid/steps.hpp"
#include "ptx/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

namespace warpbit::grid {
namespace {

std::string threads(std::uint32_t count) {
  return count == 0 ? "all threads" : fmt::format("{} threads", count);
}

}  // namespace

Block::Block(const Grid& grid, Cluster& cluster, int rank, Extent index)
    : grid_(grid),
      cluster_(cluster),
      rank_(rank),
      index_(index),
      async_(
          cluster.async(), rank, grid.shared_bytes,
          [this](block::Found found) { return allows(std::move(found)); }, kSharedWindow, grid.check_shared) {
  async_.shared.give(grid.program.reserved_bytes);
  async_.shared.name_of = [this](std::int64_t byte) { return name_of_shared(grid_.program, byte); };
  if (is_told(KernelRule::proxy_fence_read)) async_.shared.fence_reads();
  if (is_told(KernelRule::mbarrier_init_proxy)) async_.mbarriers.fence_own_inits();
  if (grid.watched != nullptr) {
    const device::Index3& at = grid.watched->observed_block;
    watch_.emplace(grid.program, *grid.watched, grid.watched->observe && index == Extent{at.x, at.y, at.z});
  }
  for (const GlobalMemory::Range& range : grid.memory.ranges())
    (void)memory().view_global(range.address, {range.data, range.bytes});  // ranges do not overlap
  const std::uint32_t threads = grid.threads[0] * grid.threads[1] * grid.threads[2];
  const int warps = static_cast<int>((threads + kLanes - 1) / kLanes);
  for (int w = 0; w < warps; ++w) {
    warps_.push_back(std::make_unique<Warp>(*this, grid.program, w, lanes_of(static_cast<std::size_t>(w))));
  }
  for (Barrier& barrier : barriers_) barrier.warps.resize(static_cast<std::size_t>(warps));
  ended_.resize(static_cast<std::size_t>(warps));
}

void Block::ends(const Warp& warp, block::Who who) {
  last_ = ended_[static_cast<std::size_t>(warp.number())] = who;
}

// Those that a warp begins with.
Lanes Block::lanes_of(std::size_t warp) const {
  const std::size_t rest = std::size_t{grid_.threads[0]} * grid_.threads[1] * grid_.threads[2] - warp * kLanes;
  return rest >= kLanes ? kAllLanes : (Lanes{1} << rest) - 1;
}

// Static and dynamic ones, in the unit in which they are allocated (PTX manual, "%total_smem_size").
std::uint64_t Block::own_shared_bytes() const {
  const std::uint64_t unit = grid_.program.target.row().features.has(Feature::sm_80) ? 128 : 256;
  return (grid_.shared_bytes - grid_.program.reserved_bytes + unit - 1) / unit * unit;
}

std::uint64_t Block::special(ptx::Special special, int warp, int lane) const {
  using enum ptx::Special;
  const auto thread = static_cast<std::uint32_t>(warp * kLanes + lane);
  const Extent &n = grid_.threads, &c = grid_.cluster;
  const std::uint64_t lane_bit = std::uint64_t{1} << lane;
  switch (special) {
    case tid_x: return thread % n[0];
    case tid_y: return thread / n[0] % n[1];
    case tid_z: return thread / n[0] / n[1];
    case ntid_x: return n[0];
    case ntid_y: return n[1];
    case ntid_z: return n[2];
    case ctaid_x: return index_[0];
    case ctaid_y: return index_[1];
    case ctaid_z: return index_[2];
    case nctaid_x: return grid_.blocks[0];
    case nctaid_y: return grid_.blocks[1];
    case nctaid_z: return grid_.blocks[2];
    case clusterid_x: return index_[0] / c[0];
    case clusterid_y: return index_[1] / c[1];
    case clusterid_z: return index_[2] / c[2];
    case nclusterid_x: return grid_.blocks[0] / c[0];
    case nclusterid_y: return grid_.blocks[1] / c[1];
    case nclusterid_z: return grid_.blocks[2] / c[2];
    case cluster_ctaid_x: return index_[0] % c[0];
    case cluster_ctaid_y: return index_[1] % c[1];
    case cluster_ctaid_z: return index_[2] % c[2];
    case cluster_nctaid_x: return c[0];
    case cluster_nctaid_y: return c[1];
    case cluster_nctaid_z: return c[2];
    case cluster_ctarank: return static_cast<std::uint64_t>(rank_);
    case cluster_nctarank: return std::uint64_t{c[0]} * c[1] * c[2];
    case is_explicit_cluster: return grid_.has_clusters ? 1 : 0;
    case laneid: return static_cast<std::uint64_t>(lane);
    case warpid: return static_cast<std::uint64_t>(warp);
    case nwarpid: return warps_.size();
    case lanemask_eq: return lane_bit;
    case lanemask_lt: return lane_bit - 1;
    case lanemask_le: return 2 * lane_bit - 1;
    case lanemask_gt: return kAllLanes & ~(2 * lane_bit - 1);
    case lanemask_ge: return kAllLanes & ~(lane_bit - 1);
    case nsmid: return 132;  // of an H100; the manual leaves it open
    case reserved_smem_offset_begin:
    case reserved_smem_offset_0: return shared_base();
    case total_smem_size: return own_shared_bytes();
    case aggr_smem_size: return own_shared_bytes() + kReservedShared;
    case reserved_smem_offset_cap: return kReservedShared;
    case reserved_smem_offset_end: return shared_base() + kReservedShared;
    case reserved_smem_offset_1: return shared_base() + kReservedShared / 2;  // left to the driver
    case envreg1: return kWorkspace >> 32;
    case envreg2: return kWorkspace & 0xFFFF'FFFF;
    case dynamic_smem_size: return grid_.shared_bytes - grid_.program.shared_bytes;
    default: return 0;
  }
}

Products& Block::products() {
  if (!products_) products_ = std::make_unique<Products>(*this);
  return *products_;
}

bool Block::touches(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  if (!products_) return true;
  return allows(products_->touch(warp, path, step, lanes));
}

void Block::executed(std::int32_t freedom, const Warp& warp, Lanes lanes) const {
  const Extent &n = grid_.threads, &blocks = grid_.blocks;
  const std::uint64_t block = (std::uint64_t{index_[2]} * blocks[1] + index_[1]) * blocks[0] + index_[0];
  const auto in_block = static_cast<std::uint64_t>(warp.number() * kLanes + std::countr_zero(lanes));
  const std::uint64_t thread = block * n[0] * n[1] * n[2] + in_block;
  grid_.executors[freedom].add(std::has_single_bit(lanes) ? thread : Executors::kSeveral - 1);
}

// ---- Faults

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
  const auto one = [&](block::Place& at, int& ptx_line, std::vector<SourceLink>& chain) {
    if (at.line == 0) return;
    const auto append = [&](const Origin& origin) {
      const std::vector<SourceLink> own = chain_of(*program.module, *origin.function, statement_of(origin));
      chain.insert(chain.end(), own.begin(), own.end());
    };
    const auto stack = static_cast<int>((at.line - 1) / program.origins.size());
    for (const std::int32_t call : program.stacks->calls(stack))
      append(program.origins[static_cast<std::size_t>(call)]);
    append(origin_at(program, at));
    ptx_line = statement_of(origin_at(program, at)).position.line;
    at = {};
    if (!chain.empty()) at = {interned(chain.front().file), static_cast<unsigned>(chain.front().line)};
  };
  one(fault.at, fault.ptx_line, fault.chain);
  if (fault.other) one(fault.other->at, fault.other->ptx_line, fault.other->chain);
  for (FaultSide& side : fault.related) one(side.at, side.ptx_line, side.chain);
  for (FaultWaiters& row : fault.waiting) one(row.at, row.ptx_line, row.chain);
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
  if (fault.error.code == Errc::data_race || fault.error.code == Errc::copy_pending) explain_by_waits(fault);
  async_.cluster.explain_by_phase(fault);
}

// What the warps of a fault have waited for in vain.
void Block::explain_by_waits(Fault& fault) const {
  std::vector<int> warps = {fault.warp};
  if (fault.other) warps.push_back(fault.other->warp);
  for (const int warp : warps) {
    const auto unread = async_.mbarriers.unread(warp), failed = async_.mbarriers.failed(warp);
    if (!unread && !failed) continue;
    const ptx::Statement& test = statement_of(origin_at(grid_.program, (unread ? *unread : *failed).at));
    const int number = warp - async_.shared.first_warp();
    fault.error.accepted += fmt::format(
        fmt::runtime(unread ? " (nothing reads the answer of {} at PTX line {}, so warp {} has not waited)"
                            : " ({} at PTX line {} was false, as it may be, and warp {} has gone on)"),
        ptx::one_line(test.text), test.position.line, number);
    return;
  }
  if (fault.error.code == Errc::copy_pending && async_.groups.has_waited_for_none(fault.warp) &&
      fault.error.accepted.find("wait_group") != std::string::npos)
    fault.error.accepted +=
        fmt::format(" (it waits for groups of the thread that executes it, and warp {} has none)",
                    fault.warp - async_.shared.first_warp());
  if (fault.other && fault.error.code == Errc::data_race) explain_by_barriers(fault);
}

// The two warps of a race were at different statements when all warps met last.
void Block::explain_by_barriers(Fault& fault) const {
  const auto met_at = [&](int warp) {
    const auto in_block = static_cast<std::size_t>(warp - async_.shared.first_warp());
    return in_block < met_at_.size() ? met_at_[in_block] : -1;
  };
  const std::int32_t mine = met_at(fault.warp), others = met_at(fault.other->warp);
  if (mine < 0 || others < 0 || mine == others) return;
  std::map<std::int32_t, std::vector<int>> warps;
  for (std::size_t w = 0; w < met_at_.size(); ++w)
    if (met_at_[w] >= 0) warps[met_at_[w]].push_back(static_cast<int>(w));
  std::string all;
  for (const auto& [statement, here] : warps) {
    const Origin& origin = grid_.program.origins[static_cast<std::size_t>(statement)];
    const ptx::Statement& at = statement_of(origin);
    const std::string lines = own_lines(chain_of(*grid_.program.module, *origin.function, at));
    all +=
        fmt::format("{}{} {} {}at PTX line {}{}", all.empty() ? "" : ", ", here.size() == 1 ? "warp" : "warps",
                    ranges(here), all.empty() ? "met the last barrier " : "", at.position.line,
                    lines.empty() ? "" : fmt::format(" ({})", lines));
  }
  fault.error.accepted += fmt::format(" ({}, so their barriers are out of step)", all);
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
                 "data must lie elsewhere, or mbarrier.inval must come before this statement"};
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

// ---- Barriers

// In whole warps.
std::uint32_t Block::expected(std::uint32_t threads) const {
  return threads == 0 ? static_cast<std::uint32_t>(warps_.size()) * kLanes : threads;
}

// PTX manual, "barrier": threads are counted "in multiple of warp size".
std::uint32_t Block::counted(Barrier::OfWarp& of, std::size_t warp, Lanes lanes, bool is_aligned) const {
  if (is_aligned) return kLanes;
  const Lanes all = lanes_of(warp);
  of.part |= lanes;
  if ((all & ~of.part) != 0) return static_cast<std::uint32_t>(lanes_in(lanes));
  of.part = 0;
  return static_cast<std::uint32_t>(lanes_in(lanes | ~all));
}

// One of all threads waits for none that has ended.
bool Block::complete(const Barrier& barrier) const {
  bool all = barrier.threads == 0;
  for (std::size_t w = 0; all && w < warps_.size(); ++w)
    all = (warps_[w]->alive() & ~barrier.warps[w].here) == 0;
  return all || barrier.arrived >= expected(barrier.threads);
}

// What comes before each arrival is ordered before what follows the waits. A barrier with a thread count orders no warp that
// has ended.
void Block::order(const Barrier& barrier, int number) {
  block::Shared& shared = async_.shared;
  Lanes none = 0;
  std::vector<Lanes> waiting(warps_.size(), none);
  bool all = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    for (const Path& path : warps_[w]->paths())
      if (path.waits_for == Waits::barrier && path.barrier == number) waiting[w] |= path.lanes;
    const Lanes alive = warps_[w]->alive();
    all = all && waiting[w] == alive && (alive != 0 || barrier.threads == 0);
  }
  if (all) {
    met_at_.assign(warps_.size(), -1);
    for (std::size_t w = 0; w < warps_.size(); ++w)
      if (waiting[w] != 0)
        met_at_[w] = grid_.program.steps[static_cast<std::size_t>(warps_[w]->paths().front().pc)].statement;
    return shared.barrier();
  }
  block::Knowledge together = barrier.released;
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (const Lanes lanes = barrier.warps[w].deferred; lanes != 0)
      shared.release(static_cast<int>(w), lanes, together);
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (waiting[w] != 0) shared.acquire(static_cast<int>(w), together);
}

// A GPU waits for no thread that has ended. One that has never come may have had nothing to do.
void Block::check_ended(int number, const Barrier& barrier) {
  if (barrier.threads != 0) return;
  const auto waits = [&](const Path& path) {
    return path.waits_for == Waits::barrier && path.barrier == number;
  };
  for (const auto& [left, last] : came_[static_cast<std::size_t>(number)]) {
    if (warps_[static_cast<std::size_t>(left)]->alive() != 0) continue;
    for (const std::unique_ptr<Warp>& warp : warps_)
      if (const auto path = std::ranges::find_if(warp->paths(), waits); path != warp->paths().end()) {
        const Step& step = grid_.program.steps[static_cast<std::size_t>(path->pc)];
        Fault out = block::fault_of(
            who(*warp, step, 0),
            {Errc::threads_diverge,
             {},
             fmt::format(
                 "warp {} has ended and cannot execute it (a barrier without a count of threads is for all "
                 "threads of the block)",
                 left),
             fmt::format(
                 "warp {} must execute it before it ends, or this barrier must count the threads that still come",
                 left)},
            KernelRule::barrier_after_end);
        out.lanes = block::lanes_of(path->lanes);
        out.other = end_of(left);
        out.related.push_back(
            block::side_of_warp(last, fmt::format("the last barrier {} of warp {}", number, left)));
        return void(allows(std::move(out)));
      }
  }
}

FaultSide Block::end_of(int warp) const {
  return block::side_of_warp(ended_[static_cast<std::size_t>(warp)], fmt::format("warp {} ends", warp));
}

void Block::release(int number, Barrier& barrier) {
  check_ended(number, barrier);
  order(barrier, number);
  ++checked.barriers;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (Path& path : warp->paths()) {
      if (path.waits_for != Waits::barrier || path.barrier != number) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      const Place& to = step.place[0];
      if (to.kind == Place::Kind::predicate) {
        const bool any = barrier.reduction == Reduction::any;
        const bool holds = any ? barrier.predicates > 0 : barrier.predicates == barrier.lanes;
        warp->set(path, to, path.lanes, holds ? kAllLanes : 0);
      } else if (to.exists()) {
        for_each_lane(path.lanes, [&](int lane) { warp->write(path, to, lane, barrier.predicates); });
      }
      path.waits_for = Waits::none;
      path.waits = false;
      ++path.pc;
      moved_ = true;
    }
  async_.cluster.happened();
  barrier = {std::vector<Barrier::OfWarp>(warps_.size())};
}

std::optional<Error> Block::misused(const Arrival& arrival) const {
  const Barrier& barrier = barriers_[static_cast<std::size_t>(arrival.barrier)];
  const auto error = [&](std::string seen, std::string accepted) {
    return Error{Errc::barrier_misused, {}, std::move(seen), std::move(accepted)};
  };
  if (!barrier.in_use) return std::nullopt;
  if (expected(barrier.threads) != expected(arrival.threads))
    return error(fmt::format("barrier {} for {}", arrival.barrier, threads(arrival.threads)),
                 fmt::format("its first arrival was for {}", threads(barrier.threads)));
  if ((barrier.reduction == Reduction::none) != (arrival.reduction == Reduction::none))
    return error(fmt::format("barrier {} with and without .red", arrival.barrier),
                 "all warps that meet there must have it, or none");
  return std::nullopt;
}

Next Block::arrive(Warp& warp, Path& path, Lanes lanes, const Arrival& arrival) {
  if (auto error = misused(arrival)) return warp.fault(path, lanes, *std::move(error));
  Barrier& barrier = barriers_[static_cast<std::size_t>(arrival.barrier)];
  const auto number = static_cast<std::size_t>(warp.number());
  Barrier::OfWarp& of = barrier.warps[number];
  of.here |= lanes;
  barrier.arrived += counted(of, number, lanes, arrival.is_aligned);
  barrier.threads = barrier.in_use ? std::min(barrier.threads, arrival.threads) : arrival.threads;
  barrier.reduction = arrival.reduction;
  barrier.predicates += static_cast<std::uint32_t>(lanes_in(arrival.predicate & lanes));
  barrier.lanes += static_cast<std::uint32_t>(lanes_in(lanes));
  barrier.in_use = true;
  if (arrival.threads == 0 && is_told(KernelRule::barrier_after_end)) {
    const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
    came_[static_cast<std::size_t>(arrival.barrier)].insert_or_assign(warp.number(), who(warp, step, 0));
  }
  const Lanes all = arrival.is_aligned ? kAllLanes : lanes;  // an aligned one is of the whole warp
  if (arrival.waits && lanes == warp.alive())
    of.deferred |= all;
  else
    async_.shared.release(warp.number(), all, barrier.released);
  if (arrival.waits) {
    warp.keep(path, lanes);
    path.waits_for = Waits::barrier;
    path.barrier = arrival.barrier;
    path.waits = true;
  }
  const bool done = complete(barrier);
  if (done) release(arrival.barrier, barrier);
  if (!arrival.waits) return Next::step;
  return done ? Next::moved : Next::wait;
}

// The paths of the four warps at this step.
Next Block::meet_group(Warp& warp, Path& path, const Step& step) {
  path.waits = true;
  path.waits_for = Waits::warpgroup;
  std::vector<steps::Gathered> all;
  const int first = warp.number() / 4 * 4;
  for (int w = first; w < first + 4 && w < static_cast<int>(warps_.size()); ++w)
    for (Path& other : warps_[static_cast<std::size_t>(w)]->paths())
      if (other.pc == path.pc && other.waits_for == Waits::warpgroup)
        all.push_back({warps_[static_cast<std::size_t>(w)].get(), &other, &step});
  if (all.size() < 4) return Next::wait;
  for (const steps::Gathered& one : all) {
    one.path->waits = false;
    one.path->waits_for = Waits::none;
  }
  if (steps::tensor_group(all) == Next::end) return Next::end;
  for (const steps::Gathered& one : all) ++one.path->pc;
  moved_ = true;
  async_.cluster.happened();
  return Next::moved;
}

// Lanes that have ended may complete one.
void Block::check_barriers() {
  for (std::size_t i = 0; i < barriers_.size(); ++i)
    if (barriers_[i].in_use && complete(barriers_[i])) release(static_cast<int>(i), barriers_[i]);
}

// One of all threads waits for those that have not ended.
std::string Block::awaited(const Barrier& barrier) const {
  std::int64_t arrived = 0, all = 0;
  bool are_whole = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    are_whole = are_whole && barrier.warps[w].part == 0;
    arrived += std::popcount(warps_[w]->alive() & barrier.warps[w].here);
    all += std::popcount(warps_[w]->alive());
  }
  if (barrier.threads != 0) return block::arrivals_text(barrier.arrived, barrier.threads, are_whole);
  return block::arrivals_text(arrived, all, are_whole);
}

std::string Block::awaited(const Warp& warp, const Path& path, std::span<const Lanes> alive) const {
  if (path.gives_up) return async_.mbarriers.awaited(path.awaited, warp.number_in_cluster());
  switch (path.waits_for) {
    case Waits::test: return async_.mbarriers.awaited(path.awaited, warp.number_in_cluster());
    case Waits::columns:
      return async::awaited(cluster_.blocks()[static_cast<std::size_t>(rank_)]->async(),
                            static_cast<std::uint32_t>(path.awaited));
    case Waits::barrier:
      return fmt::format("barrier {}: {}", path.barrier,
                         awaited(barriers_[static_cast<std::size_t>(path.barrier)]));
    case Waits::cluster: return cluster_.async().barrier.awaited(alive);
    case Waits::registers: return "registers that no other warp gives back";
    case Waits::warpgroup: return "the other warps of its warpgroup";
    case Waits::none: return "other lanes of its warp";
  }
  return {};
}

std::vector<FaultWaiters> Block::waiting(std::span<const Lanes> alive) const {
  std::vector<FaultWaiters> out;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (!path.waits) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      out.push_back({{{index_[0], index_[1], index_[2]}},
                     {warp->number()},
                     path.lanes == warp->alive() ? std::vector<int>() : block::lanes_of(path.lanes),
                     ptx::one_line(statement_of(grid_.program, step).text),
                     awaited(*warp, path, alive),
                     who(*warp, path).at});
    }
  return out;
}

void Block::report_missing(Warp& warp, const Path& path) {
  const Lanes missing = path.needs & ~path.lanes;
  Fault out = block::fault_of(who(warp, path),
                              {Errc::lanes_missing,
                               {},
                               fmt::format("lanes {} never reach it", ranges(block::lanes_of(missing))),
                               "all lanes of its mask must execute it"});
  out.lanes = block::lanes_of(missing);
  for (const Path& other : warp.paths()) {
    if (&other == &path || (other.lanes & missing) == 0) continue;
    out.other = FaultSide{warp.number_in_cluster(),
                          block::lanes_of(other.lanes & missing),
                          who(warp, other).at,
                          1,
                          0,
                          {},
                          {},
                          "they wait"};
    break;
  }
  fault(std::move(out));
}

// A path waits for the other warps of its warpgroup, and one of them does not come.
Fault Block::missing_warp(Warp& warp, const Path& path) const {
  const int first = warp.number() / block::kGroupWarps * block::kGroupWarps;
  std::vector<int> here;
  int absent = -1;
  for (int w = first; w < first + block::kGroupWarps; ++w) {
    const bool is_here =
        w < static_cast<int>(warps_.size()) &&
        std::ranges::any_of(warps_[static_cast<std::size_t>(w)]->paths(), [&](const Path& other) {
          return other.pc == path.pc && other.waits_for == Waits::warpgroup;
        });
    if (is_here)
      here.push_back(w);
    else if (absent < 0)
      absent = w;
  }
  const bool exists = absent < static_cast<int>(warps_.size());
  Warp* const other = exists ? warps_[static_cast<std::size_t>(absent)].get() : nullptr;
  const Path* const waits = other == nullptr || other->alive() == 0 ? nullptr : &other->paths().front();
  std::string what = fmt::format("there is no warp {}", absent);
  if (exists) what = fmt::format("warp {} has ended", absent);
  if (waits != nullptr) {
    const std::string_view text =
        statement_of(grid_.program, grid_.program.steps[static_cast<std::size_t>(waits->pc)]).text;
    what = fmt::format("{} by warp {}", text.substr(0, text.find_first_of(" \t\n;")), absent);
  }
  const bool at_barrier = waits != nullptr && waits->waits_for == Waits::barrier;
  const Errc code = waits == nullptr ? Errc::lanes_missing
                    : at_barrier     ? Errc::threads_diverge
                                     : Errc::lanes_disagree;
  Fault out = block::fault_of(
      who(warp, path),
      {code,
       {},
       fmt::format("executed by {} {}, but {}", here.size() == 1 ? "warp" : "warps", ranges(here), what),
       "all four warps of the warpgroup must execute it, at one place"});
  out.lanes = block::lanes_of(waits == nullptr ? kAllLanes : waits->lanes);
  if (waits != nullptr)
    out.other = FaultSide{async_.shared.first_warp() + absent, out.lanes, who(*other, *waits).at, 1, 0, {}, {},
                          fmt::format("warp {} waits", absent)};
  return out;
}

namespace {

// Whether some of these lanes wait for a barrier object: no one else waits for a better reason.
bool any_tests(Warp& warp, Lanes lanes) {
  return std::ranges::any_of(warp.paths(), [&](const Path& path) {
    return path.waits_for == Waits::test && (path.lanes & lanes) != 0;
  });
}

}  // namespace

bool Block::report_cause() {
  if (stuck_) {
    fault(*std::move(stuck_));
    return true;
  }
  // The first step of the program that lacks lanes.
  Warp* who_waits = nullptr;
  const Path* waits = nullptr;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.waits_for == Waits::none && path.waits && (waits == nullptr || path.pc < waits->pc) &&
          !any_tests(*warp, path.needs & ~path.lanes))
        who_waits = warp.get(), waits = &path;
  if (waits != nullptr) return report_missing(*who_waits, *waits), true;
  const auto group_tests = [&](const Warp& one) {
    return std::ranges::any_of(warps_, [&](const std::unique_ptr<Warp>& other) {
      return other->number() / block::kGroupWarps == one.number() / block::kGroupWarps &&
             any_tests(*other, kAllLanes);
    });
  };
  for (const std::unique_ptr<Warp>& one : warps_)
    for (const Path& path : one->paths())
      if (path.waits_for == Waits::warpgroup && !group_tests(*one))
        return fault(missing_warp(*one, path)), true;
  return false;
}

namespace {

// Which of the waits says most.
int says(Waits waits) {
  return waits == Waits::registers || waits == Waits::columns ? 2 : waits == Waits::test ? 1 : 0;
}

}  // namespace

std::uint64_t Block::changes() const {
  return cluster_.changes();
}

namespace {

// What a step has read in the last round of a loop; empty: it reads nothing that others write.
std::string read_by(Warp& warp, const Path& path, const Step& step) {
  const ptx::Does what = does(warp.program(), step);
  const int lane = std::countr_zero(path.lanes);
  const Place& to = step.place[0];
  if (what == ptx::Does::mbarrier && to.kind == Place::Kind::predicate)
    return warp.read(path, to, lane) == 0
               ? "it is false each time"
               : "it is true each time, for the phase is complete; a loop that waits "
                 "goes on while it is false";
  const bool loads = what == ptx::Does::load;
  if (!loads && what != ptx::Does::atomic) return {};
  const Place& first = loads ? warp.program().places[static_cast<std::size_t>(step.extra)].front() : to;
  if (first.kind != Place::Kind::reg) return {};
  return fmt::format("it reads {:#x} each time", warp.read(path, first, lane));
}

}  // namespace

// The steps from the one to which a path jumps back to the jump.
Fault Block::endless(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const {
  const std::vector<Step>& steps = grid_.program.steps;
  const auto step = [&](int i) -> const Step& { return steps[static_cast<std::size_t>(i)]; };
  const auto line = [&](int i) { return statement_of(grid_.program, step(i)).position.line; };
  int at = path.pc;
  std::string reads;
  for (int i = path.pc; reads.empty() && i <= path.last_jump_back; ++i)
    if (reads = read_by(warp, path, step(i)); !reads.empty()) at = i;
  const int first = line(path.pc), last = line(path.last_jump_back);
  const std::string lines =
      first == last ? fmt::format("PTX line {}", first) : fmt::format("PTX lines {} to {}", first, last);
  Fault out = block::fault_of({warp.number_in_cluster() * kLanes, place(warp.site(step(at), path.stack))},
                              {Errc::threads_diverge,
                               {},
                               fmt::format("{} without an end, and no thread changes anything any more", lines),
                               reads.empty() ? "nothing ends the loop" : reads});
  out.lanes = block::lanes_of(path.lanes);
  out.waiting = waiting;
  return out;
}

bool Block::report_endless(const std::vector<FaultWaiters>& waiting) {
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (path.waits) continue;
      fault_ = located(endless(*warp, path, waiting));
      return true;
    }
  return false;
}

// Places that say the same are told once: stages of a pipeline are initialised by one statement.
void Block::add_awaited(std::vector<FaultSide>& to) const {
  const auto is_told = [&](const FaultSide& one) {
    const auto is_same = [&](const FaultSide& other) {
      return one.at == other.at &&
             one.what.substr(0, one.what.find(' ')) == other.what.substr(0, other.what.find(' '));
    };
    return std::ranges::any_of(to, is_same);
  };
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.waits_for == Waits::test || path.gives_up)
        for (FaultSide& one : async_.mbarriers.places(path.awaited))
          if (!is_told(one)) to.push_back(std::move(one));
}

// The warps that have ended without an arrival at a barrier that counts threads.
std::vector<int> Block::missing_at(const Barrier& barrier) const {
  std::vector<int> out;
  for (std::size_t w = 0; barrier.threads != 0 && w < warps_.size(); ++w)
    if (warps_[w]->alive() == 0 && barrier.warps[w].here == 0) out.push_back(static_cast<int>(w));
  return out;
}

// Of a path that waits for no barrier object, or for one that does not tell the cause.
Fault Block::deadlock_of(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const {
  std::string cause, accepted;
  std::vector<int> missing;
  if (path.waits_for == Waits::barrier) {
    const Barrier& barrier = barriers_[static_cast<std::size_t>(path.barrier)];
    missing = missing_at(barrier);
    if (!missing.empty()) {
      const std::string_view ha = missing.size() == 1 ? "s" : "ve";
      cause = fmt::format("barrier {} counts {} threads, and {} have come (warp{} {} ha{} ended without it)",
                          path.barrier, barrier.threads, barrier.arrived, missing.size() == 1 ? "" : "s",
                          ranges(missing), ha);
      accepted = "as many threads must execute the barrier as it counts";
    }
  }
  Fault out = block::deadlock(who(warp, path), std::move(cause), std::move(accepted), waiting);
  out.lanes = block::lanes_of(path.lanes);
  if (!missing.empty()) out.related.push_back(end_of(missing.front()));
  return out;
}

// Where a barrier object lacks what no one can bring any more, the fault is there.
bool Block::report_deadlock(const std::vector<FaultWaiters>& waiting) {
  Warp* who_waits = nullptr;
  const Path* waits = nullptr;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (waits == nullptr || says(path.waits_for) > says(waits->waits_for))
        who_waits = warp.get(), waits = &path;
  if (waits == nullptr) return false;
  const bool tests = waits->waits_for == Waits::test || waits->gives_up;
  const auto cause = tests ? async_.mbarriers.cause(waits->awaited) : std::nullopt;
  Fault out = cause ? block::deadlock(cause->who, cause->what, cause->accepted, waiting)
                    : deadlock_of(*who_waits, *waits, waiting);
  if (cause) out.what = cause->label;
  for (const std::unique_ptr<Block>& block : cluster_.blocks()) block->add_awaited(out.related);
  const auto is_told = [&](const FaultSide& one) { return one.at == out.at; };  // as the cause
  std::erase_if(out.related, is_told);
  fault(std::move(out));
  return true;
}

Next Block::set_registers(Warp& warp, Path& path, Lanes lanes, int count, bool more) {
  const Program& program = grid_.program;
  if (!registers_)
    registers_.emplace(static_cast<int>(warps_.size()),
                       program.functions[static_cast<std::size_t>(program.entry)].function->max_registers);
  const int has = registers_->count(warp.number());
  if (more ? count < has : count > has)
    return warp.fault(path, lanes,
                      {Errc::barrier_misused,
                       {},
                       fmt::format("{} registers, but the thread already has {}", count, has),
                       more ? "setmaxnreg.inc takes more than that" : "setmaxnreg.dec takes fewer than that"});
  if (!registers_->set(warp.number(), count)) return warp.wait_for(path, lanes, Waits::registers);
  async_.cluster.happened();
  if (!checks()) return Next::step;
  const block::Who by = who(warp, program.steps[static_cast<std::size_t>(path.pc)], 0);
  return allows(registers_->executed(warp.number(), by, async_.shared.order())) ? Next::step : Next::end;
}

// Other blocks must not access its memory any more.
void Block::end() {
  async_.ended = last_;
  async_.cluster.happened();
  if (checks() && !async::end_tensor(async_, last_)) return;
  if (checks() && registers_)
    for (Fault& one : registers_->left_out())
      if (!allows(std::move(one))) return;
  if (checks())
    for (Fault& one : pending_at_end(async_, products_.get(), last_))
      if (!allows(std::move(one))) return;
  if (async_.shared.cluster().blocks() > 1 && checks())
    allows(async_.shared.ends(last_, [this](std::int64_t byte) { return async_.mbarriers.has(byte); }));
}

Outcome Block::run() {
  if (async_.ended) return Outcome::ended;
  while (true) {
    bool ended = true, yielded = false;
    moved_ = false;
    for (const std::unique_ptr<Warp>& warp : warps_) {
      warp->wake(async_.cluster.events());
      const Outcome outcome = warp->run();
      if (has_fault()) return Outcome::fault;
      ended = ended && outcome == Outcome::ended;
      yielded = yielded || outcome == Outcome::yields;
    }
    check_barriers();
    if (ended) end();
    if (has_fault()) return Outcome::fault;
    if (ended) return Outcome::ended;
    if (moved_) continue;
    return yielded ? Outcome::yields : Outcome::waits;
  }
}

}  // namespace warpbit::grid
