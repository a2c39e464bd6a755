// SPDX-License-Identifier: Apache-2.0
#include "grid/block.hpp"

#include "api/checks.hpp"
#include "grid/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <set>

namespace warpbit::grid {
namespace {

constexpr int kGroup = 100;  // Path::barrier of a path that waits for its warpgroup

std::string threads(std::uint32_t count) {
  return count == 0 ? "all threads" : fmt::format("{} threads", count);
}

}  // namespace

Block::Block(const Grid& grid, Extent index)
    : grid_(grid),
      index_(index),
      shared_(static_cast<int>(grid.threads[0] * grid.threads[1] * grid.threads[2]), grid.shared_bytes,
              kSharedWindow, grid.check_shared) {
  if (grid.watched != nullptr) {
    const device::Index3& at = grid.watched->observed_block;
    watch_.emplace(grid.program, *grid.watched, grid.watched->observe && index == Extent{at.x, at.y, at.z});
  }
  for (const GlobalMemory::Range& range : grid.memory.ranges())
    (void)memory().view_global(range.address, {range.data, range.bytes});  // ranges do not overlap
  const std::uint32_t threads = grid.threads[0] * grid.threads[1] * grid.threads[2];
  const int warps = static_cast<int>((threads + kLanes - 1) / kLanes);
  for (int w = 0; w < warps; ++w) {
    const std::uint32_t rest = threads - static_cast<std::uint32_t>(w * kLanes);
    const Lanes lanes = rest >= kLanes ? kAllLanes : (Lanes{1} << rest) - 1;
    warps_.push_back(std::make_unique<Warp>(*this, grid.program, w, lanes));
  }
  for (Barrier& barrier : barriers_) barrier.arrived.resize(static_cast<std::size_t>(warps));
}

std::uint64_t Block::special(ptx::Special special, int warp, int lane) const {
  using enum ptx::Special;
  const auto thread = static_cast<std::uint32_t>(warp * kLanes + lane);
  const Extent& n = grid_.threads;
  const std::uint64_t lane_bit = std::uint64_t{1} << lane;
  switch (special) {
    case tid_x: return thread % n[0];
    case tid_y: return thread / n[0] % n[1];
    case tid_z: return thread / n[0] / n[1];
    case ntid_x: return n[0];
    case ntid_y: return n[1];
    case ntid_z: return n[2];
    case ctaid_x:
    case clusterid_x: return index_[0];
    case ctaid_y:
    case clusterid_y: return index_[1];
    case ctaid_z:
    case clusterid_z: return index_[2];
    case nctaid_x:
    case nclusterid_x: return grid_.blocks[0];
    case nctaid_y:
    case nclusterid_y: return grid_.blocks[1];
    case nctaid_z:
    case nclusterid_z: return grid_.blocks[2];
    case cluster_nctaid_x:
    case cluster_nctaid_y:
    case cluster_nctaid_z:
    case cluster_nctarank: return 1;
    case laneid: return static_cast<std::uint64_t>(lane);
    case warpid: return static_cast<std::uint64_t>(warp);
    case nwarpid: return warps_.size();
    case lanemask_eq: return lane_bit;
    case lanemask_lt: return lane_bit - 1;
    case lanemask_le: return 2 * lane_bit - 1;
    case lanemask_gt: return kAllLanes & ~(2 * lane_bit - 1);
    case lanemask_ge: return kAllLanes & ~(lane_bit - 1);
    case nsmid: return 132;  // of an H100; the manual leaves it open
    case total_smem_size:
    case aggr_smem_size: return grid_.shared_bytes;
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
  block::Found found = products_->touch(warp, path, step, lanes);
  if (!found) return true;
  fault(*std::move(found));
  return false;
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

// A place in a fault of shared memory: a statement, from 1 on.
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
  return {warp.number() * kLanes + lane, {kStatement, static_cast<unsigned>(step.statement + 1)}};
}

// With the lines of the statement.
FaultSide Block::side(FaultSide found) const {
  if (found.at.line == 0) return found;
  const ptx::Statement& statement = statement_of(grid_.program.origins[found.at.line - 1]);
  found.ptx_line = statement.position.line;
  const auto [file, line] = source_of(*grid_.program.module, statement);
  found.at = {};
  if (!file.empty()) found.at = {interned(std::string(file)), static_cast<unsigned>(line)};
  return found;
}

void Block::fault(Fault found) {
  if (fault_) return;
  // The write may come, and then be in a race with this read.
  if (found.error.code == Errc::never_written && found.address && !std::exchange(waits_for_write_, true)) {
    stuck_ = std::move(found);
    return;
  }
  const unsigned statement = found.at.line;
  static_cast<FaultSide&>(found) = side(found);
  if (found.other) found.other = side(*std::move(found.other));
  found.block = {index_[0], index_[1], index_[2]};
  found.kernel = grid_.program.functions[static_cast<std::size_t>(grid_.program.entry)].function->name;
  if (statement != 0 && found.error.where.empty())
    found.error.where = ptx::one_line(statement_of(grid_.program.origins[statement - 1]).text);
  fault_ = std::move(found);
}

void Block::fault(Warp& warp, const Path& path, Lanes lanes, Error error) {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  Fault out = block::fault_of(who(warp, step, 0), std::move(error));
  out.lanes = block::lanes_of(lanes);
  fault(std::move(out));
}

// ---- Barriers

// A warp counts as a whole once all of its lanes that have not ended are there.
bool Block::complete(const Barrier& barrier) const {
  std::uint32_t arrived = 0;
  bool all = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const Lanes alive = warps_[w]->alive();
    const bool here = barrier.arrived[w] != 0 && (alive & ~barrier.arrived[w]) == 0;
    arrived += here ? kLanes : 0;
    all = all && (here || alive == 0);
  }
  return barrier.threads == 0 ? all : arrived >= barrier.threads;
}

void Block::release(int number, Barrier& barrier) {
  std::uint32_t together = 0;
  bool all = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const bool is_here = barrier.arrived[w] != 0;
    together |= std::uint32_t{is_here} << w;
    all = all && (is_here || warps_[w]->alive() == 0);
  }
  all ? shared_.barrier() : shared_.barrier_of(together);
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (Path& path : warp->paths()) {
      if (path.barrier != number) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      const Place& to = step.place[0];
      if (to.kind == Place::Kind::predicate) {
        const bool any = step.access.count == static_cast<std::uint8_t>(Reduction::any);
        const bool holds = any ? barrier.count > 0 : barrier.count == barrier.lanes;
        warp->set(path, to, path.lanes, holds ? kAllLanes : 0);
      } else if (to.exists()) {
        for (int lane = 0; lane < kLanes; ++lane)
          if ((path.lanes >> lane & 1) != 0) warp->write(path, to, lane, barrier.count);
      }
      path.barrier = -1;
      path.waits = false;
      ++path.pc;
      moved_ = true;
    }
  std::ranges::fill(barrier.arrived, 0);
  barrier.count = barrier.lanes = barrier.threads = 0;
  barrier.in_use = false;
}

Next Block::arrive(Warp& warp, Path& path, Lanes lanes, const Arrival& arrival) {
  Barrier& barrier = barriers_[static_cast<std::size_t>(arrival.barrier)];
  if (barrier.in_use && barrier.threads != arrival.threads)
    return warp.fault(path, lanes,
                      {Errc::barrier_misused,
                       {},
                       fmt::format("barrier {} for {}", arrival.barrier, threads(arrival.threads)),
                       fmt::format("it has been begun for {}", threads(barrier.threads))});
  barrier.arrived[static_cast<std::size_t>(warp.number())] |= lanes;
  barrier.threads = arrival.threads;
  barrier.count += static_cast<std::uint32_t>(std::popcount(arrival.predicate & lanes));
  barrier.lanes += static_cast<std::uint32_t>(std::popcount(lanes));
  barrier.in_use = true;
  if (arrival.waits) {
    warp.keep(path, lanes);
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
  path.barrier = kGroup;
  std::vector<steps::Gathered> all;
  const int first = warp.number() / 4 * 4;
  for (int w = first; w < first + 4 && w < static_cast<int>(warps_.size()); ++w)
    for (Path& other : warps_[static_cast<std::size_t>(w)]->paths())
      if (other.pc == path.pc && other.barrier == kGroup)
        all.push_back({warps_[static_cast<std::size_t>(w)].get(), &other, &step});
  if (all.size() < 4) return Next::wait;
  for (const steps::Gathered& one : all) {
    one.path->waits = false;
    one.path->barrier = -1;
  }
  if (steps::tensor_group(all) == Next::end) return Next::end;
  for (const steps::Gathered& one : all) ++one.path->pc;
  moved_ = true;
  return Next::moved;
}

// Lanes that have ended may complete one.
void Block::check_barriers() {
  for (std::size_t i = 0; i < barriers_.size(); ++i)
    if (barriers_[i].in_use && complete(barriers_[i])) release(static_cast<int>(i), barriers_[i]);
}

// Every path, its place and what it waits for.
std::string Block::waiting() const {
  std::string out;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      const ptx::Statement& statement = statement_of(grid_.program, step);
      out += fmt::format("\n  warp {}, lanes {:#010x}, PTX line {}: {}", warp->number(), path.lanes,
                         statement.position.line, ptx::one_line(statement.text));
    }
  return out;
}

void Block::report_missing(Warp& warp, const Path& path) {
  const Lanes missing = path.needs & ~path.lanes;
  Fault out = block::fault_of(
      who(warp, grid_.program.steps[static_cast<std::size_t>(path.pc)], 0),
      {Errc::lanes_missing, {}, "some lanes do not come", "all lanes of its mask must execute it"});
  out.lanes = block::lanes_of(missing);
  for (const Path& other : warp.paths()) {
    if (&other == &path || (other.lanes & missing) == 0) continue;
    const Step& at = grid_.program.steps[static_cast<std::size_t>(other.pc)];
    out.other = FaultSide{warp.number(), block::lanes_of(other.lanes & missing), who(warp, at, 0).at};
    break;
  }
  fault(std::move(out));
}

// A path waits for the other warps of its warpgroup, and one of them does not come.
Fault Block::missing_warp(Warp& warp, const Path& path) const {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  const int first = warp.number() / block::kGroupWarps * block::kGroupWarps;
  std::vector<int> here;
  int absent = -1;
  for (int w = first; w < first + block::kGroupWarps; ++w) {
    const bool is_here =
        w < static_cast<int>(warps_.size()) &&
        std::ranges::any_of(warps_[static_cast<std::size_t>(w)]->paths(),
                            [&](const Path& other) { return other.pc == path.pc && other.barrier == kGroup; });
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
  const bool at_barrier = waits != nullptr && waits->barrier >= 0 && waits->barrier < kGroup;
  const Errc code = waits == nullptr ? Errc::lanes_missing
                    : at_barrier     ? Errc::threads_diverge
                                     : Errc::lanes_disagree;
  Fault out = block::fault_of(
      who(warp, step, 0),
      {code,
       {},
       fmt::format("executed by {} {}, but {}", here.size() == 1 ? "warp" : "warps", ranges(here), what),
       "all four warps of the warpgroup must execute it, at one place"});
  out.lanes = block::lanes_of(waits == nullptr ? kAllLanes : waits->lanes);
  if (waits != nullptr)
    out.other = FaultSide{absent, out.lanes,
                          who(*other, grid_.program.steps[static_cast<std::size_t>(waits->pc)], 0).at};
  return out;
}

// No path can go on. The cause is an instruction that needs lanes which are elsewhere, or a barrier that others never
// reach.
void Block::report_deadlock() {
  if (stuck_) return fault(*std::move(stuck_));
  // The first step of the program that lacks lanes.
  Warp* who_waits = nullptr;
  const Path* waits = nullptr;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.barrier < 0 && (waits == nullptr || path.pc < waits->pc)) who_waits = warp.get(), waits = &path;
  if (waits != nullptr) return report_missing(*who_waits, *waits);
  for (const std::unique_ptr<Warp>& one : warps_)
    for (const Path& path : one->paths())
      if (path.barrier == kGroup) return fault(missing_warp(*one, path));
  Warp& warp = **std::ranges::find_if(warps_, [](const auto& one) { return one->alive() != 0; });
  fault(warp, warp.paths().front(), warp.paths().front().lanes,
        {Errc::threads_diverge, "deadlock", "no thread can go on; these wait:" + waiting(), {}});
}

Outcome Block::run() {
  while (true) {
    bool ended = true, yielded = false;
    moved_ = false;
    for (const std::unique_ptr<Warp>& warp : warps_) {
      const Outcome outcome = warp->run();
      if (has_fault()) return Outcome::fault;
      ended = ended && outcome == Outcome::ended;
      yielded = yielded || outcome == Outcome::yields;
    }
    check_barriers();
    if (ended) return Outcome::ended;
    if (moved_) continue;
    if (yielded) return Outcome::yields;
    report_deadlock();
    return Outcome::fault;
  }
}

}  // namespace warpbit::grid
