// SPDX-License-Identifier: Apache-2.0
// Who acts in a block, and the fault of an action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "block/message.hpp"
#include "block/strong.hpp"
#include "warpbit/fault.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

using device::Place;
using device::calls::View;

inline constexpr int kWarp = 32, kWarpgroup = 128, kGroupWarps = 4;
inline constexpr std::uint32_t kAllLanes = 0xFFFF'FFFF;

/// A thread of the block, and where it is in its source.
struct Who {
  int thread;
  Place at;
};

/// The fault of an action; nothing if it is allowed, and done. The caller adds the index of the block.
using Found = std::optional<Fault>;

/// Of two that an instruction has found, the one behind which nothing goes on, else the first.
Found first_of(Found one, Found other);

Fault fault_of(Who who, Error error, KernelRule rule = KernelRule::none);
/// A thread's place beside a fault, and what is there; that of its whole warp.
FaultSide side_of(Who who, std::string what);
FaultSide side_of_warp(Who who, std::string what);
/// Where the flag was written and read that nearly orders the sides of a fault, threads of one cluster.
void add_flag(Fault& fault, const std::optional<Flaw>& flaw);
/// One of the two: "the release of the flag, with .cta scope".
std::string flag_text(const Flaw& flaw, const FlagUse& use);
/// The use of the flag that is at fault, if the other one is right; nullptr: both are, or none of them.
const FlagUse* at_fault(const Flaw& flaw);
/// The fault of a launch that cannot begin.
Fault refused(Error error);
/// "0x4126a741", little-endian; of more than 8 bytes the first ones.
std::string hex(std::span<const std::byte> bytes);
/// Those that wait alike together.
std::vector<FaultWaiters> merged(const std::vector<FaultWaiters>& all);
/// Why threads wait in vain.
struct Cause {
  Who who;                     ///< whose mistake it is, or who waits
  std::string what, accepted;  ///< what they wait for, in words, and what would be right; or empty
  std::string label = {};      ///< what `who` does, if that is not to wait
  std::uint32_t lanes = 0;     ///< of the warp of `who`; 0: this thread
};
/// The fault of threads of which none can go on.
Fault deadlock(const Cause& cause, const std::vector<FaultWaiters>& waiting);
/// "12,288"
std::string grouped(std::uint64_t number);
/// "warp 3", "warps 0-2"
std::string warps_text(const std::vector<int>& warps);
/// "1 of 2 warps has arrived" of so many threads; of threads themselves, if their warps are not whole.
std::string arrivals_text(std::int64_t arrived, std::int64_t expected, bool are_whole = true);
/// How far the first elements that differ are apart: ", as f32 1 unit in the last place apart", or ", as f32 1 and 32" where
/// that is far. Of types without numbers nothing; words of 32 and 64 bits are taken as f32 and f64 where they are near each other as such. `type`: "f32", "b32".
std::string apart(std::span<const std::byte> x, std::span<const std::byte> y, std::string_view type);
/// The same fault at the place of its cause, with what comes of it.
Fault told_at_cause(Fault fault, Who who, Error cause);
/// Whether one fault has a higher grade by default than another.
bool is_worse(const Fault& one, const Fault& other);
/// The same for all lanes of a warpgroup.
Fault of_group(int group, Fault fault);

/// Checks that `bytes` bytes from the cursor lie in the array, aligned. `what` is the action's name.
Found check_bytes(std::string_view what, Space space, const View& array, std::int64_t bytes,
                  std::size_t alignment, Who who);

/// "byte 0x4", or "bytes 0x0 to 0x3", the last one included; with "was" or "were" and the like behind it.
std::string bytes_text(std::int64_t first, std::int64_t last);
std::string bytes_text(std::int64_t first, std::int64_t last, std::string_view one, std::string_view many);
/// What a fault calls two accesses to the same bytes: "that write and this read".
std::string_view both_accesses(bool before_writes, bool now_writes);

/// The error of bytes of shared memory that lie behind its `size` ones; 0 bytes: how many is not known.
Error beyond_shared(std::uint64_t first, std::uint64_t bytes, std::uint64_t size);

/// Why nothing orders two accesses.
struct Unordered {
  std::string_view both;        ///< the two: "that write and this read"
  std::optional<Flaw> flaw;     ///< what is missing, if something nearly does
  bool is_open;                 ///< a flag was read by a relaxed load without a fence after it
  Scope reach;                  ///< the narrowest scope that has both threads
  std::string_view advice;      ///< if it is neither
  std::string_view cause = {};  ///< likewise; empty: no barrier came between them
  bool is_weak_read = false;    ///< one is a plain load, and the other one a strong write
  Misfit misfit = Misfit::none;
  StrongUse before = {}, now = {};  ///< where both are strong, and do not fit
  struct Words {
    std::string cause, advice;
  };
  Words words() const;
};
/// What is wrong with the use of a flag that is at fault. `own`: the scope that its statement has.
Unordered::Words words_of(const Flaw& flaw, Scope reach, Scope own);
/// What is wrong with the release of a flag before an access of its thread, for threads of other clusters.
Unordered::Words words_of_early(const Flaw& flaw, bool writes);
/// Whether the flaw makes the race one of a rule of its own.
inline bool is_of_flag(const std::optional<Flaw>& flaw) {
  return flaw && (flaw->kind == Flaw::Kind::fence || flaw->kind == Flaw::Kind::scope);
}
/// Behind who has read bytes that nothing had ever written, in the words of a race with their write.
inline constexpr std::string_view kBeforeWritten = " before they were written",
                                  kBeforeWrittenOne = " before it was written";
/// Behind a lane that has told others of a race's first access, which another lane of its warp has done.
inline constexpr std::string_view kToldByLane =
    " of that warp has arrived, or set a flag, without a __syncwarp before it";
/// What is missing between an access through the generic proxy and one through the async proxy.
/// `has_others`: further threads have made such accesses.
std::string must_fence_proxy(int before, int now, std::string_view access, bool has_others = false);
/// The rule of two accesses that nothing orders.
KernelRule rule_of_race(const std::optional<Flaw>& flaw, Misfit misfit = Misfit::none);
/// The error of the second one. `first`: what the first one was, "byte 0x10 was written by lane 3 of warp 1".
Error unordered(std::string_view what, std::string_view first, const Unordered& why);

/// What is right where nothing orders two stores of different values.
std::string one_must_store(const Fault& race);

/// What is right where a block ends before another one's access to its shared memory, or its arrival there.
std::string must_meet_at_end(bool arrives);

/// The lanes of a mask.
std::vector<int> lanes_of(std::uint32_t mask);
/// "lane 3", "lanes 0-15".
std::string lanes_text(const std::vector<int>& lanes);
std::string lanes_text(std::uint32_t mask);

}  // namespace warpbit::block
#pragma GCC visibility pop
