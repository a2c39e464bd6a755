// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/calls.hpp"

#include <atomic>
#include <cstring>  // std::memcpy

#include "device/block.hpp"

namespace warpbit::device::calls {
namespace {

// Blocks run in parallel and may access the same bytes of global memory. As on a GPU, each access consists of
// relaxed atomic pieces of the largest size that the addresses allow.
template <class Piece, class Access>
bool by_pieces(std::byte* memory, std::size_t bytes, Access access) {
  if (reinterpret_cast<std::uintptr_t>(memory) % sizeof(Piece) != 0 || bytes % sizeof(Piece) != 0) return false;
  for (std::size_t i = 0; i < bytes; i += sizeof(Piece))
    access(std::atomic_ref<Piece>(*reinterpret_cast<Piece*>(memory + i)), i);
  return true;
}

template <class Access>
void access_global(std::byte* memory, std::size_t bytes, Access access) {
  (void)(by_pieces<std::uint64_t>(memory, bytes, access) || by_pieces<std::uint32_t>(memory, bytes, access) ||
         by_pieces<std::uint16_t>(memory, bytes, access) || by_pieces<std::uint8_t>(memory, bytes, access));
}

Request request(Request::Kind kind, std::string_view name, Place at) {
  return {.kind = kind, .name = name, .at = at};
}

}  // namespace

SharedView shared_view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at) {
  return current_block().view(offset, bytes, alignment, at);
}

void load(const SharedView& from, void* value, std::size_t bytes, std::size_t alignment, Place at) {
  current_block().load(from, {static_cast<std::byte*>(value), bytes}, alignment, at);
}

void store(const SharedView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at) {
  current_block().store(to, {static_cast<const std::byte*>(value), bytes}, alignment, at);
}

void load(const GlobalView& from, void* value, std::size_t bytes, std::size_t alignment, Place at) {
  std::byte* memory =
      current_block().global("load from global memory", from, static_cast<std::int64_t>(bytes), alignment, at);
  access_global(memory, bytes, [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    const Piece x = piece.load(std::memory_order_relaxed);
    std::memcpy(static_cast<std::byte*>(value) + i, &x, sizeof x);
  });
}

void store(const GlobalView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at) {
  std::byte* memory =
      current_block().global("store to global memory", to, static_cast<std::int64_t>(bytes), alignment, at);
  access_global(memory, bytes, [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    Piece x;
    std::memcpy(&x, static_cast<const std::byte*>(value) + i, sizeof x);
    piece.store(x, std::memory_order_relaxed);
  });
}

void barrier(Place at) {
  Request r = request(Request::Kind::barrier, "__syncthreads", at);
  current_block().wait(r);
}

void sync_warp(std::uint32_t mask, Place at) {
  Request r = request(Request::Kind::sync_warp, "__syncwarp", at);
  r.mask = mask;
  current_block().wait(r);
}

std::uint32_t active_mask(Place at) {
  Request r = request(Request::Kind::active_mask, "__activemask", at);
  current_block().wait(r);
  return static_cast<std::uint32_t>(r.value);
}

std::uint32_t vote(const char* name, std::uint32_t mask, bool predicate, Place at) {
  Request r = request(Request::Kind::vote, name, at);
  r.mask = mask;
  r.value = predicate ? 1 : 0;
  current_block().wait(r);
  return static_cast<std::uint32_t>(r.value);
}

std::uint64_t shuffle(Shuffle how, std::uint32_t mask, std::uint64_t value, int operand, int width, Place at) {
  constexpr std::string_view kNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                         "__shfl_xor_sync"};
  Request r = request(Request::Kind::shuffle, kNames[static_cast<std::size_t>(how)], at);
  r.mask = mask;
  r.value = value;
  r.how = how;
  r.operand = operand;
  r.width = width;
  current_block().wait(r);
  return r.value;
}

void copy_async(const char* form, const SharedView& to, const GlobalView& from, int size, int bytes, Place at) {
  current_block().copy_async(form, to, from, size, bytes, at);
}

void commit_group(Place at) {
  current_block().commit_group(at);
}

void wait_group(unsigned pending, Place at) {
  current_block().wait_group(pending, at);
}

void wait_all(Place at) {
  current_block().wait_all(at);
}

std::uint32_t convert(const char* form, float first, float second, Place at) {
  return current_block().convert(form, first, second, at);
}

void execute(const char* form, void* d, std::span<const void* const> sources, Place at) {
  execute_sparse(form, -1, d, sources, at);
}

void execute_sparse(const char* form, int selector, void* d, std::span<const void* const> sources, Place at) {
  Request r = request(Request::Kind::execute, form, at);
  r.selector = selector;
  r.d = d;
  r.sources = sources;
  current_block().wait(r);
}

void load_matrix(const char* form, const SharedView& row, std::uint32_t* r, Place at) {
  Request wanted = request(Request::Kind::load_matrix, form, at);
  wanted.row = row;
  wanted.d = r;
  current_block().wait(wanted);
}

void store_matrix(const char* form, const SharedView& row, const std::uint32_t* r, Place at) {
  Request wanted = request(Request::Kind::store_matrix, form, at);
  const void* const source = r;
  wanted.row = row;
  wanted.sources = {&source, 1};
  current_block().wait(wanted);
}

int make_registers(int count, Place at) {
  return current_block().make_registers(count, at);
}

void release_registers(int first, int count, Place made) noexcept {
  current_block().release_registers(first, count, made);
}

std::uint32_t read_register(const RegisterView& from, Place at) {
  return current_block().read_register(from, at);
}

void write_register(const RegisterView& to, std::uint32_t value, Place at) {
  current_block().write_register(to, value, at);
}

std::uint64_t matrix_descriptor(const SharedView& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset, Place at) {
  const Descriptor fields{static_cast<std::uint32_t>(start.at), static_cast<std::uint32_t>(leading_bytes),
                          static_cast<std::uint32_t>(stride_bytes), base_offset, swizzle};
  return current_block().matrix_descriptor(start, fields, at);
}

void fence_proxy(const char* form, Place at) {
  current_block().fence_proxy(form, at);
}

void warpgroup(const char* statement, const WarpgroupProduct* product, Place at) {
  Request wanted = request(Request::Kind::warpgroup, statement, at);
  wanted.product = product;
  current_block().wait(wanted);
}

}  // namespace warpbit::device::calls
