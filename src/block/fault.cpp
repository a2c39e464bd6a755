// SPDX-License-Identifier: Apache-2.0
#include "block/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/checks.hpp"
#include "function_name.hpp"

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

std::string lanes_text(const std::vector<int>& lanes) {
  return fmt::format("{} {}", lanes.size() == 1 ? "lane" : "lanes", ranges(lanes));
}
std::string lanes_text(std::uint32_t mask) {
  return lanes_text(lanes_of(mask));
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

FaultSide side_of(Who who, std::string what) {
  FaultSide out{who.thread / kWarp, {who.thread % kWarp}, who.at};
  out.what = std::move(what);
  return out;
}

FaultSide side_of_warp(Who who, std::string what) {
  FaultSide out = side_of(who, std::move(what));
  out.lanes = lanes_of(kAllLanes);
  return out;
}

void add_flag(Fault& fault, const std::optional<Flaw>& flaw) {
  if (!flaw) return;
  for (const FlagUse* use : {&flaw->write, &flaw->read})
    if (use->thread >= 0 && use->cluster == flaw->read.cluster)
      fault.related.push_back(side_of({use->thread, use->at}, flag_text(*flaw, *use)));
}

Fault told_at_cause(Fault fault, Who who, Error cause) {
  Error then = fault.error;
  then.accepted.clear();
  Fault out = fault_of(who, std::move(cause), fault.rule);
  out.address = fault.address;
  out.waiting = std::move(fault.waiting);
  out.related = std::move(fault.related);
  out.other = static_cast<FaultSide&>(fault);
  out.other->what = "what comes of it: " + then.message();
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

std::vector<FaultWaiters> merged(const std::vector<FaultWaiters>& all) {
  const auto at_one_place = [](const FaultWaiters& x, const FaultWaiters& y) {
    return x.lanes == y.lanes && x.statement == y.statement && x.awaits == y.awaits && x.at == y.at &&
           x.ptx_line == y.ptx_line;
  };
  std::vector<FaultWaiters> of_blocks, out;
  for (const FaultWaiters& one : all) {
    const auto same = std::ranges::find_if(of_blocks, [&](const FaultWaiters& other) {
      return other.blocks == one.blocks && at_one_place(other, one);
    });
    same == of_blocks.end() ? of_blocks.push_back(one) : same->warps.push_back(one.warps.front());
  }
  for (const FaultWaiters& one : of_blocks) {
    const auto same = std::ranges::find_if(
        out, [&](const FaultWaiters& other) { return other.warps == one.warps && at_one_place(other, one); });
    same == out.end() ? out.push_back(one) : same->blocks.push_back(one.blocks.front());
  }
  return out;
}

Fault deadlock(const Cause& cause, const std::vector<FaultWaiters>& waiting) {
  std::size_t warps = 0;
  std::vector<FaultWaiters> rows = merged(waiting);
  for (const FaultWaiters& row : rows) warps += row.warps.size() * row.blocks.size();
  std::ranges::stable_partition(rows, [&](const FaultWaiters& row) { return row.at == cause.who.at; });
  std::string seen = fmt::format("no thread can go on ({} warp{} at {} place{})", warps,
                                 warps == 1 ? " waits" : "s wait", rows.size(), rows.size() == 1 ? "" : "s");
  if (!cause.what.empty()) seen += ": " + cause.what;
  Fault out = fault_of(cause.who, {Errc::deadlock, {}, std::move(seen), cause.accepted});
  if (cause.lanes != 0) out.lanes = lanes_of(cause.lanes);
  out.what = cause.label;
  out.waiting = std::move(rows);
  return out;
}

Found check_bytes(std::string_view what, Space space, const View& array, std::int64_t bytes,
                  std::size_t alignment, Who who) {
  const bool inside = array.at >= array.first && array.at <= array.last - bytes;
  if (inside && array.at % static_cast<std::int64_t>(alignment) == 0) return std::nullopt;
  Fault out = fault_of(
      who, {Errc::address_misaligned, std::string(what), fmt::format("address {}", address_text(array.at)),
            fmt::format("it must be a multiple of {}", alignment)});
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

namespace {

// Of one side: where in its source, where in the PTX.
std::string place_text(const auto& side) {
  std::string out;
  if (!side.chain.empty())
    out += own_lines(side.chain, static_cast<int>(side.at.line)) + ": ";
  else if (side.at.line != 0)
    out += fmt::format("{}:{}: ", side.at.file, side.at.line);
  if (side.ptx_line != 0) out += fmt::format("PTX line {}: ", side.ptx_line);
  return out;
}
std::string block_text(const device::Index3& block) {
  return fmt::format("({}, {}, {})", block.x, block.y, block.z);
}
std::string helpers_text(const std::vector<SourceLink>& chain) {
  const std::string out = others_lines(chain);
  return out.empty() ? out : "\n    " + out;
}

// "block (1, 0, 0), warps 0-2, lanes 0-15"
std::string who_text(const FaultWaiters& row, bool with_block) {
  std::string out;
  if (with_block) {
    out = row.blocks.size() == 1 ? "block " : "blocks ";
    for (const device::Index3& block : row.blocks)
      out += (&block == row.blocks.data() ? "" : ", ") + block_text(block);
    out += ", ";
  }
  out += fmt::format("{} {}", row.warps.size() == 1 ? "warp" : "warps", ranges(row.warps));
  if (!row.lanes.empty()) out += ", " + block::lanes_text(row.lanes);
  return out;
}

// A row for those that wait alike: who, where, and for what; below it what else is to say of that.
std::string table(const std::vector<FaultWaiters>& waiting, bool with_blocks) {
  std::size_t who = 0, where = 0;
  const auto place = [](const FaultWaiters& row) { return place_text(row) + row.statement; };
  for (const FaultWaiters& row : waiting) {
    who = std::max(who, who_text(row, with_blocks).size());
    where = std::max(where, place(row).size());
  }
  std::string out;
  for (const FaultWaiters& row : waiting) {
    std::string awaits = row.awaits;
    for (std::size_t at = 0; (at = awaits.find("; ", at)) != awaits.npos;) awaits.replace(at, 2, "\n    ");
    std::string line =
        fmt::format("\n  {:<{}}  {:<{}}  {}", who_text(row, with_blocks), who, place(row), where, awaits);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + helpers_text(row.chain);
  }
  return out;
}

}  // namespace

std::string Fault::message() const {
  const auto side = [](const FaultSide& s, bool with_lanes) {
    std::string out = "\n  " + place_text(s);
    if (s.elsewhere) out += fmt::format("block {}, ", block_text(*s.elsewhere));
    out += s.warps == 1 ? fmt::format("warp {}", s.warp)
                        : fmt::format("warps {}-{}", s.warp, s.warp + s.warps - 1);
    if (with_lanes && !s.lanes.empty()) out += ", " + block::lanes_text(s.lanes);
    if (!s.what.empty()) out += ": " + s.what;
    return out + helpers_text(s.chain);
  };
  std::string out = error.message();
  if (lanes.empty()) return out;  // not caused by a thread
  const bool missing = error.code == Errc::lanes_missing || error.code == Errc::lanes_disagree ||
                       error.code == Errc::threads_diverge;
  out += kernel.empty() ? "\n  " : fmt::format("\n  {}, ", function_name(kernel));
  out += fmt::format("block {}", block_text(block));
  if (address) out += fmt::format(", {} address {}", name(address->space), address_text(address->byte));
  if (address && !address->name.empty()) out += fmt::format(" ({})", address->name);
  if (address && address->elsewhere) out += fmt::format(" of block {}", block_text(*address->elsewhere));
  const auto waits_here = [&](const FaultWaiters& row) { return row.at == at && row.ptx_line == ptx_line; };
  if (std::ranges::none_of(waiting, waits_here)) out += side(*this, !(missing && other));
  if (other) out += side(*other, true);
  const auto is_elsewhere = [&](const FaultWaiters& row) {
    return row.blocks.size() > 1 || row.blocks.front() != block;
  };
  out += table(waiting, std::ranges::any_of(waiting, is_elsewhere));
  for (const FaultSide& one : related) out += side(one, true);
  return out;
}

block::Found block::first_of(Found one, Found other) {
  const bool ends = other && other->rule == KernelRule::none;
  return one && !ends ? one : other;
}

}  // namespace warpbit
