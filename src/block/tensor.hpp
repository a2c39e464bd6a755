// SPDX-License-Identifier: Apache-2.0
// What is done to tensor memory, in which order, and what must not be (PTX manual, "Memory Consistency Model for 5th generation
// of TensorCore operations"; src/async/ASYNCHRONOUS.md, "Tensor memory", has the rules).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "block/accesses.hpp"
#include "block/cluster.hpp"
#include "block/fault.hpp"
#include "warpbit/execute.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// What an instruction has to do with words of tensor memory.
enum class TensorUse : std::uint8_t {
  load,         ///< tcgen05.ld
  store,        ///< tcgen05.st
  copy,         ///< tcgen05.cp
  refresh,      ///< tcgen05.cp.4x256b
  shift,        ///< tcgen05.shift
  accumulator,  ///< of tcgen05.mma: D
  operand,      ///< what else it reads, and shifts with .ashift
  deallocation,
};

/// The order of what the threads of a cluster do to tensor memory. It is done in pipes: of the asynchronous operations (mma,
/// cp, shift) that a thread issues, of the loads and of the stores of a warp. A pipe's clock counts them. An agent of `Order`
/// stands for what is known of a pipe:
///
///     pipe          done                             fenced                          issued
///     operations    behind a wait for the mbarrier   issued before a                 issued
///                   of tcgen05.commit                tcgen05.fence::before
///     loads         behind tcgen05.wait::ld          done before such a fence        -
///     stores        behind tcgen05.wait::st          done before such a fence        -
///
/// Of operations there is one more: that A has been read from shared memory, behind a wait for the mbarrier of any tcgen05.commit.
class TensorOrder {
 public:
  explicit TensorOrder(Cluster& cluster) : cluster_(cluster), after_(warps()) {}

  /// The number of a pipe, of a thread or a warp of the cluster.
  int operations(int thread) { return find({Kind::operations, thread}); }
  int loads(int warp) { return find({Kind::loads, warp}); }
  int stores(int warp) { return find({Kind::stores, warp}); }
  /// The next one is issued: its clock.
  std::uint32_t issue(int pipe, Who who);
  /// Who reads shared memory for the next operation of the pipe.
  Accesses::Agent reader(int pipe, bool of_a) const {
    return {of_a ? of(pipe).read : of(pipe).done, of(pipe).issued_count};
  }

  // ---- What threads do

  void wait(int warp, bool stores);
  void fence_before(int warp);
  void fence_after(int warp);
  /// What a commit by the thread makes known to those who wait for its mbarrier: that all is complete, or that A has been read.
  /// `phase`: which one of which mbarrier it completes.
  std::vector<Accesses::Agent> committed(int thread, bool reads_of_a, std::string phase);
  /// "a tcgen05.commit and a wait for its mbarrier": what lets threads know that an operation of a pipe is complete.
  std::string commit_of(int pipe, std::uint32_t clock) const;
  /// The last load of the warp, if it has not been waited for.
  std::optional<Who> pending_load(int warp) const;
  /// Of a pipe what no commit (operations) or wait (loads, stores) has come behind: how many, and the last of them.
  struct Open {
    Who last;
    std::uint32_t count;
    bool is_operation;
  };
  std::vector<Open> open() const;

  // ---- What a warp knows of one of a pipe's

  bool is_of(int pipe, int warp) const { return of(pipe).owner / of(pipe).width == warp; }
  bool is_move(int pipe) const { return of(pipe).width == 1; }
  bool is_done(int pipe, std::uint32_t clock, int warp) const;
  bool is_issued(int pipe, std::uint32_t clock, int warp) const;
  bool is_fenced(int pipe, std::uint32_t clock, int warp) const;
  /// Whether the warp has executed tcgen05.fence::after_thread_sync since it knows that.
  bool is_behind_fence(int pipe, std::uint32_t clock, int warp, bool done) const;
  /// Whether the pipe's own warp has waited for it.
  bool is_waited_for(int pipe, std::uint32_t clock) const { return clock < of(pipe).waited; }

  Cluster& cluster() const { return cluster_; }

 private:
  enum class Kind : std::uint8_t { operations, loads, stores };
  using Key = std::pair<Kind, int>;
  struct Pipe {
    int owner, width;  ///< a thread, 32 of which are a warp; or a warp
    int done, fenced, issued, read;
    std::uint32_t issued_count = 0, waited = 0;
    Who last = {};
    // The last commit: what was issued before it, and the phase at which it arrives.
    std::uint32_t committed_count = 0;
    std::string committed_to = {};
  };
  int find(Key key);
  const Pipe& of(int pipe) const { return pipes_[static_cast<std::size_t>(pipe)]; }
  Pipe& of(int pipe) { return pipes_[static_cast<std::size_t>(pipe)]; }
  std::size_t warps() const { return static_cast<std::size_t>(cluster_.blocks() * cluster_.stride() / kWarp); }

  Cluster& cluster_;
  std::map<Key, int> numbers_;
  std::vector<Pipe> pipes_;
  std::vector<std::vector<std::uint32_t>> after_;  // by warp, what it knew of each agent at its last fence
  int idle_ = -1;  // the last thread that has executed a commit with no operation of its own before it
};

/// The record of accesses to the tensor memory of one block: of each column and 16 lanes, the last write, and two reads
/// since then, of different pipes.
class TensorAccesses {
 public:
  explicit TensorAccesses(TensorOrder& order) : order_(order), cells_(kColumns * kParts) {}

  /// What one instruction does.
  struct Access {
    TensorUse use;
    int pipe;
    std::uint32_t clock;
    Who who;
    std::uint64_t shape = 0;   ///< of an accumulator: what tells kinds and shapes apart
    bool needs_value = false;  ///< a read of what was never written is a mistake
  };
  /// An access to words. It is recorded even if something is found.
  Found access(const TensorTouch& words, const Access& access);
  /// Columns are deallocated by a thread; nothing is known of them any more.
  Found deallocate(int first, int count, Who who);
  /// The fault of a deallocation, by a thread of the other block of the pair, of columns that are still in use here.
  Found deallocate_for_peer(int first, int count, Who who) const;

 private:
  static constexpr int kLanesOfCell = 16, kParts = TensorMemory::kLanes / kLanesOfCell,
                       kColumns = TensorMemory::kColumns, kBlockColumns = 32;
  struct Operation : Access {
    TensorTouch words;
  };
  struct Cell {
    std::uint32_t write = 0;  // numbers of operations_, or 0
    std::array<std::uint32_t, 2> read = {};
  };
  struct Range {
    int first_part, parts;
  };
  static Range parts_of(const TensorTouch& words);
  Cell& cell(int part, int column) { return cells_[static_cast<std::size_t>(part * kColumns + column)]; }
  const Cell& cell(int part, int column) const {
    return cells_[static_cast<std::size_t>(part * kColumns + column)];
  }
  const Operation& of(std::uint32_t number) const { return operations_[number]; }
  bool repeat(const TensorTouch& words, const Access& access);
  std::uint32_t add(const TensorTouch& words, const Access& access);
  void collect();
  Found check(const Operation& before, const TensorTouch& words, bool before_writes, const Access& now) const;
  Found check_pipelined(const Operation& before, const TensorTouch& words, bool before_writes,
                        const Access& now) const;
  Found check_operation(const Operation& before, const TensorTouch& words, bool before_writes,
                        const Access& now) const;
  Found check_move(const Operation& before, const TensorTouch& words, bool before_writes,
                   const Access& now) const;
  Fault found(const Operation& before, const TensorTouch& words, bool before_writes, const Access& now,
              std::string why, std::string accepted, KernelRule rule = KernelRule::tensor_order) const;
  TensorTouch bare(const TensorTouch& words, int part, int column) const;
  Found never_written(const TensorTouch& bare, const Access& now) const;

  TensorOrder& order_;
  std::vector<Cell> cells_;  // by part of 16 lanes, and column
  std::vector<Operation> operations_ = std::vector<Operation>(1);
  std::array<std::uint32_t, kColumns / kBlockColumns> last_ = {};  // who accessed 32 columns last
};

}  // namespace warpbit::block
#pragma GCC visibility pop
