// SPDX-License-Identifier: Apache-2.0
// What a launch keeps of the asynchronous machine: bulk groups of threads, tensor maps that were changed, and tiles that
// tensor copies have written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "block/shared.hpp"
#include "warpbit/descriptor.hpp"

namespace warpbit::grid {

/// The bulk groups of a block's threads (PTX manual, "Bulk async-group").
class BulkGroups {
 public:
  explicit BulkGroups(block::Shared& shared) : shared_(shared) {}
  /// Whose copies belong to the thread's group at hand.
  block::Accesses::Agent agent(int thread);
  void commit(int thread);
  /// All but the `pending` latest have been waited for.
  void wait(int thread, std::uint32_t pending);

 private:
  struct Group {
    int agent;
    std::uint32_t committed = 0;
  };
  block::Shared& shared_;
  std::map<int, Group> groups_;  // by thread
};

/// Tensor maps in global memory that a kernel changes: a copy may use one when the change is released and acquired
/// (PTX manual, "tensormap.cp_fenceproxy", "fence.proxy.tensormap").
class ChangedMaps {
 public:
  void change(std::uint64_t address, block::Who who) { states_[address] = {who, false, false}; }
  void release_all();
  void copy(std::uint64_t address, block::Who who) { states_[address] = {who, true, false}; }
  void acquire(std::uint64_t address);
  /// What is missing before a map may be used, and who has changed it; nothing if nothing is.
  struct Missing {
    block::Who who;
    std::string_view fence;
  };
  std::optional<Missing> missing(std::uint64_t address) const;

 private:
  struct State {
    block::Who who;
    bool released, acquired;
  };
  std::map<std::uint64_t, State> states_;
};

/// The tiles that tensor copies have written to a block's shared memory. A copy with a swizzle XORs the number of a 16-byte
/// chunk in its line of 128 bytes with that of the line, as much of it as the swizzle takes; a product does so, too, with the
/// line's number less its base offset.
class CopiedTiles {
 public:
  explicit CopiedTiles(const block::Shared& shared) : shared_(shared) {}
  bool empty() const { return tiles_.empty(); }
  void add(std::uint64_t first, std::uint64_t bytes, Swizzle swizzle, block::Who who);
  /// The fault of a product by `who` that expects another chunk at some byte than a copy with a swizzle has put there, or rows
  /// of another length. What was copied without one may have been swizzled before.
  block::Found mistaken(std::string_view what, const Descriptor& descriptor, const DescribedMatrix& matrix,
                        block::Who who) const;

 private:
  struct Copied {
    std::uint64_t first, end;
    Swizzle swizzle;
    block::Who who;
  };
  static Fault mistaken(std::string_view what, const Descriptor& descriptor, const Copied& tile,
                        std::uint64_t byte, block::Who who);

  const block::Shared& shared_;
  std::vector<Copied> tiles_;
};

}  // namespace warpbit::grid
