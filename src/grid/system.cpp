// SPDX-License-Identifier: Apache-2.0
// The functions that a device has by itself (CUDA C++ Programming Guide, "Formatted Output", "Dynamic Global Memory
// Allocation and Operations", "Assertion"). Their arguments lie in the caller's local memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "grid/printed.hpp"
#include "grid/records.hpp"
#include "threads.hpp"

namespace warpbit::grid::steps {
namespace {

std::uint64_t argument(Warp& warp, const Path& path, const Call& call, std::size_t i, int lane) {
  const Call::Copy& copy = call.arguments[i];
  std::uint64_t out = 0;
  std::memcpy(&out, warp.local(lane, path.local + copy.from, copy.bytes), static_cast<std::size_t>(copy.bytes));
  return out;
}
void set_result(Warp& warp, const Path& path, const Call& call, int lane, std::uint64_t value) {
  const Call::Copy& copy = call.results.front();
  std::memcpy(warp.local(lane, path.local + copy.to, copy.bytes), &value, static_cast<std::size_t>(copy.bytes));
  if (std::byte* const bits = warp.defined(lane, path.local + copy.to, copy.bytes))
    std::memset(bits, 0xFF, static_cast<std::size_t>(copy.bytes));
}

/// Reads memory by generic addresses of one lane. After a fault there is nothing more.
class Reader {
 public:
  Reader(Warp& warp, const Path& path, const Step& step, int lane)
      : warp_(warp), path_(path), step_(step), lane_(lane) {}

  bool has_failed() const { return failed_; }
  std::uint64_t number(std::uint64_t address, std::uint64_t bytes) {
    std::uint64_t out = 0;
    if (failed_) return out;
    const Target from = find(address, bytes);
    if (from.data == nullptr)
      fail(address, bytes);
    else if (read(from, bytes))
      std::memcpy(&out, from.data, bytes);
    return out;
  }
  /// Up to its zero, and no more than `most` bytes.
  std::string text(std::uint64_t address, std::size_t most) {
    std::string out;
    std::uint64_t part = 64;  // at once, where they lie
    while (!failed_ && out.size() < most) {
      const std::uint64_t bytes = std::min<std::uint64_t>(part, most - out.size());
      const Target from = find(address + out.size(), bytes);
      const bool is_known = from.space != ptx::StateSpace::shared && from.defined == nullptr;
      if (part > 1 && (from.data == nullptr || !is_known)) {
        part = 1;
        continue;
      }
      if (from.data == nullptr) return fail(address, out.size() + 1), out;
      if (!read(from, bytes)) return out;
      const std::byte* const end = std::find(from.data, from.data + bytes, std::byte{0});
      out.append(reinterpret_cast<const char*>(from.data), static_cast<std::size_t>(end - from.data));
      if (end != from.data + bytes) return out;
    }
    return out;
  }

 private:
  /// No data if there are no such bytes.
  Target find(std::uint64_t address, std::uint64_t bytes) {
    if (address - kLocalWindow < kWindowBytes) return local_bytes(warp_, lane_, address - kLocalWindow, bytes);
    if (address - kSharedWindow < kWindowBytes) {
      const auto found = find_shared(warp_, step_, lane_, address - kSharedWindow, bytes, true);
      if (!found) return {};
      return {found->block->shared().data() + found->offset, ptx::StateSpace::shared, found->block};
    }
    const GlobalMemory::Range* range = warp_.block().grid().memory.find(address, bytes);
    return {range == nullptr ? nullptr : range->data + (address - range->address)};
  }
  bool read(const Target& from, std::uint64_t bytes) {
    failed_ = !Records(warp_, step_).reads(lane_, from, bytes);
    return !failed_;
  }
  void fail(std::uint64_t address, std::uint64_t bytes) {
    failed_ = true;
    if (!warp_.block().has_fault())
      warp_.fault(path_, Lanes{1} << lane_,
                  {Errc::address_out_of_bounds,
                   {},
                   fmt::format("{} bytes from {:#x} on", bytes, address),
                   "no text and no argument lies there"});
  }

  Warp& warp_;
  const Path& path_;
  const Step& step_;
  int lane_;
  bool failed_ = false;
};

/// The arguments of a format, one after another, each at a multiple of its size.
PrintArguments arguments_at(Reader& reader, std::uint64_t list) {
  return {[&reader, list, offset = std::uint64_t{0}](std::uint64_t bytes) mutable {
            offset = (offset + bytes - 1) / bytes * bytes + bytes;
            return reader.number(list + offset - bytes, bytes);
          },
          [&reader](std::uint64_t address, std::size_t most) {
            return address == 0 ? "(null)" : reader.text(address, most);
          }};
}

const Call& call_of(const Warp& warp, const Step& step) {
  return warp.program().calls[static_cast<std::size_t>(step.extra)];
}

// Whether all arguments have been written. False after a fault.
bool has_arguments(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  const Call& call = call_of(warp, step);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto from = static_cast<std::uint64_t>(path.local + call.arguments[i].from);
    const auto bytes = static_cast<std::uint64_t>(call.arguments[i].bytes);
    Lanes without = 0;
    for_each_lane(lanes, [&](int lane) {
      without |= Lanes{!local_bytes(warp, lane, from, bytes).is_written(bytes)} << lane;
    });
    if (without == 0) continue;
    Fault out = block::fault_of(Block::who(warp, step, 0),
                                {Errc::never_written,
                                 {},
                                 fmt::format("argument {} has never been written", i + 1),
                                 "it must be written before the call"},
                                KernelRule::never_written);
    out.lanes = block::lanes_of(without);
    if (!warp.block().allows(std::move(out))) return false;
  }
  return true;
}

// The result is the number of conversions; -1 without a format.
Next print(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (!has_arguments(warp, path, step, lanes)) return Next::end;
  const Call& call = call_of(warp, step);
  std::array<int, kLanes> counts = {};
  Printed all;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    end_if(warp.block().grid().stop);
    int& count = counts[static_cast<std::size_t>(lane)];
    const std::uint64_t format = argument(warp, path, call, 0, lane);
    if (format == 0) {
      count = -1;
      continue;
    }
    Reader reader(warp, path, step, lane);
    const std::string text = reader.text(format, Printed::kBytes);
    all.add(printed(text, arguments_at(reader, argument(warp, path, call, 1, lane)), count));
    if (reader.has_failed()) return Next::end;
  }
  for_each_lane(lanes, [&](int lane) {
    set_result(warp, path, call, lane, static_cast<std::uint64_t>(counts[static_cast<std::size_t>(lane)]));
  });
  warp.block().printed.add(all);
  return Next::step;
}

Next allocate(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (!has_arguments(warp, path, step, lanes)) return Next::end;
  const Call& call = call_of(warp, step);
  for_each_lane(lanes, [&](int lane) {
    set_result(warp, path, call, lane, warp.block().grid().heap->allocate(argument(warp, path, call, 0, lane)));
  });
  return Next::step;
}

Next release(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (!has_arguments(warp, path, step, lanes)) return Next::end;
  const Call& call = call_of(warp, step);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t address = argument(warp, path, call, 0, lane);
    if (address != 0 && !warp.block().grid().heap->release(address))
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::address_out_of_bounds, "free", fmt::format("the bytes from {:#x} on", address),
                         "malloc has returned no such address, or it has been freed"});
  }
  return Next::step;
}

Next fail(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Call& call = call_of(warp, step);
  const int lane = std::countr_zero(lanes);
  Reader reader(warp, path, step, lane);
  const auto text = [&](std::size_t i) {
    const std::uint64_t address = argument(warp, path, call, i, lane);
    return address == 0 ? "(null)" : reader.text(address, Printed::kBytes);
  };
  const std::string message = text(0), file = text(1), function = text(3);
  if (reader.has_failed()) return Next::end;
  const auto line = static_cast<std::uint32_t>(argument(warp, path, call, 2, lane));
  return warp.fault(path, lanes,
                    {Errc::assertion, fmt::format("{}:{}: {}", file, line, function), message, {}});
}

// An address, a number of bytes; a number of 32 bits.
constexpr std::int64_t kAddress = 8, kWord = 4;
constexpr std::int64_t kOfPrint[] = {kAddress, kAddress}, kOfAllocate[] = {kAddress}, kOfFree[] = {kAddress},
                       kOfFail[] = {kAddress, kAddress, kWord, kAddress, kAddress}, kPrints[] = {kWord},
                       kAllocates[] = {kAddress};
constexpr SystemFunction kSystem[] = {
    {"vprintf", print, kPrints, kOfPrint},
    {"malloc", allocate, kAllocates, kOfAllocate, true},
    {"free", release, {}, kOfFree, true},
    {"__assertfail", fail, {}, kOfFail},
};

}  // namespace

const SystemFunction* system_function(std::string_view name) {
  const auto found = std::ranges::find(kSystem, name, &SystemFunction::name);
  return found == std::end(kSystem) ? nullptr : found;
}

}  // namespace warpbit::grid::steps
