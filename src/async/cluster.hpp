// SPDX-License-Identifier: Apache-2.0
// A cluster of blocks, whoever runs their threads (PTX manual, "Clusters"): copies on their way from and to their memory,
// and barrier.cluster. A block that has no cluster is one of one block.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/block.hpp"
#include "async/global_copies.hpp"
#include "block/cluster.hpp"
#include "warpbit/target.hpp"

namespace warpbit::block {
class TensorOrder;
}

namespace warpbit::async {

/// Lanes of a warp, as a mask.
using Lanes = std::uint32_t;

/// barrier.cluster. Warps are numbered in the cluster.
class ClusterBarrier {
 public:
  ClusterBarrier(block::Cluster& state, bool records);

  /// Lanes of a warp arrive. Those that have arrived before, and have not waited since: then nothing is done.
  Lanes arrive(int warp, Lanes lanes, bool releases, block::Place at);
  /// What lanes of a warp know, others know behind the phase at hand.
  void release(int warp, Lanes lanes);
  /// Whether the phase is complete, and the next one begins: all lanes have arrived that have not ended, `alive` by warp.
  bool check(std::span<const Lanes> alive);
  /// Lanes of a warp wait.
  struct Wait {
    Lanes never;       ///< those that have not arrived: then nothing is done
    bool is_complete;  ///< else they wait on
  };
  Wait wait(int warp, Lanes lanes, bool acquires);
  /// Whether a warp has waited for a phase: all blocks had begun.
  bool has_met(int warp) const { return of(warp).has_met; }
  /// The first of some warps that has arrived, be its phase complete or not; -1: none has.
  int first_arrived(int first, int warps) const;
  /// Lanes of a warp that have arrived, and not waited since.
  Lanes arrived(int warp) const;
  /// Where lanes of a warp have arrived last.
  block::Place arrived_at(int warp) const { return of(warp).at; }
  /// Who has completed the last phase, as the last of all.
  const block::Actor& completed_by() const { return completed_by_; }
  /// For a thread that waits: "barrier.cluster: 3 of 4 warps have arrived". `alive`: lanes that have not ended, by warp.
  std::string awaited(std::span<const Lanes> alive) const;

 private:
  struct Warp {
    Lanes here = 0;  ///< in the phase at hand
    std::array<std::int64_t, block::kWarp>
        phase{};  ///< in which each lane has arrived last, from 1 on; 0: it has waited
    bool has_met = false;
    block::Place at = {};  ///< of the last arrival
  };
  Warp& of(int warp) { return warps_[static_cast<std::size_t>(warp)]; }
  const Warp& of(int warp) const { return warps_[static_cast<std::size_t>(warp)]; }

  block::Cluster& state_;
  bool records_;
  std::vector<Warp> warps_;
  std::int64_t phase_ = 1;
  block::Knowledge released_, complete_;
  block::Actor completed_by_;
};

class Cluster {
 public:
  /// `records`: of block::Shared.
  Cluster(int blocks, int threads, bool records = true);

  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::shared_ptr<block::Cluster>& state() const { return state_; }
  /// By rank; nullptr if there is none.
  Block* block(int rank) const {
    return rank >= 0 && rank < static_cast<int>(blocks_.size()) ? blocks_[static_cast<std::size_t>(rank)]
                                                                : nullptr;
  }
  /// Of what is done to tensor memory.
  block::TensorOrder& tensor_order();

  /// Whether a thread of `here` may access the memory of another block: false after a fault, since that one may not have
  /// begun or has ended.
  /// `arrives`: at a barrier object.
  bool may_access(Block& here, const Block& other, block::Who who, bool arrives = false) const;

  /// A warp that has waited for a phase which it had seen complete goes on too early: that is the cause of what follows, and
  /// becomes the fault. Warps are numbered in the cluster.
  void explain_by_phase(Fault& fault) const;
  /// Gives a fault, whose warps are numbered in the cluster, their numbers in their blocks, and the blocks' indices by rank.
  void locate(Fault& fault, const std::function<device::Index3(int rank)>& index) const;

  /// Counts what may let a thread go on that waits for others.
  std::uint64_t events() const { return events_; }
  void happened() { ++events_; }

  /// What is asynchronous, on its way: `arrive` moves the bytes of a copy or arrives at an object, and is false after a fault.
  /// It arrives when no thread can go on without it, behind those before it.
  struct InFlight {
    std::function<bool()> arrive;
    block::Who who;                 ///< has begun it
    const Block* counts = nullptr;  ///< has the barrier object that counts it
    std::int64_t object = 0;        ///< its address there
    std::uint32_t arrivals = 0;     ///< that come with it
    int group = -1;                 ///< the thread whose bulk groups have it, if no object counts it
    /// One side of a copy: bytes of global memory, or of a block's shared memory from a place on.
    struct Side {
      const Block* shared = nullptr;
      std::uint64_t address = 0, bytes = 0;
    };
    std::optional<Side> from = {}, to = {};
    std::uint64_t bytes = 0;   ///< that are moved
    bool reduces = false;      ///< those are changed that lie there
    std::uint32_t number = 0;  ///< of that group
    block::Actor by = {};      ///< has sent it
  };
  const std::deque<InFlight>& in_flight() const { return in_flight_; }
  void send(InFlight one) {
    one.by = state_->actor;
    in_flight_.push_back(std::move(one));
  }
  /// All arrive, up to one that would overtake threads that wait for a phase which is complete. False after a fault.
  bool deliver();
  /// Those of a thread's bulk groups do, since it waits for them.
  bool deliver_groups(int thread);

 private:
  friend Block;
  bool explain_by_object(Fault& fault) const;
  const block::Mbarriers& mbarriers_of(int warp) const;
  std::optional<block::Mbarriers::Repeated> repeated_for(int warp) const;
  bool arrives(const InFlight& one);

  std::shared_ptr<block::Cluster> state_;
  std::vector<Block*> blocks_;  // by rank
  std::unique_ptr<block::TensorOrder> tensor_;
  std::deque<InFlight> in_flight_;
  std::uint64_t events_ = 0;

 public:
  ClusterBarrier barrier;
  GlobalCopies copies;
};

#pragma GCC visibility push(default)  // warpbit's other libraries use it
/// not_on_target for a form of the asynchronous machine, which exists from sm_90 on; nothing if it is there.
std::optional<Error> not_on(Target target, std::string_view form);
#pragma GCC visibility pop

/// Rounds in which all tests of barrier objects fail and nothing else happens, before nothing will.
inline constexpr int kIdleRounds = 200;

}  // namespace warpbit::async
