// SPDX-License-Identifier: Apache-2.0
// The asynchronous matrix products of a warpgroup, from issue to completion, and the rules about what may
// happen in between (PTX manual, "Asynchronous Warpgroup-Level Matrix Instructions": the fence of registers,
// groups, the wait for a group, "Async Proxy").
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/memory.hpp"
#include "warpbit/registers.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Groups in flight, oldest first. A product computes its values when it is issued, from the registers as all
/// products before it will leave them and from the memory of that moment; its registers change when its group
/// completes, which is when a wait demands it and never before.
///
///     issue, issue, commit_group, issue, commit_group, issue
///     \___________ group ______/  \_____ group ____/   open
class AsyncState {
 public:
  /// Of a warpgroup whose lanes have so many registers.
  explicit AsyncState(int registers) : unfenced_(static_cast<std::size_t>(registers)) {}

  /// Refuses what `who` is about to do if the rules leave it undefined. Errors: protocol_violation, if
  ///
  /// - it reads or writes a register of D or A of a pending product, which any access leaves undefined; a
  /// product
  ///   may share D with pending ones of its own shape, and A with any;
  /// - it is a product, and no register fence came before it, or none since its D was accessed by anything but
  ///   a product of its shape as D, or its A by anything but a product as A;
  /// - it is a product, and reads bytes that were written through the generic proxy without a proxy fence
  ///   since.
  Result<void> check(std::string_view who, const Effects& effects, const Memory& memory) const;
  /// Likewise, if a pending product reads some of these bytes. Errors: protocol_violation.
  Result<void> check_store(std::string_view who, ByteRange bytes) const;

  /// Does to registers and groups what `who` does; memory is left to others.
  void apply(std::string_view who, Effects effects, Registers& registers);

  /// True if some product is not complete.
  bool is_pending() const { return !open_.empty() || !groups_.empty(); }
  /// Committed groups that are not complete, empty ones too.
  std::size_t pending_groups() const { return groups_.size(); }
  /// The registers as the pending products will leave them.
  Registers ahead(Registers registers) const;

 private:
  struct Product {
    std::string text;
    Effects effects;
  };
  // The text of a product that is not complete, and the wait that would complete it.
  struct Found {
    const std::string* product;
    std::string remedy;
  };
  // How a register was last accessed since the last fence.
  struct Access {
    enum class Kind { none, thread, accumulator, factor } kind = Kind::none;
    std::array<int, 3> shape = {};
  };

  template <class Condition>
  Found find_last(Condition condition) const;
  Result<void> check_thread(std::string_view who, const Effects& effects) const;
  Result<void> check_pending(std::string_view who, const AsyncUse& use) const;
  Result<void> check_fence(std::string_view who, const AsyncUse& use) const;
  Result<void> check_proxy(std::string_view who, const Effects& effects, const Memory& memory) const;
  void control(const AsyncControl& what, Registers& registers);
  void record(std::span<const int> registers, const Access& access);

  std::vector<Product> open_;
  std::deque<std::vector<Product>> groups_;
  std::vector<Access> unfenced_;  // by register
  bool fenced_ = false;           // at least once
};

}  // namespace warpbit
#pragma GCC visibility pop
