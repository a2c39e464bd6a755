// SPDX-License-Identifier: Apache-2.0
// Running a kernel from its source without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "warpbit/device/calls.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/fault.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Launch parameters.
struct Launch {
  Target target;
  Dim3 grid = {}, block = {};
  std::uint64_t shared_bytes = 0;  ///< per block
  /// Number of host threads, kernel of the arithmetic, and what to refuse. The bits that a correct kernel
  /// leaves in memory do not depend on the number of threads.
  ExecuteOptions execute = {};
  std::size_t stack_bytes = 128 * 1024;  ///< per thread
  Dim3 cluster = {};                     ///< blocks that see each other's shared memory; it divides the grid
};

/// The outcome of a launch.
struct Launched {
  std::optional<Fault> fault;  ///< after a fault, the content of global memory is unspecified
  bool inferred = false;       ///< as in Execution, for any instruction of the launch

  bool ok() const { return !fault; }
  explicit operator bool() const { return ok(); }
};

/// Runs `thread` once for each thread of each block. Threads of a block and blocks of a cluster take turns, switching
/// where one waits for others; clusters run in parallel. An exception that leaves `thread` is rethrown here after all threads
/// have ended. Faults: launch_shape for an impossible launch; view_mismatch; those of Instruction::parse and
/// execute_batch; lanes_missing, lanes_disagree, threads_diverge, deadlock, inactive_lane; address_out_of_bounds,
/// address_misaligned, stores_overlap, never_written, data_race, copy_pending; descriptor_field;
/// protocol_violation (AsyncState::check, src/async/ASYNCHRONOUS.md); barrier_misused, phase_mistaken; not_on_target.
///
/// Shared memory follows the PTX manual's "Memory Consistency Model", with barriers and barrier objects as the only
/// synchronisation: if different threads access a byte and one of them writes, a __syncthreads must lie
/// between the accesses, or a __syncwarp whose mask has both lanes, or a cluster_sync, or an arrival and a wait for
/// its phase. Shuffles, votes and matrix instructions
/// order nothing. A product of a warpgroup counts as a read by all its lanes until a wait completes it. It
/// also needs a proxy fence after the write and before the product: by the writer, or by another thread after
/// a barrier, if that fence precedes all lanes of the warpgroup. Accesses to global memory are checked for
/// bounds and alignment only.
Launched launch(const Launch& how, const std::function<void()>& thread);

/// Runs kernel(arguments...), with a copy of the arguments for each thread.
template <class... Parameters, class... Arguments>
Launched launch(const Launch& how, void (*kernel)(Parameters...), const Arguments&... arguments) {
  return launch(how, [&] { kernel(arguments...); });
}
template <class Kernel, class... Arguments>
Launched launch(Target target, Dim3 grid, Dim3 block, std::uint64_t shared_bytes, const Kernel& kernel,
                const Arguments&... arguments) {
  return launch(Launch{target, grid, block, shared_bytes}, [&] { kernel(arguments...); });
}

}  // namespace warpbit
#pragma GCC visibility pop
