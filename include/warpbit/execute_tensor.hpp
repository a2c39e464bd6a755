// SPDX-License-Identifier: Apache-2.0
// Executing tcgen05: one instruction on the tensor memory and the shared memory of a block, or of a pair of blocks (PTX manual,
// "TensorCore 5th Generation Family Instructions"). Everything is complete on return; who follows what happens when
// (warpbit/machine.hpp, warpbit/ptx.hpp) asks for the touches first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/tensor_memory.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What an instruction acts on: the block, or the two of a pair, the one with the even rank first.
struct TensorBlock {
  TensorMemory* tensor = nullptr;
  std::span<const std::byte> shared = {};
};

/// Words of tensor memory that an instruction reads or writes: all of these columns in these lanes.
struct TensorTouch {
  int block = 0;  ///< of the pair
  int first_lane = 0, lanes = 0, first_column = 0, columns = 0;
  bool writes = false;
  friend bool operator==(const TensorTouch&, const TensorTouch&) = default;
};
/// Bytes of shared memory that it reads, both ends included.
struct SharedTouch {
  int block = 0;
  ByteRange bytes;
  friend bool operator==(const SharedTouch&, const SharedTouch&) = default;
};
/// All that one instruction touches.
struct TensorTouches {
  std::vector<TensorTouch> tensor;
  std::vector<SharedTouch> shared;
};

/// The values of the operands of tcgen05.mma. Those that the instruction has no operand for are not read.
struct TensorMmaSources {
  std::uint32_t d = 0;            ///< the address of D
  std::uint64_t a = 0;            ///< a matrix descriptor, or the address of A in tensor memory
  std::uint64_t b = 0;            ///< a matrix descriptor
  std::uint32_t instruction = 0;  ///< the instruction descriptor
  std::uint32_t metadata = 0, scale_a = 0, scale_b = 0;  ///< addresses
  std::array<std::uint32_t, 8> disabled_lanes = {};      ///< bit i of word j: lane 32 j + i of D is not written
  bool accumulates = true;                               ///< enable-input-d: D = A B + D, or D = A B
  int scale_input_d = 0;                                 ///< D = A B + D 2^-n
  std::uint64_t zero_columns = 0;                        ///< the zero-column mask descriptor
};

/// Executes tcgen05.mma, of all kinds. Errors: usage for another instruction or another number of blocks than its .cta_group;
/// instruction_descriptor; descriptor_field; tensor_memory for an address that is not allowed, columns beyond the last, or
/// which are not allocated; address_out_of_bounds for bytes beyond shared memory; undefined_operand for metadata;
/// inferred_plan, no_such_kernel. On error nothing has changed.
Result<Execution> execute_mma(const Instruction& instruction, const TensorMmaSources& sources,
                              std::span<const TensorBlock> blocks, const ExecuteOptions& options = {});
/// What it touches. Errors: those of execute_mma that do not depend on what the memories hold.
Result<TensorTouches> touches_of_mma(const Instruction& instruction, const TensorMmaSources& sources,
                                     std::span<const TensorBlock> blocks);

/// Executes tcgen05.cp, from shared memory at a matrix descriptor to an address of tensor memory. Errors: those of
/// execute_mma.
Result<void> execute_copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from,
                          std::span<const TensorBlock> blocks);
Result<TensorTouches> touches_of_copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from,
                                      std::span<const TensorBlock> blocks);

/// Executes tcgen05.shift. Errors: those of execute_mma.
Result<void> execute_shift(const Instruction& instruction, std::uint32_t at,
                           std::span<const TensorBlock> blocks);
Result<TensorTouches> touches_of_shift(const Instruction& instruction, std::uint32_t at,
                                       std::span<const TensorBlock> blocks);

/// Executes tcgen05.ld by a warp of a block, the number of which chooses its window of 32 lanes: the lane of the address counts
/// modulo 32. `split` is immHalfSplitoff, for .16x32bx2. `registers` has a word for each (thread, register): 32 times those of
/// the instruction. `reduced` has the result of .red for each thread; else it is empty. Errors: usage for arrays that do not
/// fit; tensor_memory.
Result<void> execute_load(const Instruction& instruction, int warp, std::uint32_t address, std::int64_t split,
                          const TensorMemory& memory, std::span<std::uint32_t> registers,
                          std::span<std::uint32_t> reduced = {});
/// Executes tcgen05.st. Errors: those of execute_load.
Result<void> execute_store(const Instruction& instruction, int warp, std::uint32_t address, std::int64_t split,
                           TensorMemory& memory, std::span<const std::uint32_t> registers);
/// What either touches. Error: tensor_memory.
Result<TensorTouches> touches_of_move(const Instruction& instruction, int warp, std::uint32_t address,
                                      std::int64_t split);

/// True if the address names lanes of another window than that of the warp, which hardware ignores and the manual does not
/// allow (PTX manual, "Tensor Memory and Register Load/Store Instructions: access restrictions").
bool names_other_window(int warp, std::uint32_t address);

/// An instruction of tensor memory that is not known to be complete.
struct TensorPending {
  enum class Kind { mma, cp, shift, ld, st } kind;
  std::string who;
  int warp = 0;  ///< of the block, which executed it
  TensorTouches touches;
  std::uint32_t d = 0;            ///< of an mma: the address of D
  std::uint32_t instruction = 0;  ///< its descriptor
};

}  // namespace warpbit
#pragma GCC visibility pop
