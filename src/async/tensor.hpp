// SPDX-License-Identifier: Apache-2.0
// Tensor memory in a cluster, whoever runs its threads: allocation, what instructions do, and its order
// (ASYNCHRONOUS.md, "Tensor memory"). An instruction is complete when it is issued; who relies on it too early finds a
// fault.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/cluster.hpp"
#include "block/tensor.hpp"
#include "warpbit/execute.hpp"

namespace warpbit::async {

/// The tensor memory of a block.
class Tensor {
 public:
  explicit Tensor(block::TensorOrder& order) : accesses(order) {}

  /// An allocation, and who made it.
  struct Allocated {
    TensorMemory::Columns columns;
    int cta_group;
    block::Who who;
  };
  /// What an instruction touches in the memories of its blocks.
  struct Touches {
    std::vector<TensorTouch> tensor;
    std::array<std::vector<Effects::MemoryRead>, 2> shared;  ///< by block of the pair
    std::vector<Effects::MemoryRead> of_a = {};              ///< of a product, in each of them
    std::uint64_t shape = 0;                                 ///< of a product
    /// Of a product: what it takes the tiles in shared memory for.
    struct Matrix {
      std::string_view name;
      std::uint64_t bits;
      Descriptor descriptor;
      DescribedMatrix matrix;
    };
    std::vector<Matrix> matrices = {};
  };

  TensorMemory memory;
  block::TensorAccesses accesses;
  std::vector<Allocated> allocated;
  std::optional<Allocated> freed;  ///< the last one
  /// Allocations and, with a negative count, deallocations by both blocks of a pair: they must be the same in both.
  struct Together {
    TensorMemory::Columns columns;
    block::Who who;
    std::uint32_t clock;
    /// Of a deallocation before the other block's: the accesses of this block until then.
    std::shared_ptr<const block::TensorAccesses> before = {};
  };
  std::vector<Together> together;
  /// By the instruction and the values of its operands, of which a ring of stages has few.
  std::map<std::array<std::uint64_t, 12>, Touches> touches;
  /// Of the last instruction that a thread of the block has issued, while that is recorded.
  struct Last {
    const Touches* touches = nullptr;
    int own = 0;  ///< which of the blocks of its pair the block is
  };
  Last last = {};
  int cta_group = 0;      ///< of its first instruction
  block::Who first = {};  ///< who executed that
};

/// What a thread, or a warp that executes an instruction together, does. A function that returns a Result: an error of
/// what cannot be carried out; false after a fault.
class TensorIssue {
 public:
  /// `who`: the thread, or the first one of the warp.
  TensorIssue(Block& here, block::Who who) : here_(here), who_(who) {}

  /// The address; nothing if too few columns are free, then the warp waits.
  Result<std::optional<std::uint32_t>> allocate(int cta_group, std::uint32_t columns, bool is_exclusive);
  Result<bool> deallocate(int cta_group, std::uint32_t address, std::uint32_t columns, bool is_exclusive);
  Result<bool> relinquish(int cta_group);

  /// `inferred` is set if the arithmetic is.
  Result<bool> product(const Instruction& instruction, const TensorMmaSources& sources,
                       const ExecuteOptions& options, bool& inferred);
  Result<bool> copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from);
  Result<bool> shift(const Instruction& instruction, std::uint32_t at);
  /// Registers as of execute_load.
  Result<bool> load(const Instruction& instruction, std::uint32_t address, std::int64_t split,
                    std::span<std::uint32_t> registers, std::span<std::uint32_t> reduced);
  Result<bool> store(const Instruction& instruction, std::uint32_t address, std::int64_t split,
                     std::span<const std::uint32_t> registers);
  /// All that the thread has issued arrives, when it is complete, or has read A, at objects of these blocks.
  struct Object {
    Block* block;
    std::uint32_t at;
  };
  bool commit(int cta_group, bool reads_of_a, std::span<const Object> objects);
  void fence(bool before);
  void wait(bool stores);
  /// The warp uses a register of a load, which it may have waited for. `name`: that of a load at a place.
  bool use_register(const std::function<std::string(block::Place load)>& name);

 private:
  bool takes_tiles(const Tensor::Touches& touches, std::span<Block* const> blocks);
  bool has_sound_descriptors(const Tensor::Touches& touches);
  Result<std::vector<TensorBlock>> pair(int cta_group, std::span<Block*> blocks);
  bool uses_group(int cta_group);
  bool names_own_window(const Instruction& instruction, std::uint32_t address);
  void name_wait(Fault& fault) const;
  bool record(const Tensor::Touches& touches, std::span<Block* const> blocks, block::TensorUse use, int pipe,
              std::uint32_t clock, const TensorMmaSources* product = nullptr);
  bool record_operation(const Tensor::Touches& touches, std::span<Block* const> blocks, block::TensorUse use,
                        const TensorMmaSources* product = nullptr);
  template <class Find>
  Result<const Tensor::Touches*> touches(const Instruction& instruction, std::array<std::uint64_t, 11> values,
                                         Find find, const TensorMmaSources* product = nullptr);
  Result<bool> agree(Block& peer, TensorMemory::Columns columns);
  bool peer_is_done(Tensor& peer, TensorMemory::Columns freed);
  bool peer_has_allocated(Block& peer, TensorMemory::Columns columns);
  bool peer_has_not_freed(const TensorTouch& touch, Block& of);
  int warp() const { return who_.thread / block::kWarp; }
  int warp_in_block() const { return warp() - here_.shared.first_warp(); }

  Block& here_;
  block::Who who_;
};

/// What a warp waits for that asks for columns: "256 columns of tensor memory: 512 of 512 are allocated (...)".
std::string awaited(Block& block, std::uint32_t columns);

/// A block ends: its tensor memory must be deallocated. False after a fault.
bool end_tensor(Block& block, block::Who who);

}  // namespace warpbit::async
