// SPDX-License-Identifier: Apache-2.0
#include "block/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/checks.hpp"

namespace warpbit {
namespace {

// In hexadecimal, with its sign.
std::string address_text(std::int64_t address) {
  const auto bits = static_cast<std::uint64_t>(address);
  return fmt::format("{}{:#x}", address < 0 ? "-" : "", address < 0 ? 0 - bits : bits);
}

}  // namespace

namespace block {

std::vector<int> lanes_of(std::uint32_t mask) {
  std::vector<int> out;
  for (int lane = 0; lane < kWarp; ++lane)
    if ((mask >> lane & 1U) != 0) out.push_back(lane);
  return out;
}

Fault refused(Error error) {
  Fault out;
  out.error = std::move(error);
  return out;
}

Fault fault_of(Who who, Error error, KernelRule rule) {
  Fault out = refused(std::move(error));
  out.rule = rule;
  out.warp = who.thread / kWarp;
  out.lanes = {who.thread % kWarp};
  out.at = who.at;
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 8;
  std::string out = "0x";
  for (std::size_t i = std::min(bytes.size(), kMost); i-- > 0;)
    out += fmt::format("{:02x}", std::to_integer<int>(bytes[i]));
  return out;
}

bool is_worse(const Fault& one, const Fault& other) {
  const auto grade = [](const Fault& of) {
    const KernelRuleInfo* const found = find_info(of.rule);
    return found == nullptr ? Grade::fault : found->by_default;
  };
  return grade(one) > grade(other);
}

Fault of_group(int group, Fault fault) {
  fault.warp = group * kGroupWarps;
  fault.warps = kGroupWarps;
  fault.lanes = lanes_of(kAllLanes);
  return fault;
}

Found check_bytes(std::string_view what, Space space, const View& array, std::int64_t bytes,
                  std::size_t alignment, Who who) {
  const bool inside = array.at >= array.first && array.at <= array.last - bytes;
  if (inside && array.at % static_cast<std::int64_t>(alignment) == 0) return std::nullopt;
  Fault out = fault_of(
      who, {Errc::address_misaligned, std::string(what), fmt::format("address {}", address_text(array.at)),
            fmt::format("it must be a multiple of {} bytes", alignment)});
  if (!inside)
    out.error = {Errc::address_out_of_bounds, std::string(what),
                 fmt::format("{} bytes from {}", bytes, address_text(array.at)),
                 array.first == array.last
                     ? "the array has none"
                     : fmt::format("the array has {:#x} to {:#x}", array.first, array.last - 1)};
  out.address = {space, array.at};
  return out;
}

}  // namespace block

std::string text(const SourceLink& link) {
  constexpr std::size_t kMost = 60;
  std::string name = link.function;
  if (name.size() > kMost)  // what stands in <> of a template is most of it
    if (const std::size_t first = name.find('<'), last = name.rfind('>'); last != name.npos && first < last)
      name.replace(first + 1, last - first - 1, "...");
  return name.empty() ? fmt::format("at {}:{}", link.file, link.line)
                      : fmt::format("in {}() at {}:{}", name, link.file, link.line);
}

std::string Fault::message() const {
  const auto side = [](const FaultSide& s, bool with_lanes) {
    std::string out = "\n  ";
    if (s.at.line != 0) out += fmt::format("{}:{}: ", s.at.file, s.at.line);
    if (s.ptx_line != 0) out += fmt::format("PTX line {}: ", s.ptx_line);
    if (s.elsewhere) out += fmt::format("block ({}, {}, {}), ", s.elsewhere->x, s.elsewhere->y, s.elsewhere->z);
    out += s.warps == 1 ? fmt::format("warp {}", s.warp)
                        : fmt::format("warps {}-{}", s.warp, s.warp + s.warps - 1);
    if (with_lanes && !s.lanes.empty())
      out += fmt::format(", {} {}", s.lanes.size() == 1 ? "lane" : "lanes", ranges(s.lanes));
    for (std::size_t i = 1; i < s.chain.size(); ++i) out += "\n    " + text(s.chain[i]);
    return out;
  };
  std::string out = error.message();
  if (lanes.empty()) return out;  // not caused by a thread
  const bool missing = error.code == Errc::lanes_missing || error.code == Errc::lanes_disagree ||
                       error.code == Errc::threads_diverge;
  out += kernel.empty() ? "\n  " : fmt::format("\n  {}, ", kernel);
  out += fmt::format("block ({}, {}, {})", block.x, block.y, block.z);
  if (address) out += fmt::format(", {} address {}", name(address->space), address_text(address->byte));
  out += side(*this, !(missing && other));
  if (other) out += side(*other, true);
  return out;
}

}  // namespace warpbit
