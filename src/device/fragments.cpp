// SPDX-License-Identifier: Apache-2.0
#include "device/fragments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>  // std::uncaught_exceptions
#include <utility>

#include "device/block.hpp"

namespace warpbit::device {

int RegisterStack::push(int count, Place made) {
  const int first = parts_.empty() ? kFragments : parts_.back().first + parts_.back().count;
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

// For the running thread, or for the first one of another warpgroup.
std::string Block::register_name(int group, int reg) const {
  const int owner = running_ / block::kWarpgroup == group ? running_ : group * block::kWarpgroup;
  const RegisterStack::Part* part = fragments_[static_cast<std::size_t>(owner)].find(reg);
  if (part == nullptr) return fmt::format("register {}", reg);
  return fmt::format("register {} of the fragment of line {}", reg - part->first, part->made.line);
}

namespace calls {
namespace {

// The registers of the running thread's warpgroup.
Registers& registers(Block& block) {
  return block.products.group(block.running() / block::kWarpgroup).registers;
}

int accessed(Block& block, const RegisterView& view, const char* what, bool reads, std::uint32_t value,
             Place at) {
  const block::Who who = block.who(at);
  if (view.at < 0 || view.at >= view.count)
    block.fail(block::fault_of(who, {Errc::address_out_of_bounds, what, fmt::format("register {}", view.at),
                                     fmt::format("it has {}", view.count)}));
  const int reg = view.first + static_cast<int>(view.at);
  Effects effects;
  if (reads)
    effects.reads = {reg};
  else
    effects.writes = {{who.thread % block::kWarpgroup, reg, value}};
  block.fail_if(block.products.access(what, std::move(effects), who));
  return reg;
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
  block.products.assign(std::move(zeros), who);
  return first;
}

void release_registers(int first, int count, Place made) noexcept {
  Block& block = current_block();
  block::Found& fault = block.meeting.fault();
  if (!block.is_unwinding() && !fault && std::uncaught_exceptions() == 0)
    fault = block.products.release("end of an AsyncFragment", first, count, {block.running(), made});
  block.fragments().release(first);
}

std::uint32_t read_register(const RegisterView& from, Place at) {
  Block& block = current_block();
  const int reg = accessed(block, from, "read of an AsyncFragment", true, 0, at);
  return static_cast<std::uint32_t>(registers(block).read(block.running() % block::kWarpgroup, reg));
}

void write_register(const RegisterView& to, std::uint32_t value, Place at) {
  (void)accessed(current_block(), to, "write to an AsyncFragment", false, value, at);
}

}  // namespace calls
}  // namespace warpbit::device
