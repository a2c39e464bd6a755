// SPDX-License-Identifier: Apache-2.0
#include "grid/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "grid/global_races.hpp"
#include "grid/lines.hpp"
#include "kernel/floating.hpp"
#include "threads.hpp"

namespace warpbit::grid {

namespace {

/// No GPU has more bytes of either (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; global
/// memory: more than any has).
constexpr std::uint64_t kMostConstant = 64 * 1024, kMostGlobal = std::uint64_t{1} << 40;

class Symbols {
 public:
  Symbols(const ptx::ModuleText& module, const Addresses& addresses) {
    for (const auto& [variable, address] : addresses) addresses_.try_emplace(variable->name, address);
    std::uint64_t number = 0;
    for (const ptx::FunctionText& one : module.functions) addresses_.try_emplace(one.name, ++number * 16);
  }
  /// 0 if it has none.
  std::uint64_t address(std::string_view symbol) const {
    const auto found = addresses_.find(symbol);
    return found == addresses_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<std::string_view, std::uint64_t> addresses_;
};

}  // namespace

Result<Addresses> place_variables(const ptx::ModuleText& module, GlobalMemory& memory) {
  Addresses out;
  std::uint64_t constant = 0, global = 0;
  std::optional<Error> refused;
  const auto place = [&](const ptx::Variable& variable) {
    const bool is_constant = variable.space == ptx::StateSpace::constant;
    if (!is_constant && variable.space != ptx::StateSpace::global) return;
    if (variable.linkage == ptx::Linkage::external || variable.opaque != ptx::Opaque::none) return;
    const auto bytes = static_cast<std::uint64_t>(variable.bytes);
    std::uint64_t& all = is_constant ? constant : global;
    const std::uint64_t most = is_constant ? kMostConstant : kMostGlobal;
    all += bytes;
    if (all > most && !refused)
      refused = Error{Errc::statement_syntax, ptx::text(variable.position),
                      fmt::format("{} bytes in .{} up to '{}'", all, ptx::name(variable.space), variable.name),
                      fmt::format("at most {}", most)};
    if (refused) return;
    const std::string name = fmt::format("'{}'", variable.name);
    out.emplace_back(&variable, is_constant ? memory.add_constant(name, bytes) : memory.add(name, bytes));
  };
  for (const ptx::Variable& variable : module.variables) place(variable);
  for (const ptx::FunctionText& function : module.functions)
    for (const ptx::Variable& variable : function.variables) place(variable);
  if (refused) return *std::move(refused);
  const Symbols symbols(module, out);
  for (const auto& [variable, address] : out)
    for (const ptx::Relocation& relocation : variable->relocations)
      if (symbols.address(relocation.symbol) == 0)
        return Error{Errc::statement_syntax, ptx::text(relocation.position),
                     fmt::format("'{}'", relocation.symbol), "a variable of the module"};
  return out;
}

void fill_variables(const ptx::ModuleText& module, const Addresses& addresses, GlobalMemory& memory) {
  memory.allocate();
  const Symbols symbols(module, addresses);
  for (const auto& [variable, address] : addresses) {
    std::byte* const data = memory.find(address, static_cast<std::uint64_t>(variable->bytes))->data;
    std::ranges::copy(variable->initial, data);
    for (const ptx::Relocation& relocation : variable->relocations) {
      const std::uint64_t value =
          (symbols.address(relocation.symbol) + static_cast<std::uint64_t>(relocation.offset)) >>
          relocation.shift;
      std::memcpy(data + relocation.at, &value, static_cast<std::size_t>(relocation.bytes));
    }
  }
}

namespace {

constexpr int kFlagBits = 12;  // of block::Messages

using Clock = std::chrono::steady_clock;
/// While a loop is endless the host may still write to memory that it reads: for so many steps and accesses of lanes, or for so
/// long, if there have been a few of them.
constexpr std::uint64_t kPatience = 40'000'000, kLeastPatience = kPatience / 20;
constexpr std::chrono::seconds kLongPatience{2};

bool loads_global(const Program& program) {
  return std::ranges::any_of(program.steps, [&](const Step& step) {
    const ptx::Does what = does(program, step);
    return step.access.space == ptx::StateSpace::global &&
           (what == ptx::Does::load || what == ptx::Does::atomic);
  });
}

GlobalFences global_fences(const Program& program) {
  GlobalFences out = GlobalFences::none;
  for (const Step& step : program.steps) {
    if (does(program, step) != ptx::Does::fence) continue;
    const Origin& origin = program.origins[static_cast<std::size_t>(step.statement)];
    const auto words = words_of(*origin.function, statement_of(origin));
    if (words.size() < 2 || words[0] != "proxy" || !words[1].starts_with("async")) continue;
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    if (has("global")) return GlobalFences::unknown;
    if (!has("shared::cta") && !has("shared::cluster")) out = GlobalFences::all;
  }
  return out;
}

bool stores_in_bulk(const Program& program) {
  using enum BulkOperation::Kind;
  return std::ranges::any_of(program.async.bulks, [](const BulkOperation& one) { return one.kind == store; });
}

// What its steps take: an access takes as long as a step for each of its lanes.
std::uint64_t work_of(const Cluster& cluster) {
  std::uint64_t out = 0;
  for (const std::unique_ptr<Block>& block : cluster.blocks())
    out += block->steps() + block->checked.shared + block->checked.global;
  return out;
}

bool goes_on(Outcome outcome) {
  return outcome == Outcome::yields || outcome == Outcome::pauses;
}

/// Clusters that wait to be run, and what those that have ended leave. Its functions may be called by all host threads.
class Queue {
 public:
  Queue(const Grid& grid, const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : grid_(grid),
        progress_(progress),
        count_(std::uint64_t{grid.blocks[0]} * grid.blocks[1] * grid.blocks[2]),
        of_cluster_(std::uint64_t{grid.cluster[0]} * grid.cluster[1] * grid.cluster[2]),
        lines_(count_ / of_cluster_, grid.cancel, grid.cancel_seed, grid.program.requests_clusters),
        patience_(loads_global(grid.program) ? kPatience : 0) {}

  /// A cluster that a host thread runs for a while.
  struct Turn {
    std::unique_ptr<Cluster> cluster = {};
    // At its beginning: its own changes and work, and turns of all that have changed anything.
    std::uint64_t changes = 0, work = 0, turns_that_changed = 0;
    bool alone = false;  ///< see Cluster::run
  };
  /// New clusters first, for which those that have begun may wait, unless a schedule decides. No cluster if none is left for this host thread.
  Turn take();
  void put(Turn turn, Outcome outcome);
  /// For a request of a cluster, as Grid::take_cluster.
  std::optional<Extent> give(std::uint64_t cluster);
  void fail(std::exception_ptr exception);
  Report finish();

 private:
  static std::uint64_t number_of(const Extent& at, const Extent& n) {
    return (std::uint64_t{at[2]} * n[1] + at[1]) * n[0] + at[0];
  }
  Extent first_of(std::uint64_t cluster) const { return first_block(grid_, cluster); }
  bool may_begin() const;
  /// After a fault only the clusters before the faulty one go on: the first faulty block is reported.
  bool is_wanted(std::uint64_t cluster) const { return !exception_ && cluster < faulty_; }
  Turn turn_of(std::unique_ptr<Cluster> cluster);
  bool is_alone(const Cluster& cluster) const;
  void note_changes(const Turn& turn, Outcome outcome);
  void record(Cluster& cluster, bool has_ended);
  void report_races();

  const Grid& grid_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  const std::uint64_t count_, of_cluster_;
  std::mutex mutex_;
  Lines lines_;
  std::uint64_t faulty_ = std::numeric_limits<std::uint64_t>::max();
  std::deque<std::unique_ptr<Cluster>> waiting_;
  std::size_t begun_ = 0;                 // clusters that have not ended
  std::uint64_t turns_that_changed_ = 0;  // anything
  std::set<std::uint64_t> stuck_;  // clusters whose last turn changed nothing, nor has any other one since
  std::uint64_t patience_, idle_work_ = 0;  // that changes nothing: at most, since the last change
  Clock::time_point changed_at_ = Clock::now();
  TotalsByCluster totals_;
  std::uint64_t ended_ = 0;  // blocks
  Report report_;
  std::exception_ptr exception_;
};

// By a schedule only so many run side by side, as long as they do not wait for others.
bool Queue::may_begin() const {
  constexpr std::size_t kSideBySide = 64;
  if (grid_.schedule == nullptr || waiting_.empty()) return true;
  if (waiting_.size() >= kSideBySide) return waiting_.front()->has_waited_long();
  return grid_.schedule->pick(2) == 0;
}

Queue::Turn Queue::take() {
  const std::lock_guard lock(mutex_);
  if (grid_.schedule != nullptr && !waiting_.empty())
    std::swap(waiting_.front(), waiting_[grid_.schedule->pick(waiting_.size())]);
  while (const std::optional<std::uint64_t> number = may_begin() ? lines_.begin() : std::nullopt)
    if (is_wanted(*number)) {
      ++begun_;
      return turn_of(std::make_unique<Cluster>(grid_, *number, first_of(*number)));
    }
  if (waiting_.empty()) return {};
  std::unique_ptr<Cluster> out = std::move(waiting_.front());
  waiting_.pop_front();
  return turn_of(std::move(out));
}

Queue::Turn Queue::turn_of(std::unique_ptr<Cluster> cluster) {
  Turn out{nullptr, cluster->changes(), work_of(*cluster), turns_that_changed_, is_alone(*cluster)};
  out.cluster = std::move(cluster);
  return out;
}

// Whether all that have begun are stuck, and the host does nothing either; of them, the first one says so.
bool Queue::is_alone(const Cluster& cluster) const {
  return stuck_.size() == begun_ && *stuck_.begin() == cluster.number() &&
         (idle_work_ >= patience_ ||
          (idle_work_ >= kLeastPatience && Clock::now() - changed_at_ >= kLongPatience));
}

void Queue::note_changes(const Turn& turn, Outcome outcome) {
  const std::uint64_t number = turn.cluster->number();
  const bool has_changed = turn.cluster->changes() != turn.changes && !turn.cluster->is_endless();
  if (has_changed) {
    ++turns_that_changed_;
    idle_work_ = 0;
    changed_at_ = Clock::now();
    stuck_.clear();
  } else if (turn.turns_that_changed == turns_that_changed_ && turn.cluster->has_waited_long() &&
             turn.cluster->is_stuck()) {
    stuck_.insert(number);
    idle_work_ += work_of(*turn.cluster) - turn.work;
  }
  if (goes_on(outcome)) return;
  --begun_;
  stuck_.erase(number);
}

std::optional<Extent> Queue::give(std::uint64_t cluster) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> taken = lines_.take(cluster);
  if (!taken) return std::nullopt;
  report_.cancelled += of_cluster_;
  return first_of(*taken);
}

// Of what blocks have done that are behind a faulty one nothing is told: it depends on the schedule.
void Queue::record(Cluster& cluster, bool has_ended) {
  if (cluster.number() > faulty_) return;
  Totals out;
  for (const std::unique_ptr<Block>& block : cluster.blocks()) {
    block->checked.barriers += block->async().mbarriers.phases();
    Totals one{block->inferred,
               has_ended ? 1U : 0U,
               block->steps(),
               block->checked,
               std::move(block->printed),
               {},
               {},
               block->findings()};
    if (const Watch* const watch = block->watch()) {
      one.counts = watch->counts();
      if (watch->timeline() != nullptr) one.timeline = watch->timeline()->timeline();
    }
    out.add(one);
  }
  totals_.add(cluster.number(), std::move(out));
}

void Queue::put(Turn turn, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  note_changes(turn, outcome);
  std::unique_ptr<Cluster> cluster = std::move(turn.cluster);
  const std::uint64_t number = cluster->number();
  if (!goes_on(outcome) || cluster->has_waited_long()) lines_.pass(number);
  if (goes_on(outcome)) {  // with a fault elsewhere it may wait for ever
    if (faulty_ == std::numeric_limits<std::uint64_t>::max()) return waiting_.push_back(std::move(cluster));
    return record(*cluster, false);
  }
  const bool is_first_fault = outcome == Outcome::fault && is_wanted(number);
  if (is_first_fault) {
    faulty_ = number;
    totals_.forget_behind(number);  // before its own join them
  }
  record(*cluster, outcome != Outcome::fault);
  if (outcome != Outcome::fault) {
    ended_ += cluster->blocks().size();
    if (progress_) progress_(ended_ + report_.cancelled, count_);
  } else if (is_first_fault) {
    for (const std::unique_ptr<Block>& block : cluster->blocks()) {
      if (!block->has_fault()) continue;
      report_.fault = block->found();
      report_.stopped = block->has_stopped();
      if (report_.fault && block->wanted_lock()) {
        std::vector<const Cluster*> all = {cluster.get()};
        for (const std::unique_ptr<Cluster>& one : waiting_) all.push_back(one.get());
        explain_by_locks(grid_, all, *block->wanted_lock(), *report_.fault);
      }
      break;
    }
    waiting_.clear();
  }
}

void Queue::fail(std::exception_ptr exception) {
  const std::lock_guard lock(mutex_);
  if (!exception_) exception_ = std::move(exception);
  waiting_.clear();
}

// What blocks that nothing orders do to each other is known when all have ended. It depends on the schedule what the rest of a
// launch with a fault has seen of it.
void Queue::report_races() {
  if (grid_.races == nullptr || report_.fault || report_.stopped) return;
  std::vector<Finding> found_too = report_.findings;
  for (const GlobalConflict& one : grid_.races->all()) {
    Fault found = fault_between(grid_, one);
    const Grade grade = grid_.grades[static_cast<std::size_t>(found.rule)];
    if (grade == Grade::fault && !report_.fault)
      report_.fault = std::move(found);
    else if (grade == Grade::finding || grade == Grade::note)
      found_too.push_back({std::move(found), 1, grade});
  }
  const auto number = [&](const Finding& one) {
    return number_of({one.fault.block.x, one.fault.block.y, one.fault.block.z}, grid_.blocks);
  };
  std::ranges::stable_sort(found_too, {}, number);
  report_.findings.clear();
  for (const Finding& one : found_too) report_.add(one);
}

Report Queue::finish() {
  if (exception_) std::rethrow_exception(exception_);
  static_cast<Totals&>(report_) = totals_.all();
  report_races();
  find_causes(report_.findings, report_.fault);
  return std::move(report_);
}

}  // namespace

Report run(const Grid& of, int threads, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  Grid grid = of;
  Queue queue(grid, progress);
  grid.take_cluster = [&](std::uint64_t cluster) { return queue.give(cluster); };
  block::Messages messages(kFlagBits);
  grid.messages = &messages;
  std::optional<GlobalAccesses> accesses, arrivals;
  GlobalRaces races(grid.program.origins.size());
  LockNests locks;
  if (grid.check_global) {
    const auto stored = [&](const GlobalMemory::Range& range) {
      return may_reach(grid.program.stores, grid.parameters, grid.memory, range);
    };
    grid.accesses = &accesses.emplace(grid.memory, threads, stored, global_fences(grid.program));
    if (stores_in_bulk(grid.program)) grid.arrivals = &arrivals.emplace(grid.memory, threads, stored);
    grid.races = &races;
    grid.locks = &locks;
  }
  const auto take = [&](int) {
    try {
      const DefaultFloating floating;
      for (Queue::Turn turn = queue.take(); turn.cluster; turn = queue.take()) {
        const Outcome outcome = turn.cluster->run(turn.alone);
        queue.put(std::move(turn), outcome);
        // It may wait for one whose host thread the system has put aside.
        if (outcome == Outcome::yields && threads > 1) std::this_thread::yield();
      }
      RegisterFile::forget_spare();
    } catch (...) {
      queue.fail(std::current_exception());
    }
  };
  share(threads, std::cref(take));
  return queue.finish();
}

}  // namespace warpbit::grid
