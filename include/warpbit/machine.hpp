// SPDX-License-Identifier: Apache-2.0
// One warp or warpgroup executing one instruction, with a record of its reads and writes; and a block that
// executes many instructions. The batch path (warpbit/execute.hpp) computes the same bits without records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/state.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The number of the first register of each operand, in the order of Instruction::operands(); an operand's
/// registers are consecutive. The entry of an immediate is ignored.
using Binding = std::vector<int>;

/// Executes one warp, or one warpgroup if Instruction::lanes() says so. Lane i executes `lanes[i]`; nullptr
/// if the lane has exited or takes another path. All lanes must execute the same form with the same literals
/// and sinks (PTX manual, ".sync" and ".aligned"). An instruction that each thread executes alone
/// (Instruction::lanes() is 1) is executed by the lanes that are not nullptr. Registers and memory are
/// unchanged until the effects are applied. Results of an asynchronous instruction are those after its
/// completion. Errors: lanes_missing and lanes_disagree, which name the lanes; view_mismatch if the binding
/// does not fit the registers; inferred_plan, undefined_operand; for an instruction that uses memory
/// address_misaligned, address_out_of_bounds, address_not_shared, addresses_disagree and stores_overlap,
/// which name the lane and the address.
Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const Memory& memory,
                             const ExecuteOptions& options = {});

/// The same without memory. Errors: also memory_needed.
Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const ExecuteOptions& options = {});

/// Options of a Machine.
struct MachineOptions {
  ExecuteOptions execute;
  /// Whether to refuse accesses that the rules of asynchronous instructions leave undefined
  /// (AsyncState::check). If false, they proceed and the results are still deterministic: an asynchronous
  /// product reads shared memory and registers when it is issued, registers as the products before it leave
  /// them. Any other access to one of its registers sees and changes the current value, which completion then
  /// overwrites.
  bool detect = true;
};

/// A block: warps, each lane with its registers; warpgroups of four warps, each with its asynchronous state;
/// one memory for all, and tensor memory. It executes one instruction after another. The caller picks the warpgroup and thus
/// plays the scheduler; it also stands in for barriers. A refused call changes nothing.
class Machine {
 public:
  /// The last warpgroup may be incomplete. Bytes already in `memory` count as written by the block's threads.
  /// Precondition: neither number is negative.
  Machine(int warps, int registers, Memory memory, const MachineOptions& options = {});

  int warpgroups() const { return static_cast<int>(groups_.size()); }
  /// Number of lanes of a warpgroup: 128, or fewer in the last. Precondition of this and of the next two:
  /// 0 <= warpgroup < warpgroups().
  int lanes(int warpgroup) const { return group(warpgroup).registers.lanes(); }
  /// The current values; this does not count as an access.
  const Registers& registers(int warpgroup) const { return group(warpgroup).registers; }
  const AsyncState& async_state(int warpgroup) const { return group(warpgroup).async; }
  const Memory& memory() const { return memory_; }
  const TensorMemory& tensor_memory() const { return tensor_.memory; }
  /// Instructions of tensor memory that are not complete, oldest first: products, copies and shifts before a commit, which completes
  /// them here as if its barrier object had been waited for; ld and st before their wait.
  const std::vector<TensorPending>& tensor_pending() const { return tensor_.pending; }

  /// Makes two blocks a pair, the one with the even rank first, each of which must live as long as the other is used.
  /// Instructions with .cta_group::2 that either of them executes act on both; alloc and dealloc are for each to execute.
  static void pair(Machine& even, Machine& odd);

  /// Executes each lane's instruction, nullptr for an idle lane: the warpgroup together, or warp by warp, as
  /// the instructions require. A warp does not see the effects of another one in the same call. The binding
  /// holds for every lane. If warps execute different instructions, `kernel` is the slowest of theirs.
  /// Errors: those of execute_warp; view_mismatch; protocol_violation.
  Result<Execution> execute(int warpgroup, std::span<const Instruction* const> lanes, const Binding& binding);
  /// The same instruction for every lane.
  Result<Execution> execute(int warpgroup, const Instruction& instruction, const Binding& binding = {});

  /// A thread's access to its registers by instructions outside this library. Errors: view_mismatch if the
  /// register does not exist; protocol_violation.
  Result<std::uint64_t> read_register(int warpgroup, int lane, int reg);
  Result<void> write_register(int warpgroup, int lane, int reg, std::uint64_t value);

  /// Threads' accesses to memory by other instructions, through the generic proxy. Errors:
  /// address_out_of_bounds; protocol_violation.
  Result<void> read_memory(Space space, std::uint64_t address, std::span<std::byte> out) const;
  Result<void> write_memory(Space space, std::uint64_t address, std::span<const std::byte> bytes);
  /// A bulk copy into shared memory through the async proxy; it is complete and visible on return. Errors:
  /// address_out_of_bounds; protocol_violation.
  Result<void> copy_async(std::uint64_t address, std::span<const std::byte> bytes);

 private:
  struct Group {
    Registers registers;
    AsyncState async;
  };
  struct Tensor {
    TensorMemory memory;
    std::vector<TensorPending> pending;
    Machine *even = nullptr, *odd = nullptr;  // of a pair
  };
  struct TensorCall;
  struct Step {
    std::string who;
    Effects effects;
  };
  const Group& group(int warpgroup) const { return groups_[static_cast<std::size_t>(warpgroup)]; }
  Result<void> check_group(int warpgroup) const;
  Result<void> check_register(int warpgroup, int lane, int reg) const;
  Result<std::vector<Step>> compute(const Group& group, std::span<const Instruction* const> lanes,
                                    const Binding& binding) const;
  Result<void> check(const Group& group, const Step& step) const;
  Result<void> check_store(std::string_view who, Space space, std::uint64_t address, std::uint64_t bytes) const;
  Result<void> perform(Group& group, std::vector<Step> steps);
  Result<void> check_tensor(const TensorPending& next) const;
  Result<Execution> execute_tensor(Group& group, int first_warp, const Instruction& instruction,
                                   std::span<const Instruction* const> lanes, const Binding& binding);
  Result<Execution> execute_mma(const TensorCall& call);
  Result<void> execute_move(const TensorCall& call);
  Result<void> allocate(const TensorCall& call);

  MachineOptions options_;
  Memory memory_;
  std::vector<Group> groups_;
  Tensor tensor_;
};

}  // namespace warpbit
#pragma GCC visibility pop
