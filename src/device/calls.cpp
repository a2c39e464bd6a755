// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>  // std::memcpy

#include "device/block.hpp"
#include "warpbit/descriptor.hpp"

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

// The address of the bytes.
std::byte* in_global(const char* what, const GlobalView& view, std::int64_t bytes, std::size_t alignment,
                     Place at) {
  Block& block = current_block();
  block.fail_if(
      block::check_bytes(what, Space::global, {0, view.size, view.at}, bytes, alignment, block.who(at)));
  return view.base + view.at;
}

}  // namespace

SharedView shared_view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at) {
  Block& block = current_block();
  bytes = std::max<std::int64_t>(bytes, 0);
  block.fail_if(block::check_bytes("shared_array", Space::shared, block.shared.view(offset), bytes, alignment,
                                   block.who(at)));
  return {offset, offset + bytes, offset};
}

void load(const SharedView& from, void* value, std::size_t bytes, std::size_t alignment, Place at) {
  Block& block = current_block();
  block.fail_if(block.shared.load("load from shared memory", from, {static_cast<std::byte*>(value), bytes},
                                  alignment, block.who(at)));
}

void store(const SharedView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at) {
  Block& block = current_block();
  block.fail_if(block.shared.store("store to shared memory", to, {static_cast<const std::byte*>(value), bytes},
                                   alignment, block.who(at)));
}

void load(const GlobalView& from, void* value, std::size_t bytes, std::size_t alignment, Place at) {
  std::byte* memory =
      in_global("load from global memory", from, static_cast<std::int64_t>(bytes), alignment, at);
  access_global(memory, bytes, [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    const Piece x = piece.load(std::memory_order_relaxed);
    std::memcpy(static_cast<std::byte*>(value) + i, &x, sizeof x);
  });
}

void store(const GlobalView& to, const void* value, std::size_t bytes, std::size_t alignment, Place at) {
  std::byte* memory = in_global("store to global memory", to, static_cast<std::int64_t>(bytes), alignment, at);
  access_global(memory, bytes, [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    Piece x;
    std::memcpy(&x, static_cast<const std::byte*>(value) + i, sizeof x);
    piece.store(x, std::memory_order_relaxed);
  });
}

std::uint64_t meet(Request request) {
  Call call{request};
  current_block().wait(call);
  return call.value;
}

void copy_async(const char* form, const SharedView& to, const GlobalView& from, int size, int bytes, Place at) {
  Block& block = current_block();
  if (bytes < 0 || bytes > size)
    block.fail(block::fault_of(
        {block.running(), at},
        {Errc::undefined_operand, form, fmt::format("src-size {}", bytes), fmt::format("0 to {}", size)}));
  const std::byte* const source = in_global(form, from, bytes, static_cast<std::size_t>(size), at);
  std::array<std::byte, 16> copied{};  // at the call, which is one of the times that the PTX manual allows
  if (bytes > 0) std::memcpy(copied.data(), source, static_cast<std::size_t>(bytes));
  block.fail_if(block.shared.copy_async(form, to, copied, size, block.who(at)));
}

void commit_group(Place at) {
  Block& block = current_block();
  block.shared.commit_group(block.who(at).thread);
}

void wait_group(unsigned pending, Place at) {
  Block& block = current_block();
  block.shared.wait_group(block.who(at).thread, pending);
}

void execute(const Statement& statement, const Operands& operands, Place at) {
  Block& block = current_block();
  if (operands.lanes == 1) return block.execute_alone(statement, operands, at);
  const Parsed& parsed = block.find(statement);
  const bool of_warp = operands.lanes == block::kWarp;
  Call call{
      {of_warp ? Request::Kind::instruction : Request::Kind::of_warpgroup, parsed.text, at}, operands, &parsed};
  block.wait(call);
}

std::uint64_t matrix_descriptor(const SharedView& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset, Place at) {
  Block& block = current_block();
  const block::Who who = block.who(at);
  block.fail_if(block::check_bytes("matrix_descriptor", Space::shared, start, 16, 16, who));
  const Descriptor fields{static_cast<std::uint32_t>(start.at), static_cast<std::uint32_t>(leading_bytes),
                          static_cast<std::uint32_t>(stride_bytes), base_offset, swizzle};
  const Result<std::uint64_t> bits = fields.encode();
  if (!bits) block.fail(block::fault_of(who, bits.error()));
  return *bits;
}

}  // namespace warpbit::device::calls
