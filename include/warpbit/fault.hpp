// SPDX-License-Identifier: Apache-2.0
// What a thread of a block must not do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpbit/detail/block.hpp"
#include "warpbit/detail/source.hpp"
#include "warpbit/result.hpp"
#include "warpbit/state.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// "kernel.cu:46 > 43 > 24": the lines of a chain that lie in the file of its first one. Empty without a chain. If it is about another
/// line than the first one, that one stands before them: "kernel.cu:24 (46 > 43 > 24)".
std::string own_lines(const std::vector<SourceLink>& chain, int line = 0);
/// "in stage() at tile.hpp:12 > 40 and 3 more": the first function of another file, its lines there, and how many other lines
/// the chain has. Empty if all are in one file.
std::string others_lines(const std::vector<SourceLink>& chain);

/// One side of a fault.
struct FaultSide {
  int warp = 0;
  std::vector<int> lanes;
  device::Place at;  ///< where in the source
  int warps = 1;     ///< starting at `warp`; four if a warpgroup acts
  int ptx_line = 0;  ///< of a kernel in PTX, where `at` is what .loc says
  /// A line of the kernel's body, and those of the functions that were inlined or called there. `at` is the first one; or that of a
  /// lambda of the body that a helper calls; or, if both sides come by the same line of the body, the one at which they part.
  std::vector<SourceLink> chain = {};
  /// Of the other side, if it is another block of the cluster.
  std::optional<device::Index3> elsewhere = {};
  std::string what = {};  ///< "the write of the flag": what is there, for all sides but the fault's own
};

/// Threads that wait alike.
struct FaultWaiters {
  std::vector<device::Index3> blocks;
  std::vector<int> warps;  ///< of each of these blocks
  std::vector<int> lanes;  ///< of each of these warps; empty: all that have not ended
  std::string statement;   ///< at which they wait
  std::string awaits;      ///< "barrier 1: 1 of 2 warps have arrived"
  device::Place at;        ///< as in FaultSide
  int ptx_line = 0;
  std::vector<SourceLink> chain = {};
};

/// The first forbidden action of a kernel, in the first faulty block; blocks are counted with x fastest. The
/// lanes at fault are, for `lanes_missing` with `other`, the absent lanes, in `other->warp`.
struct Fault : FaultSide {
  /// `where` is the instruction or the kind of access.
  Error error;
  device::Index3 block;
  std::string kernel = {};  ///< of a module of PTX
  /// The memory and the byte in it; for global memory, the byte of the array.
  struct Address {
    Space space;
    std::int64_t byte;
    std::string name = {};  ///< the variable of a module that has the byte: "As + 0xe00"
    int rank = -1;          ///< of the block of the cluster whose shared memory it is, if that is known
    std::optional<device::Index3> elsewhere = {};  ///< that block, if it is another one than the fault's
  };
  std::optional<Address> address;
  /// The other side: an earlier access, the instruction of other lanes, or the last action of missing lanes.
  std::optional<FaultSide> other;
  /// Further places: where a barrier object was initialised, where a flag was set.
  std::vector<FaultSide> related = {};
  /// Of a deadlock: all threads that have not ended. `lanes` are those of one row, or who has asked for what does not come.
  std::vector<FaultWaiters> waiting = {};
  /// The rule that is broken; `none` if nothing could go on behind it.
  KernelRule rule = KernelRule::none;

  /// The whole fault as text, a line for each side.
  std::string message() const;
};

}  // namespace warpbit
#pragma GCC visibility pop
