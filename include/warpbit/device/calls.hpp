// SPDX-License-Identifier: Apache-2.0
// The interface between the wrappers that kernels call and the block that runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "warpbit/detail/block.hpp"
#include "warpbit/detail/swizzle.hpp"
#include "warpbit/device/common.hpp"
#include "warpbit/tensor_map.hpp"

#pragma GCC visibility push(default)
namespace warpbit::device {

/// Of the running thread (CUDA C++ Programming Guide, "Built-in Variables").
extern constinit thread_local Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace calls {

/// Fails unless the bytes lie in shared memory, aligned.
View shared_view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at);
void load(const View& from, void* value, std::size_t bytes, std::size_t alignment, Place at);
void store(const View& to, const void* value, std::size_t bytes, std::size_t alignment, Place at);

/// Waits until the request is fulfilled; its value.
std::uint64_t meet(Request request);

/// Copies `size` bytes: the first `bytes` from global memory, zeros for the rest.
void copy_async(const char* form, const View& to, const View& from, int size, int bytes, Place at);
void commit_group(Place at);
void wait_group(unsigned pending, Place at);
/// For all copies of the thread, grouped or not.
void wait_all(Place at);

/// Characters of a statement, and a number behind them.
struct Piece {
  static constexpr int kNone = std::numeric_limits<int>::min();
  const char* text;
  int number = kNone;
};
/// A form, or its beginning, and what a statement has behind it. Both live as long as the program.
struct Statement {
  const char* form;
  std::span<const Piece> rest = {};
};
/// The operands of a product: D and an A in registers by their first register; otherwise `a` is a descriptor.
struct WarpgroupProduct {
  int d;
  std::uint64_t a, b;
  bool scale_d;
  friend bool operator==(const WarpgroupProduct&, const WarpgroupProduct&) = default;
};
/// Those of a lane, as far as the instruction has them.
struct Operands {
  int lanes = 32;                             ///< that execute it together: 1, 32 or 128
  void* d = nullptr;                          ///< destination registers
  std::span<const void* const> sources = {};  ///< in the order of the statement
  const View* row = nullptr;                  ///< the address of a move
  const WarpgroupProduct* product = nullptr;
  const struct TensorOperands* tensor = nullptr;
};
void execute(const Statement& statement, const Operands& operands, Place at);

// ---- Hopper's asynchronous machine (PTX manual, "mbarrier", "cp.async.bulk", "barrier.cluster")

/// The same array in the shared memory of another block of the cluster.
View mapa(const View& array, unsigned rank, Place at);
/// The rank of the block in its cluster, its index there, and the cluster's size.
unsigned cluster_ctarank(Place at);
Index3 cluster_ctaid(Place at);
Index3 cluster_nctaid(Place at);
/// `releases`: not of .relaxed.
void barrier_cluster_arrive(bool releases, Place at);
/// Waits until all threads of the cluster have arrived.
void barrier_cluster_wait(Place at);

/// What is done to a barrier object.
enum class Mbarrier : std::uint8_t {
  init,
  inval,
  arrive,
  arrive_cluster,  ///< of any block; all others are of the thread's own
  arrive_drop,
  arrive_expect_tx,
  expect_tx,
  complete_tx,
  cp_async_arrive,
  cp_async_arrive_noinc
};
/// `value`: a count or bytes, where the instruction has one. The state of before, of an arrive.
std::uint64_t mbarrier(Mbarrier what, const View& object, std::uint32_t value, Place at);
/// Whether the phase with this parity, or that of a state, is complete; waits as long as something else can happen.
bool mbarrier_test(const char* form, const View& object, std::uint64_t phase, bool is_parity, Place at);
/// The arrivals that a state has pending.
std::uint32_t mbarrier_pending_count(std::uint64_t state);
/// Orders the thread's inits before what follows a barrier_cluster_arrive_relaxed, and before copies of other blocks.
void fence_mbarrier_init(Place at);

/// A bulk copy. `map`: of a tensor copy, which has no other side in global memory.
struct BulkCopy {
  const char* form;
  const View *to = nullptr, *from = nullptr;
  std::int64_t bytes = 0;  ///< without a tensor map
  const View* barrier = nullptr;
  const std::uint16_t* mask = nullptr;  ///< of a multicast
  const TensorMapParameter* map = nullptr;
  std::span<const int> coordinates = {};
  std::span<const std::uint16_t> offsets = {};  ///< of im2col
  bool is_im2col = false;
  const Reduction* reduction = nullptr;
  TensorType type = TensorType::u8;  ///< of elements that are reduced, without a tensor map
};
/// Checks a copy, which arrives later: from global memory for a barrier object, to it in a bulk group, to another block.
void copy_global_to_shared(const BulkCopy& copy, Place at);
void copy_shared_to_global(const BulkCopy& copy, Place at);
void copy_shared_to_cluster(const BulkCopy& copy, Place at);
/// Groups the thread's copies to global memory since the last one.
void bulk_commit_group(Place at);
/// Until at most `pending` groups of the thread are pending.
void bulk_wait_group(unsigned pending, Place at);

// ---- Tensor memory (PTX manual, "tcgen05")

/// An instruction of tcgen05.
enum class Tensor : std::uint8_t {
  alloc,
  dealloc,
  relinquish,
  ld,
  st,
  wait_ld,
  wait_st,
  fence_before,
  fence_after,
  mma,
  mma_a_in_tensor_memory,
  mma_block_scale,
  cp,
  commit
};
/// Its operands, as far as it has them.
struct TensorOperands {
  std::uint32_t address = 0;      ///< in tensor memory; of an mma that of D
  std::uint64_t a = 0, b = 0;     ///< matrix descriptors; A may be an address
  std::uint32_t instruction = 0;  ///< its descriptor
  bool accumulates = false;
  std::uint32_t scale_a = 0, scale_b = 0;  ///< addresses of scale factors
  std::uint32_t columns = 0;
  const View* shared = nullptr;         ///< where an address is stored, or a barrier object
  const std::uint16_t* mask = nullptr;  ///< of a multicast
  const char* words = "";               ///< of a statement: kind, shape; of ld and st the whole form
  std::uint32_t* to = nullptr;          ///< registers of a lane
  const std::uint32_t* from = nullptr;
};
/// Executes it for the running thread; the second one, when all lanes of its warp have come.
void tensor(Tensor what, int cta_group, const TensorOperands& operands, Place at);
void tensor_by_warp(Tensor what, int cta_group, const TensorOperands& operands, Place at);
std::uint64_t tensor_descriptor(const View& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                Place at);

/// `count` of the thread's registers, starting at `first`, and one of them.
struct AsyncRegister {
  int first, count;
  std::int64_t at;
};
/// Allocates registers for asynchronous products in the thread, initially zero; returns the first one.
int make_registers(int count, Place at);
/// Frees them: a fault if a pending product uses them. Never throws.
void release_registers(int first, int count, Place made) noexcept;
std::uint32_t read_register(const AsyncRegister& from, Place at);
void write_register(const AsyncRegister& to, std::uint32_t value, Place at);

std::uint64_t matrix_descriptor(const View& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset, Place at);

}  // namespace calls
}  // namespace warpbit::device
#pragma GCC visibility pop
