// SPDX-License-Identifier: Apache-2.0
// Executing instructions: many cases at once, one warp, or one output element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/kernel.hpp"
#include "warpbit/registers.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What becomes of operands whose meaning the manual leaves undefined.
enum class Undefined {
  error,        ///< refused (Errc::undefined_operand), with the place
  as_measured,  ///< what the hardware was measured to do (src/target/NUMERICS.md)
};

/// How to execute.
struct ExecuteOptions {
  /// See Undefined.
  Undefined undefined = Undefined::error;
  /// If false, an instruction for which Instruction::inferred() holds is refused (Errc::inferred_plan).
  bool allow_inferred = true;
  /// Threads to split the work over, at most 1024; 0: OpenMP's number. The bits do not depend on it.
  int threads = 0;
  /// The kernel to compute with; absent: chosen_kernel(). The bits do not depend on it.
  std::optional<Kernel> kernel = std::nullopt;
};

/// What comes with a result.
struct Execution {
  /// The order of the sum, F or the rounding rest on no hardware result (Evidence::overall). Whether the floor
  /// and the specials do is in Instruction::evidence().
  bool inferred = false;
  /// The kernel that computed it, as that kernel says itself. Kernel::reference where the others have nothing for
  /// this instruction.
  Kernel kernel = Kernel::reference;
};

/// One output element: its code in the destination's format.
struct Element {
  std::uint64_t code = 0;
  bool inferred = false;  ///< as in Execution
};

/// Executes the instruction once for each case. `operands` are the registers of all operands in the order of the
/// statement, D first; all have the same number of cases. D may be the array of a source, else it must not
/// overlap one. Errors: view_mismatch for an array that does not fit; those of execute_batch.
Result<Execution> execute(const Instruction& instruction, const std::vector<OperandArray>& operands,
                          const ExecuteOptions& options = {});

/// Executes one warp, or one warpgroup if Instruction::lanes() says so, with this shared memory, whose first byte
/// has the generic address `window`. `operands` as for execute, of one case; an instruction that stores has no D
/// and changes the memory. A product of a warpgroup is complete when this returns. If there is an error, nothing
/// has changed. Errors: view_mismatch; usage if the memory ends beyond 2^64; those of execute_warp
/// (warpbit/machine.hpp).
Result<Execution> execute_warp(const Instruction& instruction, const std::vector<OperandArray>& operands,
                               std::span<std::byte> shared_memory = {}, std::uint64_t window = 0,
                               const ExecuteOptions& options = {});

/// The same on views, without allocating per case. `sources` are the source operands in the order of the
/// statement; the view of an immediate, or of a vector of literals only, may be empty. The destination must not
/// overlap a source unless it is the same registers. Padding bits of the destination become 0. Nothing is
/// allocated per case. An instruction of each thread (lanes() is 1) takes a case for each thread. Errors:
/// view_mismatch, memory_needed (use execute_warp), machine_needed (use a Machine), inferred_plan,
/// undefined_operand, no_such_kernel.
Result<Execution> execute_batch(const Instruction& instruction, std::span<const OperandView> sources,
                                const ResultView& destination, std::size_t cases,
                                const ExecuteOptions& options = {});

/// What a product of a warpgroup reads besides D (PTX manual, "Asynchronous warpgroup level matrix
/// instructions"). A described matrix is found by its descriptor (warpbit/descriptor.hpp); a view that the
/// instruction has no operand for is not read. What the statement gives as a literal counts instead of what is
/// given here.
struct WarpgroupSources {
  OperandView a = {};
  std::uint64_t a_descriptor = 0, b_descriptor = 0;
  OperandView metadata = {};
  bool accumulate = true;  ///< scale-d: D = A B + D, or D = A B
};

/// Executes one product of a warpgroup, registers and shared memory being what they are when it reads them: the
/// rules of asynchronous instructions are a Machine's (warpbit/machine.hpp). `d` is what is read, if D counts,
/// and written. Errors: view_mismatch, address_out_of_bounds, inferred_plan, undefined_operand, no_such_kernel.
Result<Execution> execute_warpgroup(const Instruction& instruction, const WarpgroupSources& sources,
                                    std::span<const std::byte> shared_memory, const ResultView& d,
                                    const ExecuteOptions& options = {});

/// What one output element of D = A B + C is made of: codes of at most terms() elements of a row of A and a
/// column of B (the rest are +0), and the code of the accumulator. With a sparse A these are the factors of the
/// products that exist, in the order in which A stores them. With block scaling also the codes of the scale
/// factors of the blocks that the elements lie in, else none (PTX manual, "Block Scaling").
struct ElementSources {
  std::span<const std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::span<const std::uint64_t> a_scale = {}, b_scale = {};
};

/// One output element. Errors: view_mismatch, inferred_plan.
Result<Element> execute_element(const Instruction& instruction, const ElementSources& element,
                                const ExecuteOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
