// SPDX-License-Identifier: Apache-2.0
// Accesses of lanes to memory, once it is known where the bytes lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

/// Where bytes lie, for one lane.
struct Target {
  std::byte* data = nullptr;
  ptx::StateSpace space = ptx::StateSpace::global;
  Block* block = nullptr;  ///< whose shared memory it is, where it may be another one's
};

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
  Records(Warp& warp, const Step& step) : warp_(warp), block_(warp.block()), step_(step) {}

  bool reads(int lane, const Target& from, std::size_t bytes) {
    if (!is_checked(from)) return true;
    return allowed(of(from).accesses().read({}, offset(from), static_cast<std::int64_t>(bytes),
                                            Block::who(warp_, step_, lane), step_.access.strong));
  }
  bool changes(int lane, const Target& to, std::size_t bytes) {
    if (!is_checked(to)) return true;
    return allowed(of(to).accesses().write({}, offset(to), static_cast<std::int64_t>(bytes),
                                           Block::who(warp_, step_, lane), block::Accesses::Written::done,
                                           step_.access.strong));
  }
  /// The same, before the bytes are stored. Equal ones are stored by several threads without harm.
  bool writes(int lane, const Target& to, std::span<const std::byte> value) {
    if (!is_checked(to)) return true;
    const std::int64_t first = offset(to);
    block::Found found =
        of(to).accesses().write({}, first, value, Block::who(warp_, step_, lane), step_.access.strong);
    if (found) explain(*found, of(to), lane, first, value);
    stored_[static_cast<std::size_t>(lane)] = {first, static_cast<std::int64_t>(value.size())};
    has_stored_ |= Lanes{1} << lane;
    return allowed(std::move(found));
  }
  /// The same for bytes of shared memory by their number.
  bool reads(int lane, std::int64_t first, std::size_t bytes) { return reads(lane, shared(first), bytes); }
  bool changes(int lane, std::int64_t first, std::size_t bytes) { return changes(lane, shared(first), bytes); }
  bool writes(int lane, std::int64_t first, std::span<const std::byte> value) {
    return writes(lane, shared(first), value);
  }
  /// The same for many lanes.
  bool reads(const block::LaneAccesses& of) {
    return !block_.checks() || allowed(block_.accesses().read({}, of));
  }
  bool begins(const block::LaneAccesses& to, const std::array<block::CopiedBytes, kLanes>& bytes) {
    return allowed(block_.accesses().copy_async({}, to, bytes));
  }
  /// What the lanes access, but for the first byte of each.
  block::LaneAccesses of(Lanes lanes, std::size_t bytes) const {
    return {
        warp_.number_in_cluster(), lanes, {}, static_cast<std::int64_t>(bytes), Block::who(warp_, step_, 0).at,
        step_.access.strong};
  }
  /// Follows the accesses of all lanes: other warps may wait for them.
  Next after() {
    if (step_.access.strong && warp_.program().orders_by_memory)
      block_.accesses().through_memory(warp_.number());
    return Next::step;
  }

 private:
  bool is_checked(const Target& target) const {
    return target.space == ptx::StateSpace::shared && block_.checks();
  }
  Target shared(std::int64_t first) { return {block_.shared().data() + first, ptx::StateSpace::shared}; }
  Block& of(const Target& target) { return target.block != nullptr ? *target.block : block_; }
  std::int64_t offset(const Target& target) { return target.data - of(target).shared().data(); }
  bool allowed(block::Found conflict) { return block_.allows(std::move(conflict)); }

  /// Bytes that another lane has stored to by this step are no race: the fault says so, before the store to the memory of `of` is done.
  void explain(Fault& found, Block& of, int lane, std::int64_t first, std::span<const std::byte> value) const;

  struct Stored {
    std::int64_t first, bytes;
  };

  Warp& warp_;
  Block& block_;
  const Step& step_;
  Lanes has_stored_ = 0;
  std::array<Stored, kLanes> stored_;  // of these lanes, what each has stored last
};

}  // namespace warpbit::grid::steps
