// SPDX-License-Identifier: Apache-2.0
// What a block of a cluster has, whoever runs its threads: shared memory, and what asynchronous copies need besides.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "async/global_copies.hpp"
#include "block/mbarrier.hpp"
#include "block/shared.hpp"
#include "warpbit/descriptor.hpp"

namespace warpbit::async {

class Cluster;
class Tensor;

/// The bulk groups of a block's threads (PTX manual, "Bulk async-group").
class BulkGroups {
 public:
  explicit BulkGroups(block::Shared& shared) : shared_(shared) {}
  /// The thread copies from the block's shared memory: who does, in its group at hand.
  block::Accesses::Agent begin(block::Who who);
  void commit(int thread);
  /// A copy of the thread's group writes rows of global memory.
  void writes(WrittenRows rows) { groups_.at(rows.who.thread).writes.push_back(std::move(rows)); }
  /// What groups of the thread write that it has waited for since, but not with .read; `all`: and all others.
  std::vector<WrittenRows> take_written(int thread, bool all = false);
  /// All but the `pending` latest have been waited for. `reads_only`: until they have read shared memory.
  void wait(block::Who who, std::uint32_t pending, bool reads_only);
  /// Whether the thread has not waited until a group of its has written.
  bool is_writing(int thread, std::uint32_t group) const {
    const auto found = groups_.find(thread);
    return found != groups_.end() && group >= found->second.written;
  }
  /// How many groups of the thread are behind this one; nothing: it is not committed.
  std::optional<std::uint32_t> later(int thread, std::uint32_t group) const {
    const auto found = groups_.find(thread);
    if (found == groups_.end() || group >= found->second.committed) return std::nullopt;
    return found->second.committed - 1 - group;
  }
  /// The last copy of each thread that it has not waited for.
  struct Pending {
    block::Who copy;
    bool is_committed;  ///< to a group
  };
  std::vector<Pending> pending() const;
  /// For all groups but so many.
  struct Wait {
    block::Who who;
    std::uint32_t pending;
  };
  std::optional<Wait> last_wait(int thread) const;
  /// Whether a thread of the warp has waited for groups, and none of its threads has any.
  bool has_waited_for_none(int warp) const;

 private:
  struct Group {
    int agent;
    std::uint32_t committed = 0, waited = 0;
    std::uint32_t written = 0;     ///< waited for, but not with .read
    block::Who last = {};          ///< copy
    std::uint32_t last_group = 0;  ///< which has it
    std::vector<WrittenRows> writes = {};
  };
  block::Shared& shared_;
  std::map<int, Group> groups_;  // by thread
  std::map<int, Wait> waits_;    // by thread, the last one
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
  /// The fault of an ldmatrix by lanes of a warp, whose first one is `who`: the eight rows of a matrix are the same chunk in
  /// lines where a copy with a swizzle has put different ones there. `rows`: where they begin, 8 for each matrix.
  block::Found mistaken(std::string_view what, std::span<const std::int64_t> rows, block::Who who) const;

 private:
  struct Copied {
    std::uint64_t first, end;
    Swizzle swizzle;
    block::Who who;
  };
  static Fault mistaken(std::string_view what, const Descriptor& descriptor, const Copied& tile,
                        std::uint64_t byte, block::Who who);
  /// Whether the last write of a byte is the copy's.
  bool is_of(const Copied& tile, std::uint64_t byte) const;

  const block::Shared& shared_;
  std::vector<Copied> tiles_;
};

/// Whether a matrix has a chunk of 16 bytes twice, and so its elements: for all descriptors of a product that is less than a map of
/// its elements takes for one.
bool reads_twice(const Descriptor& descriptor, const DescribedMatrix& matrix);

/// What looks wrong in the descriptor of a matrix that a product by `who` reads. `which`: "A" or "B".
block::Found suspicious(std::string_view which, std::uint64_t descriptor, const DescribedMatrix& matrix,
                        DescriptorForm form, block::Who who);

/// By its rank in a cluster.
struct Block {
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// What happens to a fault, by the grade of its rule; whether the thread that acts goes on. Nothing is none.
  using Allows = std::function<bool(block::Found)>;

  /// Those of a cluster are made in the order of their ranks, and stay where they are. `window`, `records`: as of
  /// block::Shared.
  Block(Cluster& cluster, int rank, std::uint64_t bytes, Allows allows, std::uint64_t window = 0,
        bool records = true);
  std::span<std::byte> memory() { return shared.memory().shared_for_writing(); }
  /// Its tensor memory (async/tensor.hpp), which a block has once it is used.
  Tensor& tensor();
  bool has_tensor() const { return tensor_ != nullptr; }
  /// An arrival at an object of `of` is on its way, if what was found of it lets its thread go on, which is returned.
  bool promise(Block& of, block::Found found, block::MbarrierPromise promise);

  Cluster& cluster;
  block::Shared shared;
  block::Mbarriers mbarriers{shared};
  std::set<std::int64_t> reporting = {};  ///< objects of .layout::v1
  BulkGroups groups{shared};
  CopiedTiles tiles{shared};
  Allows allows;
  std::optional<block::Who> ended = {};  ///< its last thread, once all have

 private:
  std::unique_ptr<Tensor> tensor_;
};

}  // namespace warpbit::async
