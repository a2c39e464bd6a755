// SPDX-License-Identifier: Apache-2.0
// The registers that the warps of a block give back and take (PTX manual, "setmaxnreg").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "block/fault.hpp"
#include "block/order.hpp"
#include "ptx/module.hpp"

namespace warpbit::grid {

/// The registers of a multiprocessor are shared out at the launch: each thread has as many as .maxnreg says, or all of them are
/// shared by the threads, in eights. More than a thread has may come from warps that have given some back.
class RegisterPool {
 public:
  /// Whether the assembler knows how many registers a thread has at the launch: by .maxnreg, or by .minnctapersm beside
  /// .maxntid or .reqntid. If not, it leaves out each setmaxnreg (ptxas 13.0, C7508).
  static bool is_known(const ptx::FunctionText& kernel) {
    return kernel.max_registers > 0 ||
           (kernel.min_blocks > 0 && (kernel.max_threads.x > 0 || kernel.required_threads.x > 0));
  }
  /// The finding of one that is left out.
  static Fault ignored(block::Who who);
  /// `most`: of .maxnreg; 0 if the kernel has none.
  RegisterPool(int warps, std::int64_t most);

  /// Of a thread of the warp.
  int count(int warp) const { return count_[static_cast<std::size_t>(warp)]; }
  /// Whether there are as many: then its threads have them.
  bool set(int warp, int count);
  /// A warp has executed a setmaxnreg; `who`: its first lane. The fault of one that is not what its warpgroup executes, or that
  /// comes before all of them have met behind the last one.
  block::Found executed(int warp, block::Who who, const block::Order& order);
  /// At the block's end: the faults of warpgroups of which some warps have left one out.
  std::vector<Fault> left_out() const;
  /// What a thread of the warp lacks to have so many: "1,280 more registers, and 256 are free", of the whole warp.
  std::string lacking(int warp, int count) const;
  /// A warp that waits for registers: so many for each of its threads.
  struct Wanted {
    int warp, count;
  };
  /// Why these wait in vain; `waits` is one of them.
  block::Cause cause(block::Who waits, std::span<const Wanted> waiting) const;

 private:
  /// Of a warpgroup the warps that have executed a setmaxnreg, and those that have not.
  struct LeftOut {
    block::Who who;
    std::vector<int> with, without;
    std::string words() const;
  };
  /// Those that wait have executed one more.
  std::vector<LeftOut> groups(std::span<const Wanted> waiting) const;

  struct Executed {
    block::Who who;
    std::uint32_t clock;
  };
  int free_ = 0;                          // for a thread of each warp
  int first_count_ = 0, first_free_ = 0;  // before the first setmaxnreg
  std::vector<int> count_;
  std::vector<std::vector<Executed>> executed_;  // by warp, in order
};

}  // namespace warpbit::grid
