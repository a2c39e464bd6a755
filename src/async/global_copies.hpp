// SPDX-License-Identifier: Apache-2.0
// The global memory that asynchronous copies of a cluster read and write, until they are waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "block/fault.hpp"

namespace warpbit::async {

struct Block;

/// Rows of bytes of the process, as many each: `stride` from one to the next.
struct GlobalRows {
  const std::byte* first;
  std::size_t bytes;
  std::size_t rows = 1;
  std::ptrdiff_t stride = 0;

  /// Behind the last byte.
  const std::byte* end() const { return first + static_cast<std::ptrdiff_t>(rows - 1) * stride + bytes; }
  /// The row, and its bytes, that an access to bytes meets.
  std::optional<std::pair<std::size_t, std::span<const std::byte>>> meets(const std::byte* at,
                                                                          std::size_t count) const;
};

/// What a copy has written to global memory, or will, for those who know that it has (PTX manual, "cp.async.bulk.wait_group").
struct WrittenRows {
  block::Who who;
  std::uint32_t group;  ///< of the thread
  std::vector<GlobalRows> rows;
};

/// The copies that nobody has waited for. Whatever accesses their bytes may come before them or behind.
class GlobalCopies {
 public:
  struct Copy {
    /// How one waits for it.
    enum class Wait : std::uint8_t {
      threads,  ///< cp.async.wait_group by the thread of each row, from `who` on; `number`: of its copies
      group,    ///< cp.async.bulk.wait_group by `who`; `number`: of its group
      object,   ///< at the barrier object at `object`, whose agent is `agent`; `number`: of the phase
    };
    GlobalRows rows;
    bool writes;
    Wait wait;
    block::Who who;
    Block* block;  ///< which knows whether somebody has waited
    std::uint32_t number;
    int agent = -1;
    std::int64_t object = 0;
    bool strong = false;  ///< its reads are
  };
  struct Conflict {
    Copy copy;
    int thread;  ///< whose copy it is
    const std::byte* byte;
    std::size_t bytes;  ///< from there on
  };

  bool empty() const { return copies_.empty(); }
  /// Whether there may be copies that an access meets.
  bool may_meet(bool writes) const { return writes ? !copies_.empty() : writing_ != 0; }
  void add(const Copy& copy);
  /// The copy that an access meets, if one of the two writes. Copies that write, and strong accesses, do not disturb each other:
  /// they reduce, or may store the same; nor do strong reads of a copy, and strong accesses.
  std::optional<Conflict> conflict(const std::byte* at, std::size_t bytes, bool writes, bool strong);

 private:
  static bool is_pending(const Copy& copy, std::size_t row);
  static bool continues(const Copy& last, const Copy& copy);
  void cover(const GlobalRows& rows);
  void forget_those_waited_for();

  std::vector<Copy> copies_;
  std::size_t writing_ = 0;  // those of them that write; more where some go on with others
  const std::byte *first_ = nullptr, *end_ = nullptr;  // all lie in between
  std::size_t most_ = 64;                              // before those that were waited for are looked for
};

/// What must be done before its bytes are used: "wait for phase 0 (parity 0) of the mbarrier at 0x100 first".
std::string advice(const GlobalCopies::Conflict& found, int thread);

}  // namespace warpbit::async
