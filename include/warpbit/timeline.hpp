// SPDX-License-Identifier: Apache-2.0
// What the warps of a block waited for, and what let them go on. Statements have numbers, from 0 on, in the order in which
// warpbit executed those of the block. That is an order, and no time: warps take turns here, each up to its next wait, and
// run side by side on a GPU. What waits for what is the kernel's; which warp comes last to a barrier, and whether a warp
// waits at all or comes when all is there, may be otherwise on a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "warpbit/detail/block.hpp"  // Index3

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// What lanes of a warp wait for. A timeline has none of the last two, which meet at one instruction.
enum class Awaited : std::uint8_t {
  barrier,          ///< one of the block's sixteen: bar, barrier
  mbarrier,         ///< a phase of a barrier object
  cluster_barrier,  ///< barrier.cluster
  copies,           ///< cp.async: wait_group, wait_all
  bulk_copies,      ///< cp.async.bulk.wait_group
  products,         ///< asynchronous ones of a warpgroup, by groups
  registers,        ///< setmaxnreg.inc
  columns,          ///< of tensor memory, to be allocated
  lanes,            ///< others of their warp
  warpgroup,        ///< its other warps
};
/// Its name: "mbarrier", "cluster_barrier".
std::string_view name(Awaited awaited);

/// What lets a warp go on.
enum class ReleasedBy : std::uint8_t {
  arrival,  ///< of the last thread at a barrier; registers or columns that are given back
  copy,     ///< the last bytes of an asynchronous copy, or its group
  product,  ///< an asynchronous product, or its group
  end,      ///< of the last thread that a barrier waited for
};
/// Its name: "copy".
std::string_view name(ReleasedBy by);

/// A statement that has let a warp go on, as the last of all that had to be: an arrival, or what began a copy or a product.
struct Release {
  ReleasedBy by = ReleasedBy::arrival;
  device::Index3 block = {};
  int warp = 0;
  int line = 0;  ///< of the module's text
  /// Its number; of a statement of another block of the cluster that of the next one of the observed block.
  std::uint64_t statement = 0;
};

/// A warp, or a part of one that has diverged, waited at a statement or could have.
struct Wait {
  Awaited what = Awaited::barrier;
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;  ///< of the module's text
  bool waited =
      false;  ///< false: all was there already. For groups of copies and of products no warp waits here.
  /// How many statements of the block were executed when the wait began, and when it was over.
  std::uint64_t from = 0, released = 0;
  /// The number of the statement with which it went on: of a test or a wait itself, of bar the one behind it. Nothing: it
  /// never did.
  std::optional<std::uint64_t> to = {};
  std::optional<Release> by = {};  ///< nothing: a test that was told to give up, or a wait that is not over
};

/// Statements that a warp has executed one after the other, and no other warp of the block between them.
struct WarpRun {
  int warp = 0;
  std::uint64_t first = 0, count = 0;
  int first_line = 0, last_line = 0;  ///< of the module's text
};

/// One block of a launch.
struct Timeline {
  /// Runs, and waits, that are kept at most.
  static constexpr std::size_t kMost = 32'768;

  device::Index3 block = {};
  int warps = 0;                 ///< 0: the block has not run
  std::uint64_t statements = 0;  ///< that its warps have executed
  std::uint64_t covered =
      0;  ///< so many of them, the first ones, the members below are of: all but in a long launch
  std::vector<WarpRun> runs;  ///< by their statements
  std::vector<Wait> waits;    ///< in the order in which they were over; behind them those that never were
};

}  // namespace warpbit::ptx
#pragma GCC visibility pop
