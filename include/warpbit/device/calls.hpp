// SPDX-License-Identifier: Apache-2.0
// The interface between the wrappers of warpbit/device/host.hpp and the block that runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "warpbit/detail/block.hpp"
#include "warpbit/detail/swizzle.hpp"

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
};
void execute(const Statement& statement, const Operands& operands, Place at);

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
