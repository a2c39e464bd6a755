// SPDX-License-Identifier: Apache-2.0
// The threads of a block, taking turns: each is a fibre that runs until it must wait.
#pragma once

#include <array>
#include <cstdint>
#include <exception>  // std::exception_ptr
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "async/cluster.hpp"
#include "block/meeting.hpp"
#include "block/products.hpp"
#include "device/call_watch.hpp"
#include "device/fibre.hpp"
#include "warpbit/device/launch.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::device {

/// Registers of operands that a product reads at once; those of fragments follow.
inline constexpr int kDescriptorA = 0, kDescriptorB = 1, kScaleD = 2, kFragments = 3;

/// Allocates a thread's fragments in its registers as a stack, like the variables that hold them. Lanes with
/// the same live fragments thus have them in the same registers, whatever they did before.
class RegisterStack {
 public:
  struct Part {
    int first, count;
    Place made;
    bool alive = true;
  };
  /// Returns the first register.
  int push(int count, Place made);
  void release(int first);
  /// The fragment that contains a register, or nullptr.
  const Part* find(int reg) const;

 private:
  std::vector<Part> parts_;
};

/// A statement, and what it is on the target.
struct Parsed {
  std::string text;
  Result<Instruction> instruction;
};

/// What a thread waits for, and its operands, on its own stack.
struct Call : calls::Request {
  calls::Operands operands = {};
  const Parsed* parsed = nullptr;
};

/// State that a host thread keeps between blocks: stacks and parsed instructions.
class Worker {
 public:
  /// `watch`: of a test that is watched, or nullptr.
  Worker(const Launch& how, Stacks stacks, CallWatch* watch);
  /// Of a thread, counted through all blocks of a cluster.
  Fibre& fibre(int thread) { return fibres_[static_cast<std::size_t>(thread)]; }
  const Parsed& find(const calls::Statement& statement);
  CallWatch* watch() const { return watch_; }

 private:
  const Launch& how_;
  CallWatch* watch_;
  Stacks stacks_;
  SignalStack signal_stack_;
  std::vector<Fibre> fibres_;
  std::map<std::pair<const void*, const void*>, Parsed> statements_;
  decltype(statements_)::const_iterator latest_ = statements_.end();
};

class Cluster;

/// One block of a cluster, from the start of its first thread to the end of its last.
class Block {
 public:
  Block(const Launch& how, Cluster& cluster, int rank, Index3 index, const std::function<void()>& thread,
        Worker& worker);

  enum class Outcome { ended, waits, fault };
  /// Runs threads until all have ended, or none can go on but by what happens in the cluster, or one is at fault.
  Outcome run();
  /// Ends all threads.
  void unwind();
  Index3 index() const { return index_; }
  bool inferred() const { return inferred_; }
  const std::exception_ptr& exception() const { return exception_; }
  /// That of its threads, or of a copy on its way.
  const block::Found& fault() { return found_ ? found_ : meeting.fault(); }
  /// That of a copy on its way alone.
  const block::Found& found() const { return found_; }
  /// The lanes of a warp that have not ended.
  std::uint32_t alive(int warp) const;
  /// What its threads wait for, each with its place. `alive`: lanes that have not ended, by warp of the cluster.
  std::vector<FaultWaiters> waiting(std::span<const async::Lanes> alive) const;
  /// Nothing goes on any more. Whether this block has a fault then, with what all threads of the cluster wait for.
  bool report_deadlock(const std::vector<FaultWaiters>& waiting);

  // ---- For calls of the running thread. On a fault all threads end, and the call does not return.

  int running() const { return running_; }
  RegisterStack& fragments() { return fragments_[static_cast<std::size_t>(running_)]; }
  bool is_unwinding() const { return unwinding_; }
  /// The thread by its number in the cluster, from now on at this place.
  block::Who who(Place at);
  block::Who who(int thread, Place at) const { return {async.shared.first_thread() + thread, at}; }
  /// Suspends the thread until the request is fulfilled.
  void wait(Call& call);
  [[noreturn]] void fail(Fault fault);
  void fail_if(block::Found fault);
  /// The same for what the asynchronous machine has found. Without a name, the error has that of the form.
  void fail_if_found(std::string_view form);
  const Launch& how() const { return how_; }
  const ExecuteOptions& options() const { return options_; }
  /// Something was computed, and its arithmetic is inferred or not.
  void computed(bool inferred) { inferred_ = inferred_ || inferred; }
  Cluster& cluster() { return cluster_; }
  const Parsed& find(const calls::Statement& statement) { return worker_.find(statement); }
  CallWatch* watch() const { return worker_.watch(); }
  /// Executes an instruction of one thread.
  void execute_alone(const calls::Statement& statement, const calls::Operands& operands, Place at);

  async::Block async;
  block::Shared& shared = async.shared;
  block::Products products;
  block::Meeting meeting;

 private:
  Fibre& fibre_of(int thread) { return worker_.fibre(rank_ * meeting.threads() + thread); }
  void run_thread(int i);
  void run_warp(int warp);
  void enter();
  void end_if_unwinding() const;
  bool goes_on() { return !meeting.fault() && !exception_; }
  std::string register_name(int group, int reg) const;

  // ---- execute.cpp: the instruction for which the lanes from `first` on have met
  const Call& call(int thread) const { return static_cast<const Call&>(meeting.request(thread)); }
  int group_of(int thread) const { return shared.first_group() + thread / block::kWarpgroup; }
  Fault of_warp(int first, Error error) const;
  block::Found execute(int first);
  Result<void> compute(const Instruction& instruction, std::span<const calls::Operands* const> lanes);
  block::Found move(int first, const Instruction& instruction);
  const calls::WarpgroupProduct& product(int thread) const { return *call(thread).operands.product; }
  block::Found disagreeing(int first, const Instruction& instruction) const;
  Fault refused(int first, const Instruction& instruction, Error error) const;
  block::Found mistaken(int first, const Instruction& instruction) const;
  block::Found multiply(int first, const Instruction& instruction);

  // ---- tensor.cpp: the same for tensor memory
  block::Found tensor(int first, const Instruction& instruction);
  Result<bool> allocate_columns(int first, int cta_group, std::uint32_t columns, bool is_exclusive);
  Result<bool> move_tensor(int first, const Instruction& instruction, bool stores);

  const Launch& how_;
  Cluster& cluster_;
  int rank_;
  ExecuteOptions options_;  // of the launch, for one host thread
  Index3 index_;
  Worker& worker_;
  std::function<void()> body_;
  std::vector<bool> begun_;  // by thread, like the next
  std::vector<RegisterStack> fragments_;
  int running_ = 0;
  std::array<std::vector<std::byte>, 8> registers_;  // of the lanes, by operand
  std::exception_ptr exception_;
  block::Found found_;      // by the asynchronous machine, for the call at hand
  std::uint64_t seen_ = 0;  // events of the cluster when threads that wait elsewhere looked last
  bool unwinding_ = false, inferred_ = false;
};

/// The block that runs on this host thread. Precondition: there is one.
Block& current_block();

namespace calls {

/// The block whose shared memory the array is in, for an access of the running thread. Faults: protocol_violation if the
/// block may not have begun, or has ended.
Block& owner(std::string_view what, const View& array, Place at);
/// Fails if the array is another block's: only loads, stores, arrivals and copies reach those.
void check_own(std::string_view what, const View& array, Place at);
/// Bytes of a barrier object.
inline constexpr std::int64_t kObject = block::Mbarriers::kBytes;
/// Fails where the target has no asynchronous machine.
void check_target(std::string_view form, Place at);
/// Fails with an error of the asynchronous machine, or with what it has found; the form is its name.
void check_done(std::string_view form, const Result<bool>& done, Place at);
/// "the cluster has 2 blocks"
std::string blocks_of(int blocks);
/// Tells who compares launches of an access to global memory, before it.
void access_global(std::byte* at, std::size_t bytes, bool writes);

}  // namespace calls

/// While one exists, blocks may run on this host thread; then the variables of the kernel around it are as before.
class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Block* block_;
  std::array<Index3, 4> indices_;
};

}  // namespace warpbit::device
