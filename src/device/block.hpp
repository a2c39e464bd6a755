// SPDX-License-Identifier: Apache-2.0
// The threads of a block, taking turns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>  // std::exception_ptr
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/fibre.hpp"
#include "device/order.hpp"
#include "device/warpgroup.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/device/launch.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/state.hpp"

namespace warpbit::device {

/// What a thread waits for, on its own stack.
struct Request {
  enum class Kind {
    barrier,
    active_mask,
    sync_warp,
    vote,
    shuffle,
    execute,
    load_matrix,
    store_matrix,
    warpgroup
  };
  Kind kind;
  std::string_view name;  ///< the instruction's form, or its statement
  Place at;
  std::uint32_t mask = 0;   ///< for requests with a mask
  std::uint64_t value = 0;  ///< argument of a vote or a shuffle, then its result
  calls::Shuffle how = {};
  int operand = 0, width = kWarp;
  int selector = -1;  ///< for a sparse product
  void* d = nullptr;  ///< destination registers
  std::span<const void* const> sources = {};
  calls::SharedView row = {};  ///< for a move
  const calls::WarpgroupProduct* product = nullptr;

  std::string_view form() const { return name.substr(0, name.find(' ')); }
  bool is_masked() const { return kind >= Kind::sync_warp && kind <= Kind::shuffle; }
  bool is_instruction() const { return kind >= Kind::execute; }
  /// Whether lanes with these two requests can execute them together.
  bool is_same(const Request& other) const {
    return kind == other.kind && name == other.name && selector == other.selector && mask == other.mask &&
           (is_masked() || at == other.at);
  }
};

/// A pending copy into shared memory.
struct AsyncCopy {
  std::int64_t to;
  int size;
  std::array<std::byte, 16> bytes;
  Place at;
  unsigned group;
};

/// State that a host thread keeps between blocks: stacks and parsed instructions.
class Worker {
 public:
  Worker(const Launch& how, Stacks stacks);
  Fibre& fibre(int thread) { return fibres_[static_cast<std::size_t>(thread)]; }
  const Result<Instruction>& instruction(std::string_view form, int selector);

 private:
  const Launch& how_;
  Stacks stacks_;
  SignalStack signal_stack_;
  std::vector<Fibre> fibres_;
  std::map<std::pair<const void*, int>, Result<Instruction>> instructions_;  // by text
};

/// One block, from the start of its first thread to the end of its last.
class Block {
 public:
  Block(const Launch& how, Index3 index, const std::function<void()>& thread, Worker& worker);

  /// Runs all threads. Rethrows exceptions of `thread`.
  void run();
  std::optional<Fault>& fault() { return fault_; }
  bool inferred() const { return inferred_; }

  // ---- Calls of the running thread. On a fault all threads end, and these calls do not return.

  /// Suspends the thread until the request is fulfilled.
  void wait(Request& request);
  calls::SharedView view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at);
  void load(const calls::SharedView& from, std::span<std::byte> value, std::size_t alignment, Place at);
  void store(const calls::SharedView& to, std::span<const std::byte> value, std::size_t alignment, Place at);
  /// The address of the bytes.
  std::byte* global(const char* what, const calls::GlobalView& view, std::int64_t bytes, std::size_t alignment,
                    Place at);
  void copy_async(const char* form, const calls::SharedView& to, const calls::GlobalView& from, int size,
                  int bytes, Place at);
  /// Executes an instruction of one thread.
  std::uint32_t convert(const char* form, float first, float second, Place at);
  void commit_group(Place at);
  void wait_group(unsigned pending, Place at);
  void wait_all(Place at);
  int make_registers(int count, Place at);
  /// A fault here is recorded but does not end the thread.
  void release_registers(int first, int count, Place made);
  std::uint32_t read_register(const calls::RegisterView& from, Place at);
  void write_register(const calls::RegisterView& to, std::uint32_t value, Place at);
  std::uint64_t matrix_descriptor(const calls::SharedView& start, const Descriptor& fields, Place at);
  void fence_proxy(const char* form, Place at);

 private:
  struct Thread {
    enum class State { begins, ready, waits, stuck, ended } state = State::begins;
    Request* request = nullptr;
    Place last = {};  ///< its last known place
    unsigned group = 0;
    std::vector<AsyncCopy> copies;  ///< in order
    RegisterStack registers;
  };
  // ---- block.cpp
  Thread& thread(int i) { return threads_[static_cast<std::size_t>(i)]; }
  Thread& lane(int warp, int i) { return thread(warp * kWarp + i); }
  Thread& running() { return thread(running_); }
  void run_thread(int i);
  void run_warp(int warp);
  void check_barrier();
  void unwind();
  void end_if_unwinding() const;
  [[noreturn]] void fail(Fault fault);
  void fail_if(std::optional<Fault> fault);

  // ---- accesses.cpp
  Fault fault_of(int thread, Place at, Error error) const;
  std::optional<Fault> check_shared(std::string_view what, const calls::SharedView& view, std::int64_t bytes,
                                    std::size_t alignment, int thread, Place at) const;
  std::optional<Fault> read(std::string_view what, std::int64_t first, std::int64_t bytes, int thread,
                            Place at);
  std::optional<Fault> write(std::string_view what, std::int64_t first, std::int64_t bytes, int thread,
                             Place at, Accesses::Written state = Accesses::Written::done);
  Fault conflict(std::string_view what, const Accesses::Conflict& conflict, int thread, Place at) const;
  std::optional<Fault> overwritten(std::string_view what, std::int64_t first, std::int64_t bytes, int thread,
                                   Place at);
  Error pending(std::string_view what, const Accesses::Conflict& conflict, int thread) const;
  void complete(unsigned groups);

  // ---- meeting.cpp: joint actions of a warp's lanes, once all of them wait
  bool meet(int warp);
  bool meet_masked(int warp);
  bool meet_instruction(int warp);
  bool meet_active_mask(int warp);
  void diagnose(int warp);
  Fault missing(int warp, int first, std::uint32_t wanted);
  template <class Condition>
  std::uint32_t lanes_that(int warp, Condition condition) const {
    std::uint32_t out = 0;
    const std::size_t first = static_cast<std::size_t>(warp) * kWarp;
    const std::size_t count = std::min<std::size_t>(kWarp, threads_.size() - first);
    for (std::size_t i = 0; i < count; ++i) out |= std::uint32_t{condition(threads_[first + i])} << i;
    return out;
  }
  void go_on(int warp, std::uint32_t lanes);
  std::optional<Fault> shuffle(int warp, std::uint32_t lanes);
  void vote(int warp, std::uint32_t lanes);
  std::optional<Fault> execute(int warp, const Instruction& instruction);
  std::optional<Fault> move(int warp, const Instruction& instruction);
  std::optional<Fault> move_accesses(int warp, const Instruction& instruction, const Effects& effects);
  Fault fault_of_warp(int warp, Error error);

  // ---- registers.cpp
  Warpgroup& group(int number);
  std::string register_name(int group, int reg);
  void access_register(const calls::RegisterView& view, Effects effects, const char* who, Place at);
  std::uint64_t actor(int thread, Place at, bool is_product = false);
  Fault::Side side(std::uint64_t actor) const;
  Fault violated(Fault fault, const AsyncViolation& violation);

  // ---- warpgroup.cpp
  const Request& request(int group, int lane) { return *thread(group * kWarpgroup + lane).request; }
  bool meet_warpgroup(int group);
  void check_warpgroups();
  Fault missing_warp(int thread, int warp);
  Fault by_group(int group, Fault fault) const;
  Fault fault_of_group(int group, Error error);
  std::optional<Fault> disagreeing(int group, const Instruction& instruction);
  Fault refused(int group, const Instruction& instruction, Error error);
  std::optional<Fault> multiply(int group, const Instruction& instruction);
  std::optional<Fault> read_as_group(int group, std::string_view what, const Effects::MemoryRead& bytes,
                                     Place at);
  void control(int group, const Instruction& instruction);

  const Launch& how_;
  Index3 index_;
  Worker& worker_;
  std::function<void()> body_;
  std::vector<Thread> threads_;
  int running_ = 0;
  Memory memory_;
  Order order_;
  Accesses accesses_;
  std::array<std::vector<std::byte>, 8> registers_;  // of the lanes, by operand
  std::vector<std::unique_ptr<Warpgroup>> groups_;   // the ones with asynchronous products
  std::optional<Fault> fault_, stuck_;
  std::exception_ptr exception_;
  bool unwinding_ = false, inferred_ = false;
};

/// The block that runs on this host thread. Precondition: there is one.
Block& current_block();

/// An address in hexadecimal, with its sign.
std::string address_text(std::int64_t address);

/// The lanes of a mask.
std::vector<int> lanes_of(std::uint32_t mask);

}  // namespace warpbit::device
