// SPDX-License-Identifier: Apache-2.0
// Bulk copies (PTX manual, "cp.async.bulk" and "cp.reduce.async.bulk", with and without .tensor, "st.async", "red.async"), and
// responses to requests for clusters, which come as copies do ("clusterlaunchcontrol.try_cancel"). A copy is checked when it is issued, and moves its bytes when it arrives (cluster.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "async/cluster.hpp"
#include "tensor_map/copy.hpp"
#include "tensor_map/reduce.hpp"

namespace warpbit::async {

/// Memory outside of the cluster.
class Global {
 public:
  virtual ~Global() = default;
  /// Where these bytes are. Errors: address_out_of_bounds, address_read_only.
  virtual Result<std::byte*> find(std::uint64_t address, std::uint64_t bytes, bool writes) = 0;
  /// A copy accesses rows that were found, which is recorded where that is checked. False after a fault.
  virtual bool access(const GlobalCopies::Copy&, const std::vector<GlobalRows>&) { return true; }
  /// What stores bytes of a copy that is no reduction, when they arrive, and records who does; empty: nothing is recorded. False
  /// after a fault.
  using Store = std::function<bool(std::byte* to, std::span<const std::byte> from)>;
  virtual Store store_of_copy() { return nullptr; }
};

/// A copy's side in global memory: bytes from an address on, or a box of a tensor.
struct Region {
  std::uint64_t address = 0, bytes = 0;
  const TensorMap* map = nullptr;
  tensor_map::TensorCopy box = {};  ///< its place in shared memory is set by the copy
  /// Bytes at both ends of a load that may lie in no array: they are not read, and have no value where they go.
  std::uint64_t ignored_left = 0, ignored_right = 0;
};

/// Where bytes go in a block's shared memory, and the barrier object that counts them: there, or with .cta_group::2 in the
/// other block of its pair.
struct Destination {
  Block* block;
  std::uint32_t at, barrier;
  Block* other = nullptr;  ///< which has the object, if it is another one
  Block& counting() const { return other != nullptr ? *other : *block; }
};

/// What becomes of elements that are there already.
struct Reduce {
  tensor_map::Reduction reduction;
  TensorType type;  ///< but for tensors, whose map has it
};

/// The copies that a thread issues. Each function: an error of what cannot be carried out; false after a fault.
class Issue {
 public:
  /// `strong`: its accesses are, as far as the manual leaves them open (.relaxed).
  Issue(Block& here, block::Who who, Global& global, bool strong = false)
      : here_(here), who_(who), global_(global), strong_(strong) {}

  /// From global memory, for the barrier object.
  Result<bool> load(const Region& from, const Destination& to);
  /// The same into the blocks of a mask, at the same places of each.
  Result<bool> multicast(const Region& from, std::span<const Destination> to);
  /// From this byte of the block's shared memory on to global memory, in the thread's bulk group.
  Result<bool> store(std::uint32_t from, const Region& to, const std::optional<Reduce>& reduce);
  /// From this byte on to another block's memory.
  Result<bool> exchange(std::uint32_t from, std::uint64_t bytes, const Destination& to,
                        const std::optional<Reduce>& reduce);
  /// From registers, through the generic proxy.
  Result<bool> element(std::span<const std::byte> value, const Destination& to,
                       const std::optional<Reduce>& reduce);
  /// The response to a request, through the async proxy.
  Result<bool> answer(std::span<const std::byte> response, std::span<const Destination> to);

 private:
  using Agent = block::Accesses::Agent;
  using Move = std::function<void(std::byte* shared)>;

  void explain_write(Fault& found) const;
  Result<void> find_runs(const Region& region, std::uint32_t shared, bool writes);
  Result<bool> write(std::span<const std::byte> value, const Destination& to,
                     const std::optional<Reduce>& reduce, bool generic);
  Result<bool> load_lines(const Region& from, const tensor_map::CopyLines& lines, const std::byte* data,
                          const Destination& to);
  /// Begins to write bytes of a block for its barrier object.
  bool begin(const Destination& to, std::uint32_t at, std::uint64_t bytes, Agent& agent, bool generic = false,
             const Region* tensor = nullptr, bool reduces = false);
  std::vector<GlobalRows> rows_of_runs() const;
  GlobalCopies::Copy until_phase(const Destination& to, Agent agent) const;
  using Side = Cluster::InFlight::Side;
  /// When they have arrived, the object counts `counted` bytes. Those of `undefined` have no value there. `from`: nothing of
  /// values in registers.
  void send(const std::optional<Side>& from, const Destination& to, std::uint32_t at, std::uint64_t bytes,
            Agent agent, std::uint64_t counted, bool reduces, Move move,
            std::vector<std::int64_t> undefined = {});
  std::optional<Side> global_side() const;

  Block& here_;
  block::Who who_;
  Global& global_;
  bool strong_;
  std::string_view work_ = {};  ///< what it does, if that is no bulk copy
  std::vector<tensor_map::CopyRun> runs_;
  std::vector<std::byte*> data_;  // in global memory, of each run that is not outside
};

}  // namespace warpbit::async
