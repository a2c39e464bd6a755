// SPDX-License-Identifier: Apache-2.0
#include "warpbit/async_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace warpbit {
namespace {

bool contains(const std::vector<int>& registers, int reg) {
  return std::ranges::find(registers, reg) != registers.end();
}

std::string shape_text(const std::array<int, 3>& shape) {
  return fmt::format("m{}n{}k{}", shape[0], shape[1], shape[2]);
}

Error violation(std::string_view who, std::string seen, std::string accepted) {
  return {Errc::protocol_violation, std::string(who), std::move(seen), std::move(accepted)};
}

// What a product reads as any instruction does: descriptors, predicates, metadata.
std::vector<int> thread_reads(const Effects& effects) {
  std::vector<int> out;
  for (const int reg : effects.reads)
    if (!effects.deferred ||
        !(contains(effects.deferred->accumulators, reg) || contains(effects.deferred->factors, reg)))
      out.push_back(reg);
  return out;
}

// What an instruction writes at once; each register once, since all lanes come one after another.
std::vector<int> thread_writes(const Effects& effects) {
  std::vector<int> out;
  if (effects.deferred) return out;
  for (const Effects::Write& write : effects.writes) out.push_back(write.reg);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Whether a product has a register among its accumulators, or in its A.
auto accumulates(int reg) {
  return [reg](const Effects& e) { return contains(e.deferred->accumulators, reg); };
}
auto multiplies(int reg) {
  return [reg](const Effects& e) { return contains(e.deferred->factors, reg); };
}

Error occupied(std::string_view who, int reg, std::string_view access, std::string_view role,
               const std::string& product, const std::string& remedy) {
  return violation(
      who,
      fmt::format("register {} is {}, but it is {} of {}, which is not complete", reg, access, role, product),
      remedy);
}

}  // namespace

// The latest product that is not complete and meets the condition.
template <class Condition>
AsyncState::Found AsyncState::find_last(Condition condition) const {
  const auto latest_of = [&](const std::vector<Product>& products) -> const Product* {
    const auto last = std::find_if(products.rbegin(), products.rend(),
                                   [&](const Product& product) { return condition(product.effects); });
    return last == products.rend() ? nullptr : &*last;
  };
  if (const Product* product = latest_of(open_))
    return {&product->text, "wgmma.commit_group and wgmma.wait_group 0 must come before"};
  for (std::size_t later = 0; later < groups_.size(); ++later)
    if (const Product* product = latest_of(groups_[groups_.size() - 1 - later]))
      return {&product->text, fmt::format("wgmma.wait_group {} must come before", later)};
  return {nullptr, {}};
}

// An access to registers of products that are under way.
Result<void> AsyncState::check_thread(std::string_view who, const Effects& effects) const {
  const auto check = [&](const std::vector<int>& registers, std::string_view access) -> Result<void> {
    for (const int reg : registers) {
      if (const Found found = find_last(accumulates(reg)); found.product)
        return occupied(who, reg, access, "an accumulator", *found.product, found.remedy);
      if (const Found found = find_last(multiplies(reg)); found.product)
        return occupied(who, reg, access, "part of A", *found.product, found.remedy);
    }
    return {};
  };
  if (Result<void> reads = check(thread_reads(effects), "read"); !reads) return reads;
  return check(thread_writes(effects), "written");
}

// Likewise, of another product.
Result<void> AsyncState::check_pending(std::string_view who, const AsyncUse& use) const {
  for (const int reg : use.accumulators) {
    const auto in_other_shape = [&](const Effects& e) {
      return e.deferred->shape != use.shape && accumulates(reg)(e);
    };
    if (const Found found = find_last(in_other_shape); found.product)
      return occupied(who, reg, "part of D", "in another shape an accumulator", *found.product, found.remedy);
    if (const Found found = find_last(multiplies(reg)); found.product)
      return occupied(who, reg, "part of D", "part of A", *found.product, found.remedy);
  }
  for (const int reg : use.factors)
    if (const Found found = find_last(accumulates(reg)); found.product)
      return occupied(who, reg, "part of A", "an accumulator", *found.product, found.remedy);
  return {};
}

Result<void> AsyncState::check_fence(std::string_view who, const AsyncUse& use) const {
  constexpr auto kRemedy = "wgmma.fence must stand between";
  if (!fenced_)
    return violation(who, "it is the first of its warpgroup, and no wgmma.fence came before",
                     "wgmma.fence must come before");
  const auto refuse = [&](int reg, std::string_view role) {
    const Access& access = unfenced_[static_cast<std::size_t>(reg)];
    const std::string by = access.kind == Access::Kind::thread ? "by a thread"
                           : access.kind == Access::Kind::accumulator
                               ? "as an accumulator of " + shape_text(access.shape)
                               : "as part of A";
    return violation(
        who, fmt::format("register {} is {}, and was accessed {} after the last wgmma.fence", reg, role, by),
        kRemedy);
  };
  for (const int reg : use.accumulators) {
    const Access& access = unfenced_[static_cast<std::size_t>(reg)];
    const bool same = access.kind == Access::Kind::accumulator && access.shape == use.shape;
    if (access.kind != Access::Kind::none && !same) return refuse(reg, "part of D");
  }
  for (const int reg : use.factors) {
    const Access::Kind kind = unfenced_[static_cast<std::size_t>(reg)].kind;
    if (kind != Access::Kind::none && kind != Access::Kind::factor) return refuse(reg, "part of A");
  }
  return {};
}

Result<void> AsyncState::check_proxy(std::string_view who, const Effects& effects, const Memory& memory) const {
  for (const Effects::MemoryRead& read : effects.memory_reads)
    if (const std::optional<ByteRange> found = memory.unordered(read.address, read.bytes))
      return violation(
          who,
          fmt::format("it reads shared memory {:#x} to {:#x}, which was written through the generic "
                      "proxy",
                      found->first, found->last),
          "fence.proxy.async must stand between");
  return {};
}

Result<void> AsyncState::check(std::string_view who, const Effects& effects, const Memory& memory) const {
  if (Result<void> thread = check_thread(who, effects); !thread || !effects.deferred) return thread;
  if (Result<void> pending = check_pending(who, *effects.deferred); !pending) return pending;
  if (Result<void> fence = check_fence(who, *effects.deferred); !fence) return fence;
  return check_proxy(who, effects, memory);
}

Result<void> AsyncState::check_store(std::string_view who, ByteRange bytes) const {
  ByteRange both{};
  const auto reads = [&](const Effects& effects) {
    for (const Effects::MemoryRead& read : effects.memory_reads) {
      both = {std::max(bytes.first, read.address), std::min(bytes.last, read.address + read.bytes - 1)};
      if (both.first <= both.last) return true;
    }
    return false;
  };
  const Found found = find_last(reads);
  if (!found.product) return {};
  return violation(
      who,
      fmt::format("shared memory {:#x} to {:#x} is overwritten, but {}, which is not complete, reads it",
                  both.first, both.last, *found.product),
      found.remedy);
}

void AsyncState::record(std::span<const int> registers, const Access& access) {
  for (const int reg : registers) unfenced_[static_cast<std::size_t>(reg)] = access;
}

void AsyncState::control(const AsyncControl& what, Registers& registers) {
  switch (what.kind) {
    case AsyncControl::Kind::register_fence:
      fenced_ = true;
      std::ranges::fill(unfenced_, Access{});
      break;
    case AsyncControl::Kind::commit_group: groups_.push_back(std::exchange(open_, {})); break;
    case AsyncControl::Kind::wait_group:
      for (; groups_.size() > what.pending; groups_.pop_front())
        for (const Product& product : groups_.front()) warpbit::apply(product.effects, registers);
      break;
    case AsyncControl::Kind::proxy_fence: break;
  }
}

void AsyncState::apply(std::string_view who, Effects effects, Registers& registers) {
  if (effects.control) return control(*effects.control, registers);
  record(thread_reads(effects), {Access::Kind::thread, {}});
  record(thread_writes(effects), {Access::Kind::thread, {}});
  if (!effects.deferred) return warpbit::apply(effects, registers);
  record(effects.deferred->factors, {Access::Kind::factor, {}});
  record(effects.deferred->accumulators, {Access::Kind::accumulator, effects.deferred->shape});
  open_.push_back({std::string(who), std::move(effects)});
}

Registers AsyncState::ahead(Registers registers) const {
  for (const std::vector<Product>& group : groups_)
    for (const Product& product : group) warpbit::apply(product.effects, registers);
  for (const Product& product : open_) warpbit::apply(product.effects, registers);
  return registers;
}

}  // namespace warpbit
