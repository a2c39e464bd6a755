// SPDX-License-Identifier: Apache-2.0
// Executing instructions: many cases at once, one warp, or one output element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/kernel.hpp"
#include "warpbit/registers.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

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

}  // namespace warpbit
#pragma GCC visibility pop
