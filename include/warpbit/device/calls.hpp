// SPDX-License-Identifier: Apache-2.0
// The interface between the wrappers of warpbit/device/host.hpp and the block that runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "warpbit/detail/block.hpp"
#include "warpbit/detail/swizzle.hpp"

#pragma GCC visibility push(default)
namespace warpbit::device {

/// Of the running thread (CUDA C++ Programming Guide, "Built-in Variables").
extern constinit thread_local Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace calls {

/// `size` bytes from `base`, and a cursor in them.
struct GlobalView {
  std::byte* base;
  std::int64_t size, at;
};

/// Fails unless the bytes lie in shared memory, aligned.
SharedView shared_view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at);
void load(const SharedView& from, void* value, std::size_t bytes, std::size_t alignment, Place at);
void store(const SharedView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at);
void load(const GlobalView& from, void* value, std::size_t bytes, std::size_t alignment, Place at);
void store(const GlobalView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at);

void barrier(Place at);
void sync_warp(std::uint32_t mask, Place at);
std::uint32_t active_mask(Place at);
/// The lanes in the mask whose predicate is true.
std::uint32_t vote(const char* name, std::uint32_t mask, bool predicate, Place at);

std::uint64_t shuffle(Shuffle how, std::uint32_t mask, std::uint64_t value, int operand, int width, Place at);

/// Copies `size` bytes: the first `bytes` from global memory, zeros for the rest.
void copy_async(const char* form, const SharedView& to, const GlobalView& from, int size, int bytes, Place at);
void commit_group(Place at);
void wait_group(unsigned pending, Place at);
void wait_all(Place at);

/// A conversion by one thread, from two numbers to one register.
std::uint32_t convert(const char* form, float first, float second, Place at);

/// An instruction that a warp executes on registers.
void execute(const char* form, void* d, std::span<const void* const> sources, Place at);
/// The same for a sparse product and its selector.
void execute_sparse(const char* form, int selector, void* d, std::span<const void* const> sources, Place at);
void load_matrix(const char* form, const SharedView& row, std::uint32_t* r, Place at);
void store_matrix(const char* form, const SharedView& row, const std::uint32_t* r, Place at);

/// `count` of the thread's registers, starting at `first`, and one of them.
struct RegisterView {
  int first, count;
  std::int64_t at;
};
/// Allocates registers for asynchronous products in the thread, initially zero; returns the first one.
int make_registers(int count, Place at);
/// Frees them: a fault if a pending product uses them. Never throws.
void release_registers(int first, int count, Place made) noexcept;
std::uint32_t read_register(const RegisterView& from, Place at);
void write_register(const RegisterView& to, std::uint32_t value, Place at);

std::uint64_t matrix_descriptor(const SharedView& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset, Place at);
void fence_proxy(const char* form, Place at);

/// The operands of a product: D and an A in registers by their first register; otherwise `a` is a descriptor.
struct WarpgroupProduct {
  int d;
  std::uint64_t a, b;
  bool scale_d;
};
/// An instruction of a warpgroup, with its operands if it is a product.
void warpgroup(const char* statement, const WarpgroupProduct* product, Place at);

}  // namespace calls
}  // namespace warpbit::device
#pragma GCC visibility pop
