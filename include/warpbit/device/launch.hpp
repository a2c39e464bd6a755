// SPDX-License-Identifier: Apache-2.0
// Running a kernel's source without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "warpbit/device/calls.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/result.hpp"
#include "warpbit/state.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The size of a grid or a block.
struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// What to launch.
struct Launch {
  Target target;
  Dim3 grid = {}, block = {};
  std::uint64_t shared_bytes = 0;  ///< of each block
  /// Threads to split the blocks over, the kernel of the arithmetic, what is refused. The bits that a correct
  /// kernel leaves in memory do not depend on the number of threads.
  ExecuteOptions execute = {};
  std::size_t stack_bytes = 128 * 1024;  ///< of each thread
};

/// The first thing that a kernel did and must not: of the first block in which there is one, blocks counted
/// with x fastest.
struct Fault {
  /// `where` is the instruction or the kind of access.
  Error error;
  device::Index3 block;
  int warp = 0;
  /// Whose doing it is; lanes that are missing, where lanes are missing: of the other side's warp, if there is
  /// one.
  std::vector<int> lanes;
  device::Place at;  ///< where in the source
  /// In which memory, and at which byte of it; of global memory, of the array.
  struct Address {
    Space space;
    std::int64_t byte;
  };
  std::optional<Address> address;
  /// The other side: an access before, what other lanes execute, or the last thing that missing lanes did.
  struct Side {
    int warp;
    std::vector<int> lanes;
    device::Place at;
    int warps = 1;
  };
  std::optional<Side> other;
  int warps = 1;  ///< from `warp` on: four, where it is a warpgroup's doing

  /// Everything of it, a line each for both sides.
  std::string message() const;
};

/// What became of a launch.
struct Launched {
  std::optional<Fault> fault;  ///< what global memory holds then is unspecified
  bool inferred = false;       ///< as in Execution, of any instruction

  bool ok() const { return !fault; }
  explicit operator bool() const { return ok(); }
};

/// Runs `thread` once for each thread of each block. Threads of a block take turns, where one waits for others;
/// blocks run in parallel. An exception that `thread` lets out comes out of here, when all threads have ended.
/// Faults: launch_shape, if there can be no such launch; view_mismatch; those of Instruction::parse and
/// execute_batch; lanes_missing, lanes_disagree, threads_diverge, inactive_lane; address_out_of_bounds,
/// address_misaligned, stores_overlap, never_written, data_race, copy_pending; descriptor_field;
/// protocol_violation (AsyncState::check).
///
/// Order in shared memory is that of the PTX manual's "Memory Consistency Model", of barriers alone: two
/// accesses of different threads to a byte, one of which writes, must have a __syncthreads between them, or a
/// __syncwarp of a mask that has both lanes. What a shuffle, a vote or a matrix instruction does orders
/// nothing. A product of a warpgroup reads as all its lanes do, until a wait completes it; what it reads needs
/// a proxy fence, too, behind the write and before the product: the writer's, or another thread's behind a
/// barrier, as long as it comes before all lanes of the warpgroup. Of accesses to global memory only the bounds
/// and the alignment are checked.
Launched launch(const Launch& how, const std::function<void()>& thread);

/// Runs kernel(arguments...), arguments being copied for each thread.
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
