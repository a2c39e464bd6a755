// SPDX-License-Identifier: Apache-2.0
// Registers that asynchronous products use, and their accesses.
#include <fmt/format.h>

#include <algorithm>
#include <exception>  // std::uncaught_exceptions
#include <utility>

#include "device/block.hpp"

namespace warpbit::device {
namespace {

constexpr std::uint64_t kProduct = std::uint64_t{1} << 63;
constexpr int kPlaceBits = 16;

}  // namespace

int RegisterStack::push(int bottom, int count, Place made) {
  const int first = parts_.empty() ? bottom : parts_.back().first + parts_.back().count;
  parts_.push_back({first, count, made});
  return first;
}

void RegisterStack::release(int first) {
  for (Part& part : parts_)
    if (part.first == first) part.alive = false;
  while (!parts_.empty() && !parts_.back().alive) parts_.pop_back();
}

const RegisterStack::Part* RegisterStack::find(int reg) const {
  const auto part = std::ranges::find_if(
      parts_, [&](const Part& p) { return p.alive && reg >= p.first && reg < p.first + p.count; });
  return part == parts_.end() ? nullptr : &*part;
}

Warpgroup::Warpgroup(AsyncState::RegisterName name)
    : registers(kWarpgroup, kFragments), async(kFragments, std::move(name)) {}

void Warpgroup::reserve(int count) {
  if (count <= registers.registers()) return;
  Registers wider(kWarpgroup, 2 * count);
  for (int lane = 0; lane < kWarpgroup; ++lane)
    for (int reg = 0; reg < registers.registers(); ++reg) wider.write(lane, reg, registers.read(lane, reg));
  registers = std::move(wider);
  async.grow(registers.registers());
}

Warpgroup& Block::group(int number) {
  std::unique_ptr<Warpgroup>& out = groups_[static_cast<std::size_t>(number)];
  if (!out) out = std::make_unique<Warpgroup>([this, number](int reg) { return register_name(number, reg); });
  return *out;
}

// For the running thread, or for the first one of another warpgroup.
std::string Block::register_name(int number, int reg) {
  Thread& owner = running_ / kWarpgroup == number ? running() : thread(number * kWarpgroup);
  const RegisterStack::Part* part = owner.registers.find(reg);
  if (part == nullptr) return fmt::format("register {}", reg);
  return fmt::format("register {} of the fragment of line {}", reg - part->first, part->made.line);
}

// A product's actor stands for all lanes of the warpgroup.
std::uint64_t Block::actor(int thread, Place at, bool is_product) {
  return (is_product ? kProduct : 0) | static_cast<std::uint64_t>(thread) << kPlaceBits | accesses_.number(at);
}

Fault::Side Block::side(std::uint64_t actor) const {
  const int thread = static_cast<int>((actor & ~kProduct) >> kPlaceBits);
  const Place at = accesses_.place(static_cast<std::uint16_t>(actor));
  if ((actor & kProduct) != 0) return {thread / kWarp, lanes_of(kAllLanes), at, kGroupWarps};
  return {thread / kWarp, {thread % kWarp}, at};
}

Fault Block::violated(Fault fault, const AsyncViolation& violation) {
  fault.error = violation.error;
  if (violation.other) fault.other = side(*violation.other);
  if (violation.bytes) fault.address = {Space::shared, static_cast<std::int64_t>(violation.bytes->first)};
  return fault;
}

int Block::make_registers(int count, Place at) {
  running().last = at;
  const int first = running().registers.push(Warpgroup::kFragments, count, at);
  Warpgroup& g = group(running_ / kWarpgroup);
  g.reserve(first + count);
  Effects zeros;
  for (int reg = first; reg < first + count; ++reg) zeros.writes.push_back({running_ % kWarpgroup, reg, 0});
  (void)g.async.apply({{}, actor(running_, at)}, std::move(zeros), g.registers);
  return first;
}

void Block::release_registers(int first, int count, Place made) {
  if (!unwinding_ && !fault_ && std::uncaught_exceptions() == 0)
    if (const auto found =
            group(running_ / kWarpgroup).async.check_release({"end of an AsyncFragment"}, first, count))
      fault_ = violated(fault_of(running_, made, {}), *found);
  running().registers.release(first);
}

void Block::access_register(const calls::RegisterView& view, Effects effects, const char* who, Place at) {
  running().last = at;
  if (view.at < 0 || view.at >= view.count)
    fail(fault_of(running_, at,
                  {Errc::address_out_of_bounds, who, fmt::format("register {}", view.at),
                   fmt::format("it has {}", view.count)}));
  Warpgroup& g = group(running_ / kWarpgroup);
  const AsyncActor actor_now{who, actor(running_, at)};
  if (const auto found = g.async.check(actor_now, effects, {}))
    fail(violated(fault_of(running_, at, {}), *found));
  (void)g.async.apply(actor_now, std::move(effects), g.registers);
}

std::uint32_t Block::read_register(const calls::RegisterView& from, Place at) {
  const int reg = from.first + static_cast<int>(from.at);
  Effects effects;
  effects.reads = {reg};
  access_register(from, std::move(effects), "read of an AsyncFragment", at);
  return static_cast<std::uint32_t>(group(running_ / kWarpgroup).registers.read(running_ % kWarpgroup, reg));
}

void Block::write_register(const calls::RegisterView& to, std::uint32_t value, Place at) {
  Effects effects;
  effects.writes = {{running_ % kWarpgroup, to.first + static_cast<int>(to.at), value}};
  access_register(to, std::move(effects), "write to an AsyncFragment", at);
}

}  // namespace warpbit::device
