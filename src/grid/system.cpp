// SPDX-License-Identifier: Apache-2.0
// The functions that a device has by itself (CUDA C++ Programming Guide, "Formatted Output", "Dynamic Global Memory
// Allocation and Operations", "Assertion"). Their arguments lie in the caller's local memory.
#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstring>

#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {
namespace {

std::uint64_t argument(Warp& warp, const Path& path, const Call& call, std::size_t i, int lane) {
  const Call::Copy& copy = call.arguments[i];
  std::uint64_t out = 0;
  std::memcpy(&out, warp.local(lane, path.local + copy.from, copy.bytes),
              static_cast<std::size_t>(std::min<std::int64_t>(copy.bytes, 8)));
  return out;
}
void set_result(Warp& warp, const Path& path, const Call& call, int lane, std::uint64_t value) {
  if (call.results.empty()) return;
  const Call::Copy& copy = call.results.front();
  std::memcpy(warp.local(lane, path.local + copy.to, copy.bytes), &value,
              static_cast<std::size_t>(std::min<std::int64_t>(copy.bytes, 8)));
}

/// Bytes at a generic address; nullptr if there are none.
const std::byte* at(Warp& warp, int lane, std::uint64_t address, std::uint64_t bytes) {
  if (address - kLocalWindow < kWindowBytes)
    return warp.local(lane, static_cast<std::int64_t>(address - kLocalWindow),
                      static_cast<std::int64_t>(bytes));
  if (address - kSharedWindow < kWindowBytes) {
    const std::span<std::byte> shared = warp.block().shared();
    const std::uint64_t offset = address - kSharedWindow - warp.block().shared_base();
    return offset + bytes <= shared.size() ? shared.data() + offset : nullptr;
  }
  const GlobalMemory::Range* range = warp.block().grid().memory.find(address, bytes);
  return range == nullptr ? nullptr : range->data + (address - range->address);
}

std::string text(Warp& warp, int lane, std::uint64_t address) {
  std::string out;
  for (const std::byte* c = at(warp, lane, address, 1); c != nullptr && *c != std::byte{0};
       c = at(warp, lane, ++address, 1))
    out += static_cast<char>(*c);
  return out;
}

/// The arguments of a format, one after another, each at a multiple of its size.
class Arguments {
 public:
  Arguments(Warp& warp, int lane, std::uint64_t address) : warp_(warp), lane_(lane), address_(address) {}
  std::uint64_t next(std::uint64_t bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    std::uint64_t out = 0;
    if (const std::byte* data = at(warp_, lane_, address_ + offset_, bytes)) std::memcpy(&out, data, bytes);
    offset_ += bytes;
    return out;
  }

 private:
  Warp& warp_;
  int lane_;
  std::uint64_t address_, offset_ = 0;
};

// One conversion, by the C library: `%[flags][width][.precision][length]type`.
std::string converted(std::string specification, char type, bool is_long, Arguments& arguments, Warp& warp,
                      int lane) {
  char out[512];
  int length = 0;
  switch (type) {
    case 'd':
    case 'i': {
      const std::uint64_t value = arguments.next(is_long ? 8 : 4);
      const long long number =
          is_long ? static_cast<long long>(value) : static_cast<int>(static_cast<std::uint32_t>(value));
      length = std::snprintf(out, sizeof out, (specification + "ll" + type).c_str(), number);
      break;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      length = std::snprintf(out, sizeof out, (specification + "ll" + type).c_str(),
                             static_cast<unsigned long long>(arguments.next(is_long ? 8 : 4)));
      break;
    case 'c':
      length =
          std::snprintf(out, sizeof out, (specification + type).c_str(), static_cast<int>(arguments.next(4)));
      break;
    case 'p':
      length = std::snprintf(out, sizeof out, "%#llx", static_cast<unsigned long long>(arguments.next(8)));
      break;
    case 's':
      length = std::snprintf(out, sizeof out, (specification + type).c_str(),
                             text(warp, lane, arguments.next(8)).c_str());
      break;
    default:
      length = std::snprintf(out, sizeof out, (specification + type).c_str(),
                             std::bit_cast<double>(arguments.next(8)));
  }
  return std::string(out, static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(sizeof out) - 1)));
}

std::string formatted(Warp& warp, int lane, const std::string& format, std::uint64_t list, int& count) {
  std::string out;
  Arguments arguments(warp, lane, list);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string specification = "%";
    bool is_long = false;
    for (++i; i < format.size() &&
              std::string_view("-+ #0123456789.*lhzjtL").find(format[i]) != std::string_view::npos;
         ++i) {
      if (format[i] == 'l' || format[i] == 'z' || format[i] == 'j' || format[i] == 't')
        is_long = true;
      else if (format[i] == '*')
        specification += std::to_string(static_cast<int>(arguments.next(4)));
      else if (format[i] != 'h' && format[i] != 'L')
        specification += format[i];
    }
    if (i >= format.size()) break;
    if (format[i] == '%') {
      out += '%';
      continue;
    }
    out += converted(std::move(specification), format[i], is_long, arguments, warp, lane);
    ++count;
  }
  return out;
}

template <class F>
Next each_lane(Warp& warp, Path& path, const Step& step, Lanes lanes, F f) {
  const Call& call = warp.program().calls[static_cast<std::size_t>(step.extra)];
  for (int lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1) != 0) f(call, lane);
  static_cast<void>(path);
  return Next::step;
}

Next print(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  return each_lane(warp, path, step, lanes, [&](const Call& call, int lane) {
    int count = 0;
    const std::string out = formatted(warp, lane, text(warp, lane, argument(warp, path, call, 0, lane)),
                                      argument(warp, path, call, 1, lane), count);
    warp.block().printed += out;
    set_result(warp, path, call, lane, static_cast<std::uint64_t>(count));
  });
}

Next allocate(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  return each_lane(warp, path, step, lanes, [&](const Call& call, int lane) {
    set_result(warp, path, call, lane, warp.block().grid().heap->allocate(argument(warp, path, call, 0, lane)));
  });
}

Next release(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Call& call = warp.program().calls[static_cast<std::size_t>(step.extra)];
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
  const Call& call = warp.program().calls[static_cast<std::size_t>(step.extra)];
  const int lane = std::countr_zero(lanes);
  const std::string message = text(warp, lane, argument(warp, path, call, 0, lane)),
                    file = text(warp, lane, argument(warp, path, call, 1, lane)),
                    function = text(warp, lane, argument(warp, path, call, 3, lane));
  return warp.fault(path, lanes,
                    {Errc::assertion,
                     fmt::format("{}:{}: {}", file, argument(warp, path, call, 2, lane), function),
                     message,
                     {}});
}

struct System {
  std::string_view name;
  Run run;
};
constexpr System kSystem[] = {
    {"vprintf", print}, {"malloc", allocate}, {"free", release}, {"__assertfail", fail}};

}  // namespace

Run system_call(std::string_view name) {
  for (const System& one : kSystem)
    if (one.name == name) return one.run;
  return nullptr;
}

}  // namespace warpbit::grid::steps
