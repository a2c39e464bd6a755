// SPDX-License-Identifier: Apache-2.0
// Accesses of lanes to memory, once it is known where the bytes lie.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "async/block.hpp"
#include "async/cluster.hpp"
#include "async/copy.hpp"
#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

/// Whether all bits have been written, by those that have.
inline bool has_values(const std::byte* defined, std::size_t bytes) {
  return std::all_of(defined, defined + bytes, [](std::byte bits) { return bits == std::byte{0xFF}; });
}

/// Where bytes lie, for one lane.
struct Target {
  std::byte* data = nullptr;
  ptx::StateSpace space = ptx::StateSpace::global;
  Block* block = nullptr;  ///< whose shared memory it is, where it may be another one's
  std::byte* defined =
      nullptr;  ///< of local memory, if checked, of the heap, and of what may be without values: the bits that have been written
  std::uint64_t address = 0;  ///< in global memory
  bool was_written = true;    ///< in global memory, before this step writes there
  bool is_of_heap = false;

  bool is_written(std::size_t bytes) const {
    return was_written && (defined == nullptr || has_values(defined, bytes));
  }
};

/// Bytes of a lane's local memory, by their place in it; no data if there are none.
inline Target local_bytes(Warp& warp, int lane, std::uint64_t address, std::uint64_t bytes) {
  const auto first = static_cast<std::int64_t>(address), count = static_cast<std::int64_t>(bytes);
  std::byte* const data = warp.local(lane, first, count);
  if (data == nullptr) return {};
  return {data, ptx::StateSpace::local, nullptr, warp.defined(lane, first, count)};
}

/// Bytes of shared memory.
struct SharedBytes {
  Block* block;
  std::uint64_t offset;
};
/// The bytes at a shared address, which carries the rank of its block. Errors: address_out_of_bounds; protocol_violation of
/// a block that has not begun or has ended. `arrives`: at a barrier object.
Result<SharedBytes> find_shared(Warp& warp, const Step& step, int lane, std::uint64_t address,
                                std::uint64_t bytes, bool of_cluster, bool arrives = false);

inline constexpr std::size_t kMaxAccess = 32;  // bytes: .v8.b32, .v4.b64, .v2.b128
using Buffer = std::array<std::byte, kMaxAccess>;

/// The error of a write to memory that a kernel may only read.
inline Error written_to(const GlobalMemory::Range& range) {
  return {Errc::address_read_only, {}, range.name, "it is constant"};
}

/// Records a step's accesses to shared memory, if they are checked. Each function is false after a fault.
class Records {
 public:
  Records(Warp& warp, const Step& step)
      : warp_(warp), block_(warp.block()), step_(step), strong_(step.access.strong || step.access.before_cas) {}

  /// A load: bytes that nothing has written are undefined values. If they are the warp's first ones, the step is done again.
  bool loads(int lane, const Target& from, std::size_t bytes) {
    race_ = nullptr;
    early_ = nullptr;
    if (!block_.checks()) return true;
    if (is_global(from)) return loads_alike(Lanes{1} << lane, from, bytes);
    count(from.space, 1);
    if (from.defined != nullptr && !from.is_written(bytes) && !follows()) return false;
    if (from.defined != nullptr || !is_checked(from)) return true;
    if (!may_precede_cas(lane)) return false;
    return loaded(of(from).accesses().read({}, offset(from), static_cast<std::int64_t>(bytes),
                                           Block::who(warp_, step_, lane), strong_));
  }
  bool loads(const block::LaneAccesses& of) {
    if (!block_.checks()) return true;
    count(ptx::StateSpace::shared, lanes_in(of.lanes));
    if (!may_precede_cas(std::countr_zero(of.lanes))) return false;
    return loaded(block_.accesses().read({}, of));
  }
  /// Lanes load from one place of global memory.
  bool loads_alike(Lanes lanes, const Target& from, std::size_t bytes) {
    count(from.space, lanes_in(lanes));
    const bool is_written = from.defined == nullptr || from.is_written(bytes);
    if (!is_written && !follows()) return false;
    std::array<std::byte*, kLanes> data;
    data.fill(from.data);
    const bool goes_on = loads(GlobalLanes{lanes, data, bytes});
    if (!is_written) early_ = nullptr;  // it is told as what it is
    return goes_on;
  }
  bool is_global(const Target& target) const {
    return target.space == ptx::StateSpace::global && !target.is_of_heap && block_.grid().accesses != nullptr;
  }
  bool loads(int lane, std::int64_t first, std::size_t bytes) { return loads(lane, shared(first), bytes); }
  /// The same of global memory. A value that is read in a race is undefined: if it is not used, nothing depends on who came first.
  bool loads(const GlobalLanes& from);
  /// The race that the last load has met.
  const std::shared_ptr<const Fault>& race() const { return race_; }
  /// The last load, if a store may yet make a race of it.
  const std::shared_ptr<EarlyRead>& early() const { return early_; }
  /// Lanes store to shared memory, which is recorded and done. `values`: those of lane 0, `stride` bytes before the next one's.
  bool stores(const block::LaneAccesses& to, const std::byte* values, std::size_t stride);
  /// What follows where one of these functions is false.
  Next refused() const { return again_ ? Next::again : Next::end; }
  /// The undefined bits of bytes that are loaded, and where the first of them is.
  Buffer undefined(const Target& from, std::size_t bytes) {
    Buffer out = {};
    for (std::size_t i = 0; i < bytes; ++i) {
      if (race_ || early_)
        out[i] = std::byte{0xFF};
      else if (from.defined != nullptr)
        out[i] = ~from.defined[i];
      else if (is_checked(from) &&
               of(from).accesses().is_never_written(offset(from) + static_cast<std::int64_t>(i)))
        out[i] = std::byte{0xFF};
    }
    return out;
  }
  /// Bytes have been stored of which these bits are undefined; none without `bits`.
  void stored(const Target& to, std::size_t bytes, const Buffer* bits) {
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::byte undefined = bits == nullptr ? std::byte{0} : (*bits)[i];
      if (to.defined != nullptr)
        to.defined[i] = ~undefined;
      else if (undefined != std::byte{0} && is_checked(to))
        of(to).accesses().forget(offset(to) + static_cast<std::int64_t>(i), 1);
    }
  }
  /// Where the undefined value comes from that bytes of shared memory have, which were stored.
  void store_cause(const Target& to, std::size_t at, std::size_t bytes, const UndefinedCause& cause) {
    of(to).stored_causes.store(offset(to) + static_cast<std::int64_t>(at), static_cast<std::int64_t>(bytes),
                               cause);
  }
  const UndefinedCause* stored_cause(const Target& from, std::ptrdiff_t at) {
    return of(from).stored_causes.find(offset(from) + at);
  }
  bool reads(int lane, const Target& from, std::size_t bytes) {
    if (block_.checks() && !from.is_written(bytes)) return meets_unwritten(lane);
    if (is_global(from)) return global(lane, from, bytes, nullptr, false);
    if (!is_checked(from)) return true;
    return allowed(of(from).accesses().read({}, offset(from), static_cast<std::int64_t>(bytes),
                                            Block::who(warp_, step_, lane), strong_));
  }
  /// Memory that a lane reads has no value. False if the launch ends there.
  bool meets_unwritten(int lane) {
    return allowed(block::fault_of(Block::who(warp_, step_, lane),
                                   {Errc::never_written,
                                    {},
                                    "memory that it reads has never been written",
                                    "it must be written before this statement"},
                                   KernelRule::never_written));
  }
  bool changes(int lane, const Target& to, std::size_t bytes) {
    count(to.space, 1);
    if (is_global(to)) return global(lane, to, bytes, nullptr, true);
    if (!is_checked(to)) return true;
    return allowed(of(to).accesses().write({}, offset(to), static_cast<std::int64_t>(bytes),
                                           Block::who(warp_, step_, lane), block::Accesses::Written::done,
                                           strong_));
  }
  /// The same, before the bytes are stored. Equal ones are stored by several threads without harm.
  bool writes(int lane, const Target& to, std::span<const std::byte> value) {
    count(to.space, 1);
    if (is_global(to)) return global(lane, to, value.size(), value.data(), true);
    if (!is_checked(to)) return true;
    const std::int64_t first = offset(to);
    block::Found found = of(to).accesses().write({}, first, value, Block::who(warp_, step_, lane), strong_,
                                                 [this] { return type(); });
    if (found) explain(*found, of(to), lane, first, value);
    keep_stored(lane, first, static_cast<std::int64_t>(value.size()));
    return allowed(std::move(found));
  }
  /// The same, of what the lane has been allowed to write to shared memory, behind the stores of other lanes.
  void writes_again(int lane, const Target& to, std::span<const std::byte> value) {
    if (!is_checked(to)) return;
    (void)of(to).accesses().write({}, offset(to), value, Block::who(warp_, step_, lane), strong_);
  }
  /// Atomics that nobody waits for change bytes of global memory. The lanes up to the first whose change is not allowed.
  Lanes changes_each(const GlobalLanes& what);
  bool can_change_each(const Target& at) const { return is_global(at) && !is_ordered(); }
  /// Whether a read of global memory may meet a store, or a copy that writes. `first`: a byte of the range.
  bool may_meet_write(const std::byte* first) const {
    return block_.async().cluster.copies.may_meet(false) || block_.grid().accesses->is_recorded(first);
  }
  /// Lanes access global memory, if that is checked. Values are stored.
  bool global(const GlobalLanes& what, bool writes) { return global(what, writes, strong_); }
  /// A copy in bulk begins, which accesses these rows of it. Nothing is stored yet. Two that write count as strong: they reduce, or
  /// may store the same.
  bool copies(async::GlobalCopies::Copy copy, std::span<const async::GlobalRows> rows);
  /// Copies of the warp's threads have written: as that is known now, whoever has not been told since does not come behind it.
  bool written(std::span<const async::WrittenRows> all);
  /// See async::Global.
  async::Global::Store store_of_copy(int lane) const;
  /// cp.async of lanes, which have begun, read bytes of one range of it.
  bool copies_async(const GlobalLanes& from);
  bool copies_async(int lane, const Target& from, std::size_t bytes) {
    return !is_global(from) || copies_async({Lanes{1} << lane, one_lane(lane, from.data), bytes});
  }
  /// The same for bytes of shared memory by their number.
  bool reads(int lane, std::int64_t first, std::size_t bytes) { return reads(lane, shared(first), bytes); }
  bool changes(int lane, std::int64_t first, std::size_t bytes) { return changes(lane, shared(first), bytes); }
  bool writes(int lane, std::int64_t first, std::span<const std::byte> value) {
    return writes(lane, shared(first), value);
  }
  bool begins(const block::LaneAccesses& to, const std::array<block::CopiedBytes, kLanes>& bytes) {
    count(ptx::StateSpace::shared, lanes_in(to.lanes));
    return allowed(block_.accesses().copy_async({}, to, bytes));
  }
  /// Accesses that are checked.
  void count(ptx::StateSpace space, int accesses) {
    if (space == ptx::StateSpace::shared && block_.checks())
      block_.checked.shared += static_cast<std::uint64_t>(accesses);
    else if (space == ptx::StateSpace::global && block_.grid().check_global)
      block_.checked.global += static_cast<std::uint64_t>(accesses);
  }
  /// What the lanes access, but for the first byte of each.
  block::LaneAccesses of(Lanes lanes, std::size_t bytes) const {
    block::LaneAccesses out;  // zeros would cost as much as the rest
    out.warp = warp_.number_in_cluster();
    out.lanes = lanes;
    out.bytes = static_cast<std::int64_t>(bytes);
    out.at = Block::who(warp_, step_, 0).at;
    out.strong = strong_;
    return out;
  }
  /// The words of a strong access, which other warps may wait for. Nobody else changes them while they are held.
  block::Messages::Held hold(const Target& at, std::size_t bytes);
  /// What has been released there is known to the warp of the lane; and what `lanes`, which execute the step, release is there.
  void takes(const block::Messages::Held& held, const Target& from, int lane);
  /// A lane has taken a spin lock, before it learns what has been left there; or has written to a word, which may be a lock that it
  /// holds.
  void takes_lock(const Target& at, int lane);
  bool writes_lock(const Target& at, int lane) {
    return warp_.locks().empty() || !block_.checks() || releases_lock(at, lane);
  }
  void leaves(block::Messages::Held& held, int lane, Lanes lanes, bool is_atomic);

 private:
  bool releases_lock(const Target& at, int lane);
  using LaneBytes = std::array<std::byte*, kLanes>;
  static LaneBytes one_lane(int lane, const std::byte* data) {
    LaneBytes out;
    out[static_cast<std::size_t>(lane)] = const_cast<std::byte*>(data);  // without values nothing is stored
    return out;
  }
  bool global(const GlobalLanes& what, bool writes, bool strong);
  GlobalAccess by(bool writes, bool strong) const;
  static bool allows(Block& block, const GlobalConflicts& found);
  bool allowed_global(const GlobalConflicts& found) { return allows(block_, found); }
  bool meets_no_copy(const GlobalLanes& what, bool writes, bool strong);
  bool global(int lane, const Target& at, std::size_t bytes, const std::byte* value, bool writes) {
    return global({Lanes{1} << lane, one_lane(lane, at.data), bytes, value}, writes);
  }
  std::string_view type() const;  // of the statement's elements
  bool is_checked(const Target& target) const {
    return target.space == ptx::StateSpace::shared && block_.checks();
  }
  Target shared(std::int64_t first) { return {block_.shared().data() + first, ptx::StateSpace::shared}; }
  Block& of(const Target& target) { return target.block != nullptr ? *target.block : block_; }
  std::int64_t offset(const Target& target) { return target.data - of(target).shared().data(); }
  bool allowed(block::Found conflict) { return block_.allows(std::move(conflict)); }
  bool loaded(block::Found conflict) {
    if (!conflict || conflict->error.code != Errc::never_written) return allowed(std::move(conflict));
    return follows();
  }
  // A load that an atom.cas judges counts as relaxed, and says so where somebody asks.
  bool may_precede_cas(int lane);
  bool follows_early(const GlobalLanes& from);
  // Whether undefined bits are followed already; from now on they are.
  bool follows() {
    again_ = !warp_.undefined().active();
    if (again_) warp_.undefined().begin();
    return !again_;
  }
  void keep_stored(int lane, std::int64_t first, std::int64_t bytes) {
    stored_[static_cast<std::size_t>(lane)] = {first, bytes};
    has_stored_ |= Lanes{1} << lane;
  }
  /// Bytes that another lane has stored to by this step are no race: the fault says so, before the store to the memory of `of` is done.
  void explain(Fault& found, Block& of, int lane, std::int64_t first, std::span<const std::byte> value) const;

  struct Stored {
    std::int64_t first, bytes;
  };
  bool is_ordered() const { return step_.access.strong && warp_.program().orders_by_memory && block_.checks(); }

  Warp& warp_;
  Block& block_;
  const Step& step_;
  bool strong_;  // as far as races count
  Lanes has_stored_ = 0;
  std::array<Stored, kLanes> stored_;  // of these lanes, what each has stored last
  std::optional<block::Posting> posting_;
  std::shared_ptr<const Fault> race_;
  std::shared_ptr<EarlyRead> early_;
  bool again_ = false;
};

}  // namespace warpbit::grid::steps
