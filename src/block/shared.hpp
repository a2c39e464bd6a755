// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block: its bytes, the record of accesses to them with their order, and copies in
// flight. Those who act are threads by their number in the cluster, also those of other blocks; who runs the threads, and
// when, is not known here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "block/accesses.hpp"
#include "block/cluster.hpp"
#include "block/fault.hpp"
#include "block/order.hpp"
#include "warpbit/state.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// Of an asynchronous copy: 4, 8 or 16 of them.
using CopiedBytes = std::array<std::byte, 16>;

/// `what` is the action's name in faults. A fault of an access names the other one; the access is recorded, and what it does
/// is done all the same, for those who go on behind it.
class Shared {
 public:
  /// A block by its rank in a cluster. `window`: the generic address of the first byte. Without `records` no access may
  /// be recorded.
  Shared(std::shared_ptr<Cluster> cluster, int rank, std::uint64_t bytes, std::uint64_t window = 0,
         bool records = true);
  /// The only block of a cluster.
  Shared(int threads, std::uint64_t bytes);

  Cluster& cluster() const { return *cluster_; }
  Order& order() const { return cluster_->order; }
  int rank() const { return rank_; }
  /// The block's own first thread, warp and warpgroup.
  int first_thread() const { return rank_ * cluster_->stride(); }
  int first_warp() const { return first_thread() / kWarp; }
  int first_group() const { return first_thread() / kWarpgroup; }
  bool records() const { return records_; }

  const Memory& memory() const { return memory_; }
  Memory& memory() { return memory_; }
  /// The whole memory as an array, and a cursor in it.
  View view(std::int64_t at) const { return {0, static_cast<std::int64_t>(memory_.shared_bytes()), at}; }

  /// "0x108 (full + 0x8)", if somebody names the bytes.
  std::string at(std::int64_t byte) const;
  /// What has a byte; empty: nothing that is known.
  std::function<std::string(std::int64_t byte)> name_of = {};

  /// The first bytes have a value from the beginning.
  void give(std::uint64_t bytes) {
    if (records_) accesses_.give(static_cast<std::int64_t>(bytes));
  }

  // ---- Accesses of a thread

  /// Records an access to bytes that exist. Strong ones are atomics and those with an order.
  Found read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, bool strong = false);
  /// A strong read of an opaque object's bytes, which need not have been written.
  Found read_opaque(std::string_view what, std::int64_t first, std::int64_t bytes, Who who);
  Found write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
              Accesses::Written state = Accesses::Written::done, bool strong = false);
  /// Records a store of these bytes, before it is done. Stores of what is there already do not conflict with each other.
  /// `type`: of their elements, which faults ask for.
  Found write(std::string_view what, std::int64_t first, std::span<const std::byte> value, Who who, bool strong,
              const std::function<std::string_view()>& type = {});
  /// An opaque object begins or ends there, whose uses by other threads must have come before.
  Found write_opaque(std::string_view what, std::int64_t first, std::int64_t bytes, Who who);
  bool is_never_written(std::int64_t byte) const { return accesses_.is_never_written(byte); }
  void forget(std::int64_t first, std::int64_t bytes) { accesses_.forget(first, bytes); }
  std::optional<Accesses::Access> last_write(std::int64_t byte) const { return accesses_.last_write(byte); }
  Found load(std::string_view what, const View& from, std::span<std::byte> value, std::size_t alignment,
             Who who);
  Found store(std::string_view what, const View& to, std::span<const std::byte> value, std::size_t alignment,
              Who who);
  /// Begins a copy of the first `size` of these bytes, which is complete when the thread waits for it.
  Found copy_async(std::string_view what, const View& to, const CopiedBytes& bytes, int size, Who who);
  /// Groups the thread's copies since the last commit.
  void commit_group(int thread);
  /// Completes all groups of the thread but the `pending` latest.
  void wait_group(int thread, unsigned pending, Place at);
  /// The last copy of each thread that it has not waited for.
  std::vector<Who> pending_copies() const;
  /// A copy that its thread has not waited for.
  struct InFlight {
    Who who;
    std::int64_t to, bytes;
    std::optional<unsigned> later;  ///< groups behind its own; nothing: its own is not committed
  };
  std::vector<InFlight> in_flight() const;
  /// How many copies the thread has begun, and whether the one of this number has neither been waited for nor delivered.
  std::uint32_t copies(int thread) const { return copier(thread).begun; }
  bool is_copying(int thread, std::uint32_t number) const {
    const Copier& of = copier(thread);
    return number + of.copies.size() >= of.begun;
  }

  // ---- Accesses of a warp's or a warpgroup's instruction

  /// Records an access of each lane to bytes that exist.
  Found read(std::string_view what, const LaneAccesses& of);
  Found write(std::string_view what, const LaneAccesses& of, Accesses::Written state = Accesses::Written::done);
  /// Lanes store one after the other, which is recorded and done, up to the first that finds something. The lanes that have.
  /// `values`: those of the first lane, `stride` bytes before the next one's.
  std::uint32_t store(const LaneAccesses& to, const std::byte* values, std::size_t stride);
  /// Begins a copy of each lane to bytes that exist.
  Found copy_async(std::string_view what, const LaneAccesses& to, const std::array<CopiedBytes, kWarp>& bytes);
  /// Records what an instruction of a warp reads and writes, and writes it.
  Found apply(std::string_view what, const Effects& effects, int warp, Place at);
  // ---- Accesses of a bulk copy, which an agent does for a thread (PTX manual, "Async proxy")

  /// What is written at a place may be overwritten through the async proxy without a fence.
  void needs_no_fence(Place at);
  /// What threads have read needs a proxy fence before it is overwritten through the async proxy.
  void fence_reads() { fences_reads_ = true; }
  /// Records that an agent reads bytes, or begins to write them.
  /// `moves`: bytes that nothing has written may be among them, which stay so where they go.
  Found read_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, Accesses::Agent agent,
                bool moves = false);
  /// The same of bytes that need no proxy fence.
  Found read_fenced_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who,
                       Accesses::Agent agent, bool moves = false);
  /// The same of many bytes.
  Found read_by(std::string_view what, std::span<const Effects::MemoryRead> bytes, Who who,
                Accesses::Agent agent);
  /// `async`: through the async proxy.
  Found write_by(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, Accesses::Agent agent,
                 bool async = true);
  /// What it has written has arrived.
  void settle(std::int64_t first, std::int64_t bytes, Accesses::Agent agent, Place at) {
    accesses_.settle(first, bytes, agent, at);
  }
  /// The thread's copies up to now arrive, as an agent's, without a wait_group.
  void deliver(int thread, Accesses::Agent agent);
  /// The fault of the block's end while other blocks' threads access its memory, for its thread `who`.
  /// `is_object`: whether a barrier object lies there.
  Found ends(Who who, const std::function<bool(std::int64_t byte)>& is_object);

  /// Records a read of a product, which an agent does for each lane of a warpgroup. `fenced` is set if it is seen besides
  /// that nothing of it lacks a proxy fence.
  Found read_as_group(std::string_view what, std::span<const Effects::MemoryRead> bytes, int group, Place at,
                      Accesses::Agent agent, bool& fenced);
  /// Whether nothing of it lacks a proxy fence, but for writes at places that need none.
  bool are_fenced(std::span<const Effects::MemoryRead> bytes, int group,
                  const std::function<bool(Place)>& needs_none) {
    return accesses_.are_fenced(bytes, group * kWarpgroup, kWarpgroup, cluster_->order, needs_none);
  }
  /// The first consecutive bytes whose last write is not proxy-fenced for a thread of the warpgroup.
  std::optional<Accesses::Unfenced> unfenced(std::uint64_t address, std::uint64_t bytes, int group);
  /// From now on writes to what these products are about to read are faults.
  void add_readers(const AsyncState& products) { readers_.push_back(&products); }

  // ---- Order

  /// All threads of the block meet. Warps are those of the block.
  void barrier();
  /// What lanes of a warp have done and know is added to `into`; a warp learns it.
  void release(int warp, std::uint32_t lanes, Knowledge& into) {
    order().release(first_warp() + warp, lanes, into);
  }
  void acquire(int warp, const Knowledge& from) { order().acquire(first_warp() + warp, from); }
  void sync_warp(int warp, std::uint32_t lanes) { order().sync_warp(first_warp() + warp, lanes); }
  void fence_proxy(int warp, std::uint32_t lanes) { order().fence(first_warp() + warp, lanes); }
  void fence_memory(int warp, std::uint32_t lanes, const Strength& how) {
    order().fence_memory(first_warp() + warp, lanes, how);
  }

  // ---- The actors of AsyncState

  /// The number of a thread at its place, or of a product that all lanes of the thread's warpgroup execute.
  std::uint64_t actor(Who who, bool is_product = false);
  FaultSide side(std::uint64_t actor) const;
  Fault violated(Fault fault, const AsyncViolation& violation) const;

 private:
  // A copy in flight.
  struct Copy {
    std::uint32_t to;
    unsigned group;
    std::uint16_t place;
    std::uint16_t size;
  };
  struct Copier {
    unsigned group = 0;
    std::vector<Copy> copies;                // in order
    std::vector<Accesses::Agent> delivered;  // by these
    // The last wait_group: where, and how many groups there were.
    Place waited = {};
    unsigned waited_for = 0, waited_pending = 0;
    std::uint32_t begun = 0;
  };
  Copier& copier(int thread) { return copiers_[static_cast<std::size_t>(thread - first_thread())]; }
  const Copier& copier(int thread) const { return copiers_[static_cast<std::size_t>(thread - first_thread())]; }
  void begin_copy(std::int64_t to, std::int64_t size, const CopiedBytes& bytes, int thread,
                  std::uint16_t place);
  bool is_read() const;
  // What a write of these bytes makes of those that are there, before it is done.
  Accesses::Written state_of(std::int64_t first, std::span<const std::byte> value) const;
  Found overwritten(std::string_view what, std::int64_t first, std::int64_t bytes, Who who) const;
  /// Who accesses now.
  struct Actor {
    int number;
    std::uint32_t clock;
    bool writes;
  };
  /// `writes`: of the access that finds it.
  Fault told(std::string_view what, const Accesses::Conflict& conflict, Place at, bool writes) const;
  Fault conflict(std::string_view what, const Accesses::Conflict& conflict, Place at, const Actor& now) const;
  Fault conflict_of_thread(std::string_view what, const Accesses::Conflict& conflict, Place at,
                           bool writes) const;
  bool has_waited(const Accesses::Conflict& conflict, int by) const;
  std::optional<Flaw> flaw_of(const Accesses::Conflict& conflict) const;
  bool is_early_read(const Accesses::Conflict& conflict, const std::optional<Flaw>& flaw) const;
  bool is_weak_read(const Accesses::Conflict& conflict, Place at, bool writes) const;
  bool is_told_by_lane(const Accesses::Conflict& conflict) const;
  KernelRule rule_of(const Accesses::Conflict& conflict) const;
  Error race(std::string_view what, const Accesses::Conflict& conflict, Place at, bool writes) const;
  void tell_pending(Fault& fault, std::string_view what, const Accesses::Conflict& conflict) const;

  Found read_as_group(std::string_view what, const Effects::MemoryRead& bytes, int group, Place at,
                      Accesses::Agent agent);
  Found unfenced_read(std::string_view what, std::int64_t first, std::int64_t bytes, Who who);
  Found unfenced_write(std::string_view what, std::int64_t first, std::int64_t bytes, Who who, bool reads);
  Error by_agent(std::string_view what, const Accesses::Conflict& conflict) const;

  std::shared_ptr<Cluster> cluster_;
  int rank_;
  bool records_;
  Memory memory_;
  Accesses accesses_;
  std::vector<Copier> copiers_;
  std::vector<const AsyncState*> readers_;
  std::vector<Place> need_no_fence_;
  bool fences_reads_ = false;
};

}  // namespace warpbit::block
#pragma GCC visibility pop
