// SPDX-License-Identifier: Apache-2.0
// Accesses to memory: bounds, alignment, order, and pending copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>  // std::memcpy

#include "device/block.hpp"

namespace warpbit::device {
namespace {

std::string bytes_from(std::int64_t bytes, std::int64_t at) {
  return fmt::format("{} bytes from {}", bytes, address_text(at));
}

// [first, last) as text for a person.
std::string has_bytes(std::string_view what, std::int64_t first, std::int64_t last) {
  if (first == last) return fmt::format("{} has none", what);
  return fmt::format("{} has {:#x} to {:#x}", what, first, last - 1);
}

Error misaligned(std::string_view what, std::int64_t address, std::size_t alignment) {
  return {Errc::address_misaligned, std::string(what), fmt::format("address {}", address_text(address)),
          fmt::format("it must be a multiple of {} bytes", alignment)};
}

bool is_multiple(std::int64_t address, std::size_t alignment) {
  return address % static_cast<std::int64_t>(alignment) == 0;
}

}  // namespace

std::string address_text(std::int64_t address) {
  const auto bits = static_cast<std::uint64_t>(address);
  return fmt::format("{}{:#x}", address < 0 ? "-" : "", address < 0 ? 0 - bits : bits);
}

Fault Block::fault_of(int thread, Place at, Error error) const {
  return {std::move(error), index_, thread / kWarp, {thread % kWarp}, at, std::nullopt, std::nullopt};
}

std::optional<Fault> Block::check_shared(std::string_view what, const calls::SharedView& view,
                                         std::int64_t bytes, std::size_t alignment, int thread,
                                         Place at) const {
  const auto fault = [&](Error error) {
    Fault out = fault_of(thread, at, std::move(error));
    out.address = {Space::shared, view.at};
    return out;
  };
  if (view.at < view.first || view.at > view.last - bytes)
    return fault({Errc::address_out_of_bounds, std::string(what), bytes_from(bytes, view.at),
                  has_bytes("the array", view.first, view.last)});
  if (!is_multiple(view.at, alignment)) return fault(misaligned(what, view.at, alignment));
  return std::nullopt;
}

Error Block::pending(std::string_view what, const Accesses::Conflict& conflict, int thread) const {
  const int writer = conflict.before->thread;
  const Thread& copier = threads_[static_cast<std::size_t>(writer)];
  const auto copy = std::ranges::find_if(copier.copies, [&](const AsyncCopy& c) {
    return conflict.byte >= c.to && conflict.byte < c.to + c.size;
  });
  const bool committed = copy != copier.copies.end() && copy->group < copier.group;
  const std::string who = writer == thread ? std::string("this thread") : fmt::format("thread {}", writer);
  return {Errc::copy_pending, std::string(what),
          fmt::format(
              "byte {:#x} is still on its way by a cp.async of {}, {}", conflict.byte, who,
              committed ? fmt::format("in group {} of {}", copy->group + 1, copier.group) : "in no group yet"),
          fmt::format("{} must execute {} before", who,
                      committed ? fmt::format("cp.async.wait_group {}", copier.group - copy->group - 1)
                                : "cp.async.commit_group and cp.async.wait_group, or cp.async.wait_all,")};
}

Fault Block::conflict(std::string_view what, const Accesses::Conflict& conflict, int thread, Place at) const {
  using Kind = Accesses::Conflict::Kind;
  Fault out = fault_of(thread, at, {});
  out.address = {Space::shared, conflict.byte};
  if (conflict.before)
    out.other = {conflict.before->thread / kWarp, {conflict.before->thread % kWarp}, conflict.before->at};
  switch (conflict.kind) {
    case Kind::never_written:
      out.error = {Errc::never_written, std::string(what), fmt::format("byte {:#x}", conflict.byte),
                   "shared memory is undefined until it is written"};
      break;
    case Kind::pending: out.error = pending(what, conflict, thread); break;
    case Kind::race:
      out.error = {
          Errc::data_race, std::string(what),
          fmt::format("byte {:#x} was {} by lane {} of warp {}, and no barrier came between", conflict.byte,
                      conflict.before_writes ? "written" : "read", out.other->lanes.front(), out.other->warp),
          out.other->warp == out.warp ? "a __syncwarp or a __syncthreads must order them"
                                      : "a __syncthreads must order them"};
      break;
  }
  return out;
}

std::optional<Fault> Block::read(std::string_view what, std::int64_t first, std::int64_t bytes, int thread,
                                 Place at) {
  const auto found = accesses_.read(first, bytes, thread, at, order_);
  if (!found) return std::nullopt;
  return conflict(what, *found, thread, at);
}

std::optional<Fault> Block::write(std::string_view what, std::int64_t first, std::int64_t bytes, int thread,
                                  Place at, Accesses::Written state) {
  if (auto fault = overwritten(what, first, bytes, thread, at)) return fault;
  const auto found = accesses_.write(first, bytes, thread, at, order_, state);
  if (!found) return std::nullopt;
  return conflict(what, *found, thread, at);
}

calls::SharedView Block::view(std::int64_t offset, std::int64_t bytes, std::size_t alignment, Place at) {
  running().last = at;
  bytes = std::max<std::int64_t>(bytes, 0);
  const calls::SharedView all{0, static_cast<std::int64_t>(memory_.shared_bytes()), offset};
  fail_if(check_shared("shared_array", all, bytes, alignment, running_, at));
  return {offset, offset + bytes, offset};
}

void Block::load(const calls::SharedView& from, std::span<std::byte> value, std::size_t alignment, Place at) {
  constexpr auto kWhat = "load from shared memory";
  const auto bytes = static_cast<std::int64_t>(value.size());
  running().last = at;
  fail_if(check_shared(kWhat, from, bytes, alignment, running_, at));
  fail_if(read(kWhat, from.at, bytes, running_, at));
  std::memcpy(value.data(), memory_.shared().data() + from.at, value.size());
}

void Block::store(const calls::SharedView& to, std::span<const std::byte> value, std::size_t alignment,
                  Place at) {
  constexpr auto kWhat = "store to shared memory";
  const auto bytes = static_cast<std::int64_t>(value.size());
  running().last = at;
  fail_if(check_shared(kWhat, to, bytes, alignment, running_, at));
  fail_if(write(kWhat, to.at, bytes, running_, at));
  (void)memory_.write(Space::shared, static_cast<std::uint64_t>(to.at), value);  // checked above
}

std::byte* Block::global(const char* what, const calls::GlobalView& view, std::int64_t bytes,
                         std::size_t alignment, Place at) {
  running().last = at;
  const auto fault = [&](Error error) {
    Fault out = fault_of(running_, at, std::move(error));
    out.address = {Space::global, view.at};
    fail(std::move(out));
  };
  if (view.at < 0 || view.at > view.size - bytes)
    fault(
        {Errc::address_out_of_bounds, what, bytes_from(bytes, view.at), has_bytes("the array", 0, view.size)});
  if (!is_multiple(view.at, alignment)) fault(misaligned(what, view.at, alignment));
  return view.base + view.at;
}

// PTX manual, "cp.async": the source is read and the destination written at some time before the copy is
// waited for. Here the source is read at the call and the destination written at the wait.
void Block::copy_async(const char* form, const calls::SharedView& to, const calls::GlobalView& from, int size,
                       int bytes, Place at) {
  const auto alignment = static_cast<std::size_t>(size);
  if (bytes < 0 || bytes > size)
    fail(fault_of(
        running_, at,
        {Errc::undefined_operand, form, fmt::format("src-size {}", bytes), fmt::format("0 to {}", size)}));
  AsyncCopy copy{to.at, size, {}, at, running().group};
  const std::byte* source = global(form, from, bytes, alignment, at);
  fail_if(check_shared(form, to, size, alignment, running_, at));
  fail_if(write(form, to.at, size, running_, at, Accesses::Written::pending));
  if (bytes > 0) std::memcpy(copy.bytes.data(), source, static_cast<std::size_t>(bytes));
  running().copies.push_back(copy);
}

// Completes the oldest groups of the running thread.
void Block::complete(unsigned groups) {
  std::vector<AsyncCopy>& copies = running().copies;
  const auto end = std::ranges::find_if(copies, [&](const AsyncCopy& c) { return c.group >= groups; });
  for (auto c = copies.begin(); c != end; ++c) {
    const auto bytes = std::span(c->bytes).first(static_cast<std::size_t>(c->size));
    accesses_.settle(c->to, c->size, running_, c->at, order_);  // conflicting accesses have been refused before
    (void)memory_.write(Space::shared, static_cast<std::uint64_t>(c->to), bytes);
  }
  copies.erase(copies.begin(), end);
}

void Block::commit_group(Place at) {
  running().last = at;
  ++running().group;
}

void Block::wait_group(unsigned pending, Place at) {
  running().last = at;
  if (running().group > pending) complete(running().group - pending);
}

void Block::wait_all(Place at) {
  commit_group(at);
  wait_group(0, at);
}

std::uint64_t Block::matrix_descriptor(const calls::SharedView& start, const Descriptor& fields, Place at) {
  constexpr auto kWhat = "matrix_descriptor";
  running().last = at;
  fail_if(check_shared(kWhat, start, 16, 16, running_, at));
  const Result<std::uint64_t> bits = fields.encode();
  if (!bits) fail(fault_of(running_, at, bits.error()));
  return *bits;
}

void Block::fence_proxy(const char* form, Place at) {
  running().last = at;
  const Result<Instruction>& instruction = worker_.instruction(form, -1);
  if (!instruction) fail(fault_of(running_, at, instruction.error()));
  order_.fence(running_);
}

// Whether a pending product reads bytes that are about to be written.
std::optional<Fault> Block::overwritten(std::string_view what, std::int64_t first, std::int64_t bytes,
                                        int thread, Place at) {
  const ByteRange range{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(first + bytes - 1)};
  for (const std::unique_ptr<Warpgroup>& g : groups_) {
    if (!g || !g->async.is_pending()) continue;
    if (const auto found = g->async.check_store({what}, range))
      return violated(fault_of(thread, at, {}), *found);
  }
  return std::nullopt;
}

}  // namespace warpbit::device
