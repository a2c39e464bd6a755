// SPDX-License-Identifier: Apache-2.0
#include "block/products.hpp"

#include <utility>

#include "isa/instruction.hpp"

namespace warpbit::block {

Products::Products(int threads, Shared& shared, Name name, Ordered ordered)
    : shared_(shared),
      name_(std::move(name)),
      ordered_(std::move(ordered)),
      groups_(static_cast<std::size_t>((threads + kWarpgroup - 1) / kWarpgroup)) {}

void Products::Group::reserve(int count) {
  if (count <= registers.registers()) return;
  Registers wider(kWarpgroup, 2 * count);
  for (int lane = 0; lane < kWarpgroup; ++lane)
    for (int reg = 0; reg < registers.registers(); ++reg) wider.write(lane, reg, registers.read(lane, reg));
  registers = std::move(wider);
  async.grow(registers.registers());
}

Products::Group& Products::group(int number) {
  std::unique_ptr<Group>& out = groups_[static_cast<std::size_t>(number - shared_.first_group())];
  if (!out) {
    const auto name = [this, number](int reg) { return name_(number, reg); };
    out = std::make_unique<Group>(Group{Registers(kWarpgroup, 0), AsyncState(0, name)});
    shared_.add_readers(out->async);
  }
  return *out;
}

Found Products::access(std::string_view what, Effects effects, Who who) {
  Group& g = group(who.thread / kWarpgroup);
  const AsyncActor actor{what, shared_.actor(who)};
  if (const auto found = g.async.check(actor, effects, {})) return shared_.violated(fault_of(who, {}), *found);
  (void)g.async.apply(actor, std::move(effects), g.registers);
  return std::nullopt;
}

Found Products::release(std::string_view what, int first, int count, Who who) {
  const auto found = group(who.thread / kWarpgroup).async.check_release({what}, first, count);
  if (!found) return std::nullopt;
  return shared_.violated(fault_of(who, {}), *found);
}

// The first bytes that lack a proxy fence and need one.
std::optional<Accesses::Unfenced> Products::unfenced(std::uint64_t address, std::uint64_t bytes,
                                                     int group) const {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    std::optional<Accesses::Unfenced> found = shared_.unfenced(address, end - address, group);
    if (!found || !ordered_ || !ordered_(found->write.at)) return found;
    address = static_cast<std::uint64_t>(found->last) + 1;
  }
  return std::nullopt;
}

Found Products::issue(int number, const Instruction& product, Effects effects, Place at) {
  Group& g = group(number);
  const Who first{number * kWarpgroup, at};
  if (g.agent < 0) g.agent = shared_.cluster().add_pair();
  bool all_fenced = false;
  if (auto fault = shared_.read_as_group(product.canonical(), effects.memory_reads, number, at,
                                         {g.agent, g.issued}, all_fenced))
    return fault;
  std::optional<Accesses::Unfenced> written;
  const auto unordered = [&](std::uint64_t address, std::uint64_t bytes) -> std::optional<ByteRange> {
    written = unfenced(address, bytes, number);
    if (!written) return std::nullopt;
    return ByteRange{static_cast<std::uint64_t>(written->first), static_cast<std::uint64_t>(written->last)};
  };
  const AsyncActor who{product.canonical(), shared_.actor(first, true)};
  all_fenced = all_fenced || shared_.are_fenced(effects.memory_reads, number, ordered_);
  if (const auto found = g.async.check(who, effects, all_fenced ? AsyncState::Unordered() : unordered)) {
    Fault out = shared_.violated(of_group(number, fault_of(first, {})), *found);
    if (written) out.other = side_of({written->write.thread, written->write.at}, "writes it");
    return out;
  }
  (void)g.async.apply(who, std::move(effects), g.registers);
  ++g.issued;
  g.last = at;
  return std::nullopt;
}

// A warp that waits knows what the completed products have read for it, and not for the others: the first warp knows it of
// one agent of the pair, the others of the other one.
void Products::control(int number, const Instruction& instruction) {
  Group& g = group(number);
  Effects effects;
  effects.control = std::get<Control>(instruction.decoded().kernel).control;
  g.complete += static_cast<std::uint32_t>(
      g.async.apply({instruction.canonical()}, std::move(effects), g.registers).size());
  if (g.agent < 0) return;
  for (int warp = number * kGroupWarps; warp < (number + 1) * kGroupWarps; ++warp)
    shared_.order().learn(warp, g.agent + (warp % kGroupWarps == 0 ? 0 : 1), g.complete);
}

std::vector<Who> Products::pending() const {
  std::vector<Who> out;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i] && groups_[i]->issued != groups_[i]->complete)
      out.push_back({(shared_.first_group() + static_cast<int>(i)) * kWarpgroup, groups_[i]->last});
  return out;
}

}  // namespace warpbit::block
