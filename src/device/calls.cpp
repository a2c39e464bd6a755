// SPDX-License-Identifier: Apache-2.0
#include "warpbit/device/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>  // std::memcpy
#include <optional>
#include <span>
#include <utility>

#include "device/planted.hpp"
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
void access_memory(std::byte* memory, std::size_t bytes, Access access) {
  (void)(by_pieces<std::uint64_t>(memory, bytes, access) || by_pieces<std::uint32_t>(memory, bytes, access) ||
         by_pieces<std::uint16_t>(memory, bytes, access) || by_pieces<std::uint8_t>(memory, bytes, access));
}

// The address of the bytes.
std::byte* in_global(const char* what, const View& view, std::int64_t bytes, std::size_t alignment, bool writes,
                     Place at) {
  Block& block = current_block();
  block.fail_if(block::check_bytes(what, Space::global, view, bytes, alignment, block.who(at)));
  std::byte* const out = view.global + view.at;
  access_global(out, static_cast<std::size_t>(bytes), writes);
  return out;
}

}  // namespace

View shared_view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at) {
  Block& block = current_block();
  bytes = std::max<std::int64_t>(bytes, 0);
  block.fail_if(block::check_bytes("shared_array", Space::shared, block.shared.view(offset), bytes, alignment,
                                   block.who(at)));
  return {offset, offset + bytes, offset};
}

void access_global(std::byte* at, std::size_t bytes, bool writes) {
  const CallWatch* const watch = current_block().watch();
  if (watch == nullptr || watch->accesses == nullptr) return;
  if (writes)
    watch->accesses->writes(at, bytes);
  else
    watch->accesses->reads(at, bytes);
}

void load(const View& array, void* value, std::size_t bytes, std::size_t alignment, Place at) {
  const View from = *planted_access("ld", array, bytes, at);
  constexpr const char* kLoad = "load from shared memory";
  const std::span out(static_cast<std::byte*>(value), bytes);
  Block& block = current_block();
  if (!from.is_global)
    return block.fail_if(owner(kLoad, from, at).shared.load(kLoad, from, out, alignment, block.who(at)));
  const auto copy = [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    const Piece x = piece.load(std::memory_order_relaxed);
    std::memcpy(&out[i], &x, sizeof x);
  };
  access_memory(in_global("load from global memory", from, std::ssize(out), alignment, false, at), bytes, copy);
}

void store(const View& array, const void* value, std::size_t bytes, std::size_t alignment, Place at) {
  const std::optional<View> planted_to = planted_access("st", array, bytes, at);
  if (!planted_to) return;
  const View& to = *planted_to;
  constexpr const char* kStore = "store to shared memory";
  const std::span in(static_cast<const std::byte*>(value), bytes);
  Block& block = current_block();
  if (!to.is_global)
    return block.fail_if(owner(kStore, to, at).shared.store(kStore, to, in, alignment, block.who(at)));
  const auto copy = [&]<class Piece>(std::atomic_ref<Piece> piece, std::size_t i) {
    Piece x;
    std::memcpy(&x, &in[i], sizeof x);
    piece.store(x, std::memory_order_relaxed);
  };
  access_memory(in_global("store to global memory", to, std::ssize(in), alignment, true, at), bytes, copy);
}

std::uint64_t meet(Request request) {
  if (const PlantedCall* const change = planted(request.name, request.at)) {
    if (change->change == PlantedCall::Change::left_out) return 0;
    ++request.operand;
  }
  Call call{request};
  current_block().wait(call);
  return call.value;
}

void copy_async(const char* form, const View& to, const View& from, int size, int bytes, Place at) {
  Block& block = current_block();
  if (bytes < 0 || bytes > size)
    block.fail(block::fault_of(block.who(at), {Errc::undefined_operand, form, fmt::format("src-size {}", bytes),
                                               fmt::format("0 to {}", size)}));
  check_own(form, to, at);
  if (is_left_out(form, at)) return;
  const std::byte* const source = in_global(form, from, bytes, static_cast<std::size_t>(size), false, at);
  std::array<std::byte, 16> copied{};  // at the call, which is one of the times that the PTX manual allows
  if (bytes > 0) std::memcpy(copied.data(), source, static_cast<std::size_t>(bytes));
  block.fail_if(block.shared.copy_async(form, to, copied, size, block.who(at)));
}

void commit_group(Place at) {
  if (is_left_out("cp.async.commit_group", at)) return;
  Block& block = current_block();
  block.shared.commit_group(block.who(at).thread);
}

void wait_group(unsigned pending, Place at) {
  const std::optional<unsigned> most = planted_pending("cp.async.wait_group", pending, at);
  Block& block = current_block();
  if (most) block.shared.wait_group(block.who(at).thread, *most, at);
}

void wait_all(Place at) {
  if (is_left_out("cp.async.wait_all", at)) return;
  Block& block = current_block();
  block.shared.commit_group(block.who(at).thread);
  block.shared.wait_group(block.who(at).thread, 0, at);
}

void execute(const Statement& statement, const Operands& operands, Place at) {
  const PlantedCall* const change =
      is_watched(at) ? planted(current_block().find(statement).text, at) : nullptr;
  return change != nullptr ? execute_planted(*change, statement, operands, at)
                           : execute_right(statement, operands, at);
}

void execute_right(const Statement& statement, const Operands& operands, Place at) {
  Block& block = current_block();
  if (operands.row != nullptr) check_own(statement.form, *operands.row, at);
  if (operands.lanes == 1) return block.execute_alone(statement, operands, at);
  const Parsed& parsed = block.find(statement);
  const bool of_warp = operands.lanes == block::kWarp;
  Call call{
      {of_warp ? Request::Kind::instruction : Request::Kind::of_warpgroup, parsed.text, at}, operands, &parsed};
  block.wait(call);
}

std::uint64_t matrix_descriptor(const View& start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset, Place at) {
  Block& block = current_block();
  const block::Who who = block.who(at);
  check_own("matrix_descriptor", start, at);
  block.fail_if(block::check_bytes("matrix_descriptor", Space::shared, start, 16, 16, who));
  const Descriptor fields{static_cast<std::uint32_t>(start.at), static_cast<std::uint32_t>(leading_bytes),
                          static_cast<std::uint32_t>(stride_bytes), base_offset, swizzle};
  const Result<std::uint64_t> bits = fields.encode();
  if (!bits) block.fail(block::fault_of(who, bits.error()));
  return *bits;
}

// ---- Registers of asynchronous products

namespace {

// Reads a register, or writes to it.
std::uint32_t access(const char* what, const AsyncRegister& view, std::optional<std::uint32_t> written,
                     Place at) {
  Block& block = current_block();
  const block::Who who = block.who(at);
  if (view.at < 0 || view.at >= view.count)
    block.fail(block::fault_of(who, {Errc::address_out_of_bounds, what, fmt::format("register {}", view.at),
                                     fmt::format("it has {}", view.count)}));
  const int lane = who.thread % block::kWarpgroup, reg = view.first + static_cast<int>(view.at);
  Effects effects;
  if (written)
    effects.writes = {{lane, reg, *written}};
  else
    effects.reads = {reg};
  block.fail_if(block.products.access(what, std::move(effects), who));
  return static_cast<std::uint32_t>(
      block.products.group(who.thread / block::kWarpgroup).registers.read(lane, reg));
}

}  // namespace

int make_registers(int count, Place at) {
  Block& block = current_block();
  const block::Who who = block.who(at);
  const int first = block.fragments().push(count, at);
  block.products.group(who.thread / block::kWarpgroup).reserve(first + count);
  Effects zeros;
  for (int reg = first; reg < first + count; ++reg)
    zeros.writes.push_back({who.thread % block::kWarpgroup, reg, 0});
  block.fail_if(block.products.access("an AsyncFragment", std::move(zeros), who));
  return first;
}

void release_registers(int first, int count, Place made) noexcept {
  Block& block = current_block();
  block::Found& fault = block.meeting.fault();
  if (!block.is_unwinding() && !fault && std::uncaught_exceptions() == 0)
    fault = block.products.release("end of an AsyncFragment", first, count, block.who(block.running(), made));
  block.fragments().release(first);
}

std::uint32_t read_register(const AsyncRegister& from, Place at) {
  return access("read of an AsyncFragment", from, std::nullopt, at);
}

void write_register(const AsyncRegister& to, std::uint32_t value, Place at) {
  (void)access("write to an AsyncFragment", to, value, at);
}

}  // namespace warpbit::device::calls
