// SPDX-License-Identifier: Apache-2.0
// Spin locks, and the order in which threads take several. A lock is a word that a loop of one atom.cas, or atom.exch, takes and
// nothing else leaves:
//
//     L: atom.cas.b32 %r1, [%rd1], 0, 1;      the word was 0: the thread has the lock
//        setp.ne.s32 %p1, %r1, 0;
//     @%p1 bra L;                             else it waits, and holds what it has
//
// and that the same thread writes again, which releases it. What a thread tries once, or gives up others for, waits for nobody.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "block/order.hpp"
#include "grid/program.hpp"

namespace warpbit::grid {

/// Sets place[kFreeValue] of the atomics of a function that take a spin lock: the value of one that is free. Each register has a
/// slot of its own.
inline constexpr std::size_t kFreeValue = 5;
void find_spin_locks(Program& program, const FunctionCode& function);

/// A word of global memory, or of a cluster's shared memory.
struct Lock {
  std::uint64_t memory;   ///< 0: global; else the number of the cluster, from 1 on
  std::uint64_t address;  ///< in shared memory with the rank above
  friend auto operator<=>(const Lock&, const Lock&) = default;
};

/// A thread takes one lock while it holds another one.
struct LockNest {
  Lock outer, inner;
  std::vector<Lock> gates;  ///< taken before both: one that another nest has, too, keeps the two apart
  std::uint64_t cluster;
  int thread;  ///< in the cluster
  std::uint32_t clock;
  std::int32_t outer_site, inner_site;
  std::atomic<bool> is_done = false;  ///< both have been released: they are locks
};

/// All of a launch.
class LockNests {
 public:
  /// Those that end in a lock, but for those of the thread's own warp and those that come before what it does now.
  std::vector<std::shared_ptr<LockNest>> unordered(const Lock& inner, const block::Order& order,
                                                   std::uint64_t cluster, int me) const;
  void add(std::shared_ptr<LockNest> one);

 private:
  mutable std::mutex mutex_;
  std::map<Lock, std::vector<std::shared_ptr<LockNest>>> by_inner_;
};

/// What the lanes of a warp hold.
class HeldLocks {
 public:
  /// Two nests of which each waits for the other's outer lock: `before` was the first.
  struct Inversion {
    std::shared_ptr<LockNest> before, now;
  };
  struct Held {
    Lock lock;
    int thread;
    std::int32_t site;
    std::vector<std::shared_ptr<LockNest>> others;  ///< that end in it, and nothing orders before it
  };
  bool empty() const { return held_.empty(); }
  const std::vector<Held>& all() const { return held_; }
  /// A lane takes a lock. `order` does not yet know what that tells.
  void take(const Lock& lock, std::int32_t site, LockNests& nests, const block::Order& order,
            std::uint64_t cluster, int me);
  /// A thread writes to a lock that it may hold. The inversions that are known by that: both locks have been released.
  std::vector<Inversion> release(const Lock& lock, int me);

 private:
  /// A nest of a thread that has not released both of its locks.
  struct Open {
    std::shared_ptr<LockNest> nest, against;  ///< against: nullptr if there is none
    int held = 2;
    bool is_of(const Lock& lock, int me) const {
      return nest->thread == me && (nest->outer == lock || nest->inner == lock);
    }
  };
  // Whether the thread held it.
  bool forget(const Lock& lock, int me) {
    return std::erase_if(held_, [&](const Held& one) { return one.thread == me && one.lock == lock; }) != 0;
  }
  std::vector<Held> held_;
  std::vector<Open> open_;
};

struct Grid;
class Cluster;
/// "byte 4 of the array of 'locks'"
std::string name_of(const Grid& grid, const Lock& lock);
/// Says of a fault in a loop that waits for a lock who holds it, and what that thread waits for. `all`: the clusters that have not
/// ended, that of the fault first.
void explain_by_locks(const Grid& grid, const std::vector<const Cluster*>& all, const Lock& wanted,
                      Fault& fault);

}  // namespace warpbit::grid
