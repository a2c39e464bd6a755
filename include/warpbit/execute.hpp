// SPDX-License-Identifier: Apache-2.0
// Executing instructions: many cases at once, one warp, or one output element.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "warpbit/format.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/tensor_memory.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Registers and matrices
//
// Registers as arrays of known size, and the matrices in them, as a program has them before and after an
// instruction. Matrices are row-major; warpbit/eigen.hpp takes Eigen's.

/// The registers of one operand: a non-owning array [cases][lanes][registers]. Registers are little-endian.
/// Values narrower than a register lie side by side in it, the first one lowest (two _Float16 in a .b32). A
/// function that uses the array refuses it with view_mismatch if it does not fit the operand.
class OperandArray {
 public:
  /// An empty array, for an immediate or for an operand that the statement gives as literals.
  OperandArray() = default;

  /// A dense array: a vector, std::array or span of numbers, or of bytes.
  template <std::ranges::contiguous_range Values>
  requires std::ranges::sized_range<Values> && std::ranges::borrowed_range<Values> &&
      std::is_trivially_copyable_v<std::ranges::range_value_t<Values>> &&
      (!std::same_as<std::ranges::range_value_t<Values>, OperandArray>)OperandArray(Values&& values)
      : view_{reinterpret_cast<const std::byte*>(std::ranges::data(values))},
        writable_(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Values>>>),
        value_bytes_(sizeof(std::ranges::range_value_t<Values>)),
        values_(std::ranges::size(values)) {}

  /// An array with byte strides of any sign, 0 included. Precondition: all registers exist.
  static OperandArray strided(const OperandView& view, std::size_t cases);
  static OperandArray strided(const ResultView& view, std::size_t cases);

  bool empty() const { return view_.base == nullptr; }

  /// The array as a view, and the number of its cases. `destination`: it will be written. Errors:
  /// view_mismatch unless the array is [cases][lanes][registers] of the operand.
  struct Registers {
    ResultView view;
    std::size_t cases = 0;
    operator OperandView() const { return view; }
  };
  Result<Registers> registers(const Operand& operand, int lanes, bool destination) const;

 private:
  OperandView view_;  // dense: only its base
  bool writable_ = false;
  std::size_t value_bytes_ = 0, values_ = 0;  // dense: the size of one value, and how many there are
  std::size_t cases_ = 0;                     // strided, where value_bytes_ is 0
};

/// Writes a matrix of codes (Operand::format; bits above the format's width are ignored) into every place of
/// the registers that holds its elements; all other bits keep their values (PTX manual, "Matrix Fragments").
/// The matrix has operand.fragment.rows() x columns() elements, row by row. `index` is the case; `product`
/// selects one of several matrices side by side. Errors: view_mismatch.
Result<void> scatter(const Operand& operand, std::span<const std::uint64_t> codes, OperandArray registers,
                     std::size_t index = 0, int product = 0);
/// The same for numbers, each rounded once to nearest even. Errors: also those of Codec::encode.
Result<void> scatter_values(const Operand& operand, std::span<const double> numbers, OperandArray registers,
                            std::size_t index = 0, int product = 0);

/// The matrix of codes in the registers, row by row. If several places hold an element, the first one counts.
/// Errors: view_mismatch.
Result<std::vector<std::uint64_t>> gather(const Operand& operand, OperandArray registers, std::size_t index = 0,
                                          int product = 0);
/// The same as exact numbers. Errors: also those of Codec::find.
Result<std::vector<double>> gather_values(const Operand& operand, OperandArray registers, std::size_t index = 0,
                                          int product = 0);

// ---- Executing

/// Handling of operands whose meaning the manual leaves undefined.
enum class Undefined {
  error,        ///< refused (Errc::undefined_operand), with the place
  as_measured,  ///< the measured behaviour of the hardware (src/target/NUMERICS.md)
};

/// How to execute.
struct ExecuteOptions {
  /// See Undefined.
  Undefined undefined = Undefined::error;
  /// If false, an instruction for which Instruction::inferred() holds is refused (Errc::inferred_plan).
  bool allow_inferred = true;
  /// The number of threads, at most 1024; 0: OpenMP's default. The bits do not depend on it.
  int threads = 0;
  /// The kernel to compute with; absent: chosen_kernel(). The bits do not depend on it.
  std::optional<Kernel> kernel = std::nullopt;
};

/// Properties of a result.
struct Execution {
  /// The order of the sum, F or the rounding is not verified on hardware (Evidence::overall).
  /// Instruction::evidence() says whether the floor and the specials are.
  bool inferred = false;
  /// The kernel that computed it. Kernel::reference if the other kernels do not implement this instruction.
  Kernel kernel = Kernel::reference;
};

/// How a kernel computes an instruction, e.g. "fast: fused sums from fragments (avx512)"; "reference" where the
/// specification does. Precondition: this processor can run the kernel.
std::string path_of(const Instruction& instruction, Kernel kernel);

/// One output element: its code in the destination's format.
struct Element {
  std::uint64_t code = 0;
  bool inferred = false;  ///< as in Execution
};

/// Executes the instruction once for each case. `operands` are the registers of all operands in the order of
/// the statement, D first; all have the same number of cases. D may be the same array as a source, but must
/// not overlap one otherwise. Errors: view_mismatch for an array that does not fit; those of execute_batch.
Result<Execution> execute(const Instruction& instruction, const std::vector<OperandArray>& operands,
                          const ExecuteOptions& options = {});

/// Executes one warp, or one warpgroup if Instruction::lanes() says so. The generic address of the first byte
/// of `shared_memory` is `window`. `operands` are as for execute, with one case; an instruction that stores has
/// no D and changes the memory. A warpgroup's product is complete when this returns. On error
/// nothing has changed. Errors: view_mismatch; usage if the memory ends beyond 2^64; those of execute_warp
/// (warpbit/machine.hpp).
Result<Execution> execute_warp(const Instruction& instruction, const std::vector<OperandArray>& operands,
                               std::span<std::byte> shared_memory = {}, std::uint64_t window = 0,
                               const ExecuteOptions& options = {});

/// The same on views, without allocating per case. `sources` are the source operands in the order of the
/// statement; the view of an immediate, or of a vector of literals only, may be empty. The destination must
/// not overlap a source unless it is the same registers. Padding bits of the destination become 0. An
/// instruction that each thread executes alone (lanes() is 1) takes one case per thread. Errors:
/// view_mismatch, memory_needed (use execute_warp), machine_needed (use a Machine), inferred_plan,
/// undefined_operand, no_such_kernel.
Result<Execution> execute_batch(const Instruction& instruction, std::span<const OperandView> sources,
                                const ResultView& destination, std::size_t cases,
                                const ExecuteOptions& options = {});

/// The sources of a warpgroup's product besides D (PTX manual, "Asynchronous warpgroup level matrix
/// instructions"). A matrix in shared memory is found by its descriptor (warpbit/descriptor.hpp). Views that
/// the instruction has no operand for are not read. Literals in the statement override the values given here.
struct WarpgroupSources {
  OperandView a = {};
  std::uint64_t a_descriptor = 0, b_descriptor = 0;
  OperandView metadata = {};
  bool accumulate = true;  ///< scale-d: D = A B + D, or D = A B
};

/// Executes one product of a warpgroup on the current registers and shared memory. The rules of asynchronous
/// instructions are checked by a Machine only (warpbit/machine.hpp). `d` is read, unless scale-d is 0, and
/// written. Errors: view_mismatch, address_out_of_bounds, inferred_plan, undefined_operand, no_such_kernel.
Result<Execution> execute_warpgroup(const Instruction& instruction, const WarpgroupSources& sources,
                                    std::span<const std::byte> shared_memory, const ResultView& d,
                                    const ExecuteOptions& options = {});

/// One output element. Errors: view_mismatch, inferred_plan.
Result<Element> execute_element(const Instruction& instruction, const ElementCodes& element,
                                const ExecuteOptions& options = {});

// ---- Sparse matrices
//
// Structured sparse matrices: conversion between a dense matrix and the operands of a sparse instruction (PTX
// manual, "Sparse matrix storage").

/// A compressed matrix, ready to be scattered into the registers of A and of the metadata. The instruction's
/// selector determines the lanes that hold the metadata.
struct CompressedMatrix {
  std::vector<std::uint64_t> codes;     ///< rows() x terms() codes of A's format, row by row
  std::vector<std::uint64_t> metadata;  ///< rows() x groups nibbles, row by row
};

/// Compresses a dense matrix of rows() x depth() codes, given row by row; bits above the format's width are
/// dropped. A code that decodes to a zero of either sign counts as absent, even if ignored low bits are set.
/// A group with fewer elements than allowed is filled up with zeros; the indices ascend. Errors: not_sparse,
/// which names the row and the columns of the first group with too many elements, or reports a wrong
/// instruction or size.
Result<CompressedMatrix> compress(const Instruction& instruction, std::span<const std::uint64_t> dense);

/// The dense matrix of rows() x depth() codes, row by row; absent elements are +0. Errors: not_sparse;
/// undefined_operand for metadata that the manual leaves undefined.
Result<std::vector<std::uint64_t>> expand(const Instruction& instruction, const CompressedMatrix& matrix);

// ---- tcgen05
//
// Executing tcgen05: one instruction on the tensor memory and the shared memory of a block, or of a pair of blocks (PTX manual,
// "TensorCore 5th Generation Family Instructions"). Everything is complete on return; who follows what happens when
// (warpbit/machine.hpp, warpbit/ptx.hpp) asks for the touches first.

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
