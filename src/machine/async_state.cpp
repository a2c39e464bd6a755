// SPDX-License-Identifier: Apache-2.0
#include "warpbit/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>  // std::iota
#include <optional>
#include <utility>

namespace warpbit {
namespace {

bool contains(const std::vector<int>& registers, int reg) {
  return std::ranges::find(registers, reg) != registers.end();
}

// As an Access has it.
std::array<std::uint16_t, 3> narrow(const std::array<int, 3>& shape) {
  return {static_cast<std::uint16_t>(shape[0]), static_cast<std::uint16_t>(shape[1]),
          static_cast<std::uint16_t>(shape[2])};
}

std::string shape_text(const std::array<std::uint16_t, 3>& shape) {
  return fmt::format("m{}n{}k{}", shape[0], shape[1], shape[2]);
}

AsyncViolation violation(KernelRule rule, const AsyncActor& who, std::string seen, std::string accepted,
                         std::optional<std::uint64_t> other = {}, std::optional<ByteRange> bytes = {}) {
  return {{Errc::protocol_violation, std::string(who.text), std::move(seen), std::move(accepted)},
          other,
          bytes,
          rule};
}

// The registers that a product reads like any instruction: descriptors, predicates, metadata.
std::vector<int> thread_reads(const Effects& effects) {
  std::vector<int> out;
  for (const int reg : effects.reads)
    if (!effects.deferred ||
        !(contains(effects.deferred->accumulators, reg) || contains(effects.deferred->factors, reg)))
      out.push_back(reg);
  return out;
}

// The registers that an instruction writes at once; each register once, although all lanes write it.
std::vector<int> thread_writes(const Effects& effects) {
  std::vector<int> out;
  if (effects.deferred) return out;
  for (const Effects::Write& write : effects.writes) out.push_back(write.reg);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Whether a register is among a product's accumulators, or in its A.
auto accumulates(int reg) {
  return [reg](const Effects& e) { return contains(e.deferred->accumulators, reg); };
}
auto multiplies(int reg) {
  return [reg](const Effects& e) { return contains(e.deferred->factors, reg); };
}

}  // namespace

// The latest incomplete product that meets the condition.
template <class Condition>
AsyncState::Found AsyncState::find_last(Condition condition) const {
  for (std::size_t later = 0; later < groups_.size(); ++later) {
    const std::vector<Product>& products = groups_[groups_.size() - 1 - later];
    const auto last = std::find_if(products.rbegin(), products.rend(),
                                   [&](const Product& product) { return condition(product.effects); });
    if (last == products.rend()) continue;
    return {&*last, later == 0 ? "wgmma.commit_group and wgmma.wait_group 0"
                               : fmt::format("wgmma.wait_group {}", later - 1)};
  }
  return {nullptr, {}};
}

std::string AsyncState::name(int reg) const {
  return name_ ? name_(reg) : fmt::format("register {}", reg);
}

// The violation if the latest incomplete product that meets the condition uses the register.
template <class Condition>
AsyncState::Violated AsyncState::occupied(const AsyncActor& who, int reg, std::string_view access,
                                          std::string_view role, Condition condition) const {
  const Found found = find_last(condition);
  if (!found.product) return std::nullopt;
  return violation(KernelRule::product_registers, who,
                   fmt::format("{} is {}, but it is {} of {}, which is not complete", name(reg), access, role,
                               found.product->text),
                   found.remedy + " must come before this statement", found.product->number);
}

AsyncState::Violated AsyncState::check_access(const AsyncActor& who, std::span<const int> registers,
                                              std::string_view access) const {
  if (!is_pending()) return std::nullopt;
  for (const int reg : registers) {
    if (role(reg) == 0) continue;
    if (Violated found = occupied(who, reg, access, "an accumulator", accumulates(reg))) return found;
    if (Violated found = occupied(who, reg, access, "part of A", multiplies(reg))) return found;
  }
  return std::nullopt;
}

// Checks accesses to registers of pending products.
AsyncState::Violated AsyncState::check_thread(const AsyncActor& who, const Effects& effects) const {
  if (Violated reads = check_access(who, thread_reads(effects), "read")) return reads;
  return check_access(who, thread_writes(effects), "written");
}

std::optional<AsyncViolation> AsyncState::check_release(const AsyncActor& who, int first, int count) const {
  std::vector<int> registers(static_cast<std::size_t>(count));
  std::iota(registers.begin(), registers.end(), first);
  return check_access(who, registers, "given up");
}

// Whether it is easily seen that no pending product has one of the registers in another role or shape.
bool AsyncState::is_free(const AsyncUse& use) const {
  const auto has = [this](std::uint8_t what) {
    return [this, what](int reg) { return (role(reg) & what) != 0; };
  };
  if (std::ranges::any_of(use.accumulators, has(kMultiplies)) ||
      std::ranges::any_of(use.factors, has(kAccumulates)))
    return false;
  if (std::ranges::none_of(use.accumulators, has(kAccumulates))) return true;
  const auto in_this_shape = [&](const Product& product) {
    return product.effects.deferred->shape == use.shape;
  };
  return std::ranges::all_of(
      groups_, [&](const std::vector<Product>& group) { return std::ranges::all_of(group, in_this_shape); });
}

// Likewise, by another product.
AsyncState::Violated AsyncState::check_pending(const AsyncActor& who, const AsyncUse& use) const {
  if (is_free(use)) return std::nullopt;
  for (const int reg : use.accumulators) {
    const auto in_other_shape = [&](const Effects& e) {
      return e.deferred->shape != use.shape && accumulates(reg)(e);
    };
    if (Violated found = occupied(who, reg, "part of D", "in another shape an accumulator", in_other_shape))
      return found;
    if (Violated found = occupied(who, reg, "part of D", "part of A", multiplies(reg))) return found;
  }
  for (const int reg : use.factors)
    if (Violated found = occupied(who, reg, "part of A", "an accumulator", accumulates(reg))) return found;
  return std::nullopt;
}

AsyncState::Violated AsyncState::check_fence(const AsyncActor& who, const AsyncUse& use) const {
  if (fences_ == 0)
    return violation(
        KernelRule::product_fence, who, "no wgmma.fence came before this wgmma, the first of these warps",
        "all four warps must execute wgmma.fence before it, after the last access to the registers of this wgmma");
  const auto refuse = [&](int reg, std::string_view role) {
    const Access& access = unfenced_[static_cast<std::size_t>(reg)];
    const std::string by = access.kind == Access::Kind::thread ? "by a thread"
                           : access.kind == Access::Kind::accumulator
                               ? "as an accumulator of " + shape_text(access.shape)
                               : "as part of A";
    return violation(
        KernelRule::product_fence, who,
        fmt::format("{} is {}, and was accessed {} after the last wgmma.fence", name(reg), role, by),
        "all four warps must execute wgmma.fence between that access and this statement", access.number);
  };
  const auto is_new = [this](const Access& access) {
    return access.fences == fences_ && access.kind != Access::Kind::none;
  };
  const auto [m, n, k] = narrow(use.shape);
  for (const int reg : use.accumulators) {
    const Access& access = unfenced_[static_cast<std::size_t>(reg)];
    const bool same = access.kind == Access::Kind::accumulator && access.shape[0] == m &&
                      access.shape[1] == n && access.shape[2] == k;
    if (!same && is_new(access)) return refuse(reg, "part of D");
  }
  for (const int reg : use.factors) {
    const Access& access = unfenced_[static_cast<std::size_t>(reg)];
    if (access.kind != Access::Kind::factor && is_new(access)) return refuse(reg, "part of A");
  }
  return std::nullopt;
}

AsyncState::Violated AsyncState::check_proxy(const AsyncActor& who, const Effects& effects,
                                             const Unordered& unordered) const {
  if (!unordered) return std::nullopt;
  for (const Effects::MemoryRead& read : effects.memory_reads)
    if (const std::optional<ByteRange> found = unordered(read.address, read.bytes))
      return violation(
          KernelRule::proxy_fence, who,
          fmt::format(
              "it reads shared memory {:#x} to {:#x}, which was written through the generic proxy, and no "
              "fence.proxy.async came between that write and this statement",
              found->first, found->last),
          "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between "
          "them",
          std::nullopt, found);
  return std::nullopt;
}

std::optional<AsyncViolation> AsyncState::check(const AsyncActor& who, const Effects& effects,
                                                const Unordered& unordered) const {
  Violated thread = check_thread(who, effects);
  if (thread || !effects.deferred) return thread;
  if (Violated pending = check_pending(who, *effects.deferred)) return pending;
  if (Violated fence = check_fence(who, *effects.deferred)) return fence;
  return check_proxy(who, effects, unordered);
}

// ---- What incomplete products use, for a quick answer that an access meets none

namespace {

constexpr std::uint64_t kUnit = 16, kBits = 64;

// Adds the units of what is read.
void note(std::span<const Effects::MemoryRead> reads, std::vector<std::uint64_t>& bits) {
  for (const Effects::MemoryRead& read : reads) {
    const std::uint64_t last = (read.address + read.bytes - 1) / kUnit;
    if (last / kBits >= bits.size()) bits.resize(last / kBits + 1);
    for (std::uint64_t unit = read.address / kUnit; unit <= last;) {
      const std::uint64_t count = std::min(last - unit + 1, kBits - unit % kBits);
      bits[unit / kBits] |= ~std::uint64_t{0} >> (kBits - count) << unit % kBits;
      unit += count;
    }
  }
}

}  // namespace

void AsyncState::add_roles(const AsyncUse& use) {
  for (const int reg : use.accumulators) role(reg) |= kAccumulates;
  for (const int reg : use.factors) role(reg) |= kMultiplies;
}

void AsyncState::note_reads() const {
  std::size_t number = 0;
  for (const std::vector<Product>& group : groups_)
    for (const Product& product : group)
      if (number++ >= noted_) note(product.effects.memory_reads, is_read_);
  noted_ = number;
}

bool AsyncState::may_read(ByteRange bytes) const {
  for (std::uint64_t unit = bytes.first / kUnit; unit <= bytes.last / kUnit; ++unit) {
    if (unit / kBits >= is_read_.size()) return false;
    if ((is_read_[unit / kBits] >> unit % kBits & 1) != 0) return true;
  }
  return false;
}

std::optional<AsyncViolation> AsyncState::check_store(const AsyncActor& who, ByteRange bytes) const {
  note_reads();
  if (!may_read(bytes)) return std::nullopt;
  ByteRange both{};
  const auto reads = [&](const Effects& effects) {
    for (const Effects::MemoryRead& read : effects.memory_reads) {
      both = {std::max(bytes.first, read.address), std::min(bytes.last, read.address + read.bytes - 1)};
      if (both.first <= both.last) return true;
    }
    return false;
  };
  const Found found = find_last(reads);
  if (!found.product) return std::nullopt;
  return violation(
      KernelRule::product_tile, who,
      fmt::format("{} reads shared memory {:#x} to {:#x} and is not complete", found.product->text, both.first,
                  both.last),
      fmt::format("all four warps must execute {}, and then a barrier, before this statement", found.remedy),
      found.product->number, both);
}

// Member by member, from registers: a copy of an Access in memory waits for its stores.
void AsyncState::record(std::span<const int> registers, Access access) {
  const auto& [kind, shape, fences, number] = access;
  for (const int reg : registers) {
    Access& to = unfenced_[static_cast<std::size_t>(reg)];
    to.kind = kind;
    to.shape = shape;
    to.fences = fences_;
    to.number = number;
  }
}

std::vector<AsyncState::Product> AsyncState::control(const AsyncControl& what, Registers& registers) {
  std::vector<Product> complete;
  switch (what.kind) {
    case AsyncControl::Kind::register_fence: ++fences_; break;
    case AsyncControl::Kind::commit_group: groups_.emplace_back(); break;
    case AsyncControl::Kind::wait_group:
      for (; pending_groups() > what.pending; groups_.pop_front())
        for (Product& product : groups_.front()) {
          warpbit::apply(product.effects, registers);
          complete.push_back(std::move(product));
        }
      if (complete.empty()) break;
      std::ranges::fill(roles_, std::uint8_t{0});
      if (noted_ != 0) std::ranges::fill(is_read_, std::uint64_t{0});
      noted_ = 0;
      for (const std::vector<Product>& group : groups_)
        for (const Product& product : group) add_roles(*product.effects.deferred);
      break;
    case AsyncControl::Kind::proxy_fence: break;
  }
  return complete;
}

std::vector<AsyncState::Product> AsyncState::apply(const AsyncActor& who, Effects effects,
                                                   Registers& registers) {
  repeats_ = false;
  if (effects.control) return control(*effects.control, registers);
  record(thread_reads(effects), {Access::Kind::thread, {}, 0, who.number});
  record(thread_writes(effects), {Access::Kind::thread, {}, 0, who.number});
  if (!effects.deferred) {
    warpbit::apply(effects, registers);
    return {};
  }
  record(effects.deferred->factors, {Access::Kind::factor, {}, 0, who.number});
  record(effects.deferred->accumulators,
         {Access::Kind::accumulator, narrow(effects.deferred->shape), 0, who.number});
  add_roles(*effects.deferred);
  repeats_ = effects.reads.empty() && effects.writes.empty() && effects.memory_reads.empty() &&
             effects.memory_writes.empty();
  groups_.back().push_back({std::string(who.text), who.number, std::move(effects)});
  return {};
}

// The later one stands for both.
bool AsyncState::repeat(const AsyncActor& who, const AsyncUse& use) {
  if (!repeats_) return false;
  Product& last = groups_.back().back();
  const AsyncUse& before = *last.effects.deferred;
  if (last.text != who.text || before.shape != use.shape || before.accumulators != use.accumulators ||
      before.factors != use.factors)
    return false;
  last.number = who.number;
  for (const std::vector<int>* const registers : {&use.factors, &use.accumulators})
    for (const int reg : *registers) unfenced_[static_cast<std::size_t>(reg)].number = who.number;
  return true;
}

void AsyncState::copy(int from, int to) {
  if (from == to) return;
  repeats_ = false;
  for (std::vector<Product>& group : groups_)
    for (Product& product : group)
      for (std::vector<int>* const use :
           {&product.effects.deferred->accumulators, &product.effects.deferred->factors}) {
        std::erase(*use, to);
        if (contains(*use, from)) use->push_back(to);
      }
  role(to) = role(from);
  unfenced_[static_cast<std::size_t>(to)] = unfenced_[static_cast<std::size_t>(from)];
}

void AsyncState::written(const AsyncActor& who, int reg) {
  repeats_ = false;
  record(std::span(&reg, 1), {Access::Kind::thread, {}, 0, who.number});
}

Registers AsyncState::ahead(Registers registers) const {
  for (const std::vector<Product>& group : groups_)
    for (const Product& product : group) warpbit::apply(product.effects, registers);
  return registers;
}

}  // namespace warpbit
