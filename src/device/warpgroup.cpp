// SPDX-License-Identifier: Apache-2.0
// Joint actions of the four warps of a warpgroup.
#include "device/warpgroup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/checks.hpp"
#include "device/block.hpp"
#include "isa/instruction.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace warpbit::device {
namespace {

bool same_operands(const calls::WarpgroupProduct& x, const calls::WarpgroupProduct& y) {
  return x.d == y.d && x.a == y.a && x.b == y.b && x.scale_d == y.scale_d;
}

// The registers of the operands.
Binding binding_of(const Instruction& instruction, const calls::WarpgroupProduct& product) {
  Binding out;
  for (const Operand& operand : instruction.operands()) {
    const bool in_registers = operand.kind != OperandKind::descriptor;
    switch (operand.part) {
      case Part::d: out.push_back(product.d); break;
      case Part::a: out.push_back(in_registers ? static_cast<int>(product.a) : Warpgroup::kDescriptorA); break;
      case Part::b: out.push_back(Warpgroup::kDescriptorB); break;
      default: out.push_back(Warpgroup::kScaleD); break;  // immediates are not bound
    }
  }
  return out;
}

// The last byte that a product would read, for the first factor that exceeds the memory.
std::optional<std::int64_t> beyond(const Instruction& instruction, const calls::WarpgroupProduct& product,
                                   std::uint64_t bytes) {
  const Tile& tile = std::get<Tile>(instruction.decoded().kernel);
  for (const auto& [factor, descriptor] :
       {std::pair(tile.b_described, product.b), std::pair(tile.a_described, product.a)})
    if (factor && described_end(Descriptor::decode(descriptor), *factor) > bytes)
      return static_cast<std::int64_t>(described_end(Descriptor::decode(descriptor), *factor) - 1);
  return std::nullopt;
}

}  // namespace

// Records a read by all lanes. Lanes of two warps represent the rest: without a barrier, a lane's write must
// not be read by any lane of another warp.
std::optional<Fault> Block::read_as_group(int number, std::string_view what, const Effects::MemoryRead& bytes,
                                          Place at) {
  const int first = number * kWarpgroup, second = first + kWarp;
  for (const int reader : {first, second}) {
    const auto found = accesses_.read(static_cast<std::int64_t>(bytes.address),
                                      static_cast<std::int64_t>(bytes.bytes), reader, at, order_);
    if (!found) continue;
    const bool by_first_warp = found->before && found->before->thread / kWarp == first / kWarp;
    return by_group(number, conflict(what, *found, by_first_warp ? second : first, at));
  }
  return std::nullopt;
}

// ---- Meeting

Fault Block::by_group(int number, Fault fault) const {
  fault.warp = number * kGroupWarps;
  fault.warps = kGroupWarps;
  fault.lanes = lanes_of(kAllLanes);
  return fault;
}

Fault Block::fault_of_group(int number, Error error) {
  return by_group(number, fault_of(number * kWarpgroup, request(number, 0).at, std::move(error)));
}

bool Block::meet_warpgroup(int number) {
  const int first = number * kWarpgroup;
  if (static_cast<int>(threads_.size()) < first + kWarpgroup || thread(first).state != Thread::State::waits)
    return false;
  const Request& wanted = request(number, 0);
  const auto lanes = std::span(threads_).subspan(static_cast<std::size_t>(first), kWarpgroup);
  if (!std::ranges::all_of(lanes, [&](const Thread& t) {
        return t.state == Thread::State::waits && t.request->is_same(wanted);
      }))
    return false;
  const Result<Instruction>& instruction = worker_.instruction(wanted.name, -1);
  std::optional<Fault> fault;
  if (!instruction)
    fault = fault_of_group(number, instruction.error());
  else if (wanted.product != nullptr)
    fault = multiply(number, *instruction);
  else
    control(number, *instruction);
  if (fault && fault->error.code == Errc::never_written) {
    if (!stuck_) stuck_ = std::move(fault);
    for (Thread& t : lanes) t.state = Thread::State::stuck;
    return false;
  }
  if (fault) {
    fault_ = std::move(fault);
    return false;
  }
  for (Thread& t : lanes) t.state = Thread::State::ready;
  return true;
}

// The fault if some lanes' operands differ from those of lane 0: registers, which one instruction names for
// all.
std::optional<Fault> Block::disagreeing(int number, const Instruction& instruction) {
  const bool described = instruction.find(Part::a)->kind == OperandKind::descriptor;
  const calls::WarpgroupProduct& first = *request(number, 0).product;
  for (int lane = 1; lane < kWarpgroup; ++lane) {
    const calls::WarpgroupProduct& one = *request(number, lane).product;
    if (one.d == first.d && (described || one.a == first.a)) continue;
    Fault out = fault_of(number * kWarpgroup + lane, request(number, lane).at,
                         {Errc::lanes_disagree, std::string(instruction.canonical()),
                          fmt::format("{} is another fragment in lane {} of warp {} than in lane 0 of warp {}",
                                      one.d == first.d ? "a" : "d", lane % kWarp,
                                      (number * kWarpgroup + lane) / kWarp, number * kGroupWarps),
                          "all lanes must give the same"});
    out.other = {number * kGroupWarps, {0}, request(number, 0).at};
    return out;
  }
  return std::nullopt;
}

// The fault for an error of execute_warp, with its lanes and address.
Fault Block::refused(int number, const Instruction& instruction, Error error) {
  const calls::WarpgroupProduct& product = *request(number, 0).product;
  Fault out = fault_of_group(number, std::move(error));
  if (out.error.code == Errc::address_out_of_bounds)
    out.address = {Space::shared, *beyond(instruction, product, memory_.shared_bytes())};
  if (out.error.code != Errc::lanes_disagree) return out;
  for (int warp = out.warp; warp < number * kGroupWarps + kGroupWarps; ++warp) {
    const std::uint32_t different =
        lanes_that(warp, [&](const Thread& t) { return !same_operands(*t.request->product, product); });
    if (different == 0) continue;
    out.other = {out.warp, {0}, out.at};
    out.warp = warp;
    out.warps = 1;
    out.lanes = lanes_of(different);
    return out;
  }
  return out;
}

std::optional<Fault> Block::multiply(int number, const Instruction& instruction) {
  if (auto fault = disagreeing(number, instruction)) return fault;
  Warpgroup& g = group(number);
  const Place at = request(number, 0).at;
  std::array<const Instruction*, kWarpgroup> lanes{};
  lanes.fill(&instruction);
  for (int lane = 0; lane < kWarpgroup; ++lane) {
    const calls::WarpgroupProduct& product = *request(number, lane).product;
    g.registers.write(lane, Warpgroup::kDescriptorA, product.a);
    g.registers.write(lane, Warpgroup::kDescriptorB, product.b);
    g.registers.write(lane, Warpgroup::kScaleD, product.scale_d ? 1 : 0);
  }
  ExecuteOptions options = how_.execute;
  options.threads = 1;
  Result<Effects> effects = execute_warp(lanes, binding_of(instruction, *request(number, 0).product),
                                         g.async.ahead(g.registers), memory_, options);
  if (!effects) return refused(number, instruction, effects.error());
  for (const Effects::MemoryRead& read : effects->memory_reads)
    if (auto fault = read_as_group(number, instruction.canonical(), read, at)) return fault;
  std::optional<Accesses::Unfenced> written;
  const auto unordered = [&](std::uint64_t address, std::uint64_t bytes) -> std::optional<ByteRange> {
    written = accesses_.unfenced(static_cast<std::int64_t>(address), static_cast<std::int64_t>(bytes),
                                 number * kWarpgroup, kWarpgroup, order_);
    if (!written) return std::nullopt;
    return ByteRange{static_cast<std::uint64_t>(written->first), static_cast<std::uint64_t>(written->last)};
  };
  const AsyncActor who{instruction.canonical(), actor(number * kWarpgroup, at, true)};
  if (const auto found = g.async.check(who, *effects, unordered)) {
    Fault out = violated(fault_of_group(number, {}), *found);
    if (written) out.other = side(actor(written->write.thread, written->write.at));
    return out;
  }
  inferred_ = inferred_ || effects->inferred;
  (void)g.async.apply(who, *std::move(effects), g.registers);
  return std::nullopt;
}

// A completed product has read its operands up to now.
void Block::control(int number, const Instruction& instruction) {
  Warpgroup& g = group(number);
  Effects effects;
  effects.control = std::get<Control>(instruction.decoded().kernel).control;
  for (const AsyncState::Product& complete :
       g.async.apply({instruction.canonical()}, std::move(effects), g.registers))
    for (const Effects::MemoryRead& read : complete.effects.memory_reads)
      (void)read_as_group(number, complete.text, read, side(complete.number).at);
}

// ---- Deadlocks of warps

// The fault if `first` waits for a warpgroup instruction that `warp` does not execute.
Fault Block::missing_warp(int first, int warp) {
  const Request& r = *thread(first).request;
  const auto together = [&](const Thread& t) {
    return t.state == Thread::State::waits && t.request->is_same(r);
  };
  std::vector<int> here;
  const int first_warp = first / kWarpgroup * kGroupWarps;
  for (int w = first_warp; w < first_warp + kGroupWarps; ++w)
    if (w * kWarp < static_cast<int>(threads_.size()) && lanes_that(w, together) != 0) here.push_back(w);
  Fault out = fault_of(first, r.at, {});
  const auto seen = [&](std::string_view what) {
    return fmt::format("executed by {} {}, but {}", here.size() == 1 ? "warp" : "warps", ranges(here), what);
  };
  const std::string must = "all four warps of the warpgroup must execute it, at one place";
  if (warp * kWarp >= static_cast<int>(threads_.size())) {
    out.error = {Errc::lanes_missing, std::string(r.form()), seen(fmt::format("there is no warp {}", warp)),
                 must};
    return out;
  }
  const std::uint32_t waiting =
      lanes_that(warp, [](const Thread& t) { return t.state == Thread::State::waits; });
  if (waiting == 0) {
    out.lanes = lanes_of(kAllLanes);
    out.other = {warp, out.lanes, lane(warp, 0).last};
    out.error = {Errc::lanes_missing, std::string(r.form()), seen(fmt::format("warp {} has ended", warp)),
                 must};
    return out;
  }
  out.lanes = lanes_of(waiting);
  const Request& one = *lane(warp, out.lanes.front()).request;
  out.other = {warp, out.lanes, one.at};
  out.error = {one.kind == Request::Kind::barrier ? Errc::threads_diverge : Errc::lanes_disagree,
               std::string(r.form()), seen(fmt::format("{} by warp {}", one.form(), warp)), must};
  return out;
}

// Called when no thread can proceed: finds a warpgroup whose instruction cannot complete.
void Block::check_warpgroups() {
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
    const Thread& t = thread(i);
    if (t.state != Thread::State::waits || t.request->kind != Request::Kind::warpgroup) continue;
    const int first_warp = i / kWarpgroup * kGroupWarps;
    for (int warp = first_warp; warp < first_warp + kGroupWarps; ++warp) {
      const bool is_there = warp * kWarp < static_cast<int>(threads_.size()) &&
                            lanes_that(warp, [&](const Thread& other) {
                              return other.state == Thread::State::waits && other.request->is_same(*t.request);
                            }) != 0;
      if (is_there) continue;
      fault_ = missing_warp(i, warp);
      return;
    }
  }
}

}  // namespace warpbit::device
