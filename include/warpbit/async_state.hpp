// SPDX-License-Identifier: Apache-2.0
// The asynchronous matrix products of a warpgroup, from issue to completion, and the rules about what may
// happen in between (PTX manual, "Asynchronous Warpgroup-Level Matrix Instructions": the fence of registers,
// groups, the wait for a group, "Async Proxy").
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpbit/memory.hpp"
#include "warpbit/registers.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Who does something: as errors name it, and a number by which the caller knows it again.
struct AsyncActor {
  std::string_view text;
  std::uint64_t number = 0;
};

/// What the rules leave undefined.
struct AsyncViolation {
  Error error;
  /// The number of the other side: the product that is not complete, or the last access to a register.
  std::optional<std::uint64_t> other;
  std::optional<ByteRange> bytes;  ///< of shared memory
};

/// Groups in flight, oldest first. A product computes its values when it is issued, from the registers as all
/// products before it will leave them and from the memory of that moment; its registers change when its group
/// completes, which is when a wait demands it and never before.
///
///     issue, issue, commit_group, issue, commit_group, issue
///     \___________ group ______/  \_____ group ____/   open
class AsyncState {
 public:
  /// One that is not complete.
  struct Product {
    std::string text;
    std::uint64_t number;
    Effects effects;
  };
  /// What errors call a register.
  using RegisterName = std::function<std::string(int)>;
  /// The first bytes in a row, out of `bytes` from `address` of shared memory, that were written through the
  /// generic proxy, and no proxy fence orders them before what is checked.
  using Unordered = std::function<std::optional<ByteRange>(std::uint64_t address, std::uint64_t bytes)>;

  /// Of a warpgroup whose lanes have so many registers, "register 0" and so on if they have no other names.
  explicit AsyncState(int registers, RegisterName name = {})
      : name_(std::move(name)), unfenced_(static_cast<std::size_t>(registers)) {}
  /// Lanes have so many registers from now on, no fewer than before.
  void grow(int registers) { unfenced_.resize(static_cast<std::size_t>(registers)); }

  /// Finds what `who` is about to do and the rules leave undefined. Errors: protocol_violation, if
  ///
  /// - it reads or writes a register of D or A of a pending product, which any access leaves undefined;
  ///   a product may share D with pending ones of its own shape, and A with any;
  /// - it is a product, and no register fence came before it, or none since its D was accessed by anything
  ///   but a product of its shape as D, or its A by anything but a product as A;
  /// - it is a product, and reads bytes that were written through the generic proxy without a proxy fence
  ///   since.
  std::optional<AsyncViolation> check(const AsyncActor& who, const Effects& effects,
                                      const Unordered& unordered) const;
  /// Likewise, if a pending product reads some of these bytes. Errors: protocol_violation.
  std::optional<AsyncViolation> check_store(const AsyncActor& who, ByteRange bytes) const;
  /// Likewise, if one of `count` registers that will hold something else from now on is in D or A of a pending
  /// product. Errors: protocol_violation.
  std::optional<AsyncViolation> check_release(const AsyncActor& who, int first, int count) const;

  /// Does to registers and groups what `who` does; memory is left to others. Returns the products that are
  /// complete by it, oldest first.
  std::vector<Product> apply(const AsyncActor& who, Effects effects, Registers& registers);

  /// True if some product is not complete.
  bool is_pending() const { return !open_.empty() || !groups_.empty(); }
  /// Committed groups that are not complete, empty ones too.
  std::size_t pending_groups() const { return groups_.size(); }
  /// The registers as the pending products will leave them.
  Registers ahead(Registers registers) const;

 private:
  // A product that is not complete, and the wait that would complete it.
  struct Found {
    const Product* product;
    std::string remedy;
  };
  // How a register was last accessed since the last fence, and by whom.
  struct Access {
    enum class Kind { none, thread, accumulator, factor } kind = Kind::none;
    std::array<int, 3> shape = {};
    std::uint64_t number = 0;
  };
  using Violated = std::optional<AsyncViolation>;

  template <class Condition>
  Found find_last(Condition condition) const;
  Violated check_thread(const AsyncActor& who, const Effects& effects) const;
  Violated check_pending(const AsyncActor& who, const AsyncUse& use) const;
  Violated check_fence(const AsyncActor& who, const AsyncUse& use) const;
  Violated check_proxy(const AsyncActor& who, const Effects& effects, const Unordered& unordered) const;
  Violated check_access(const AsyncActor& who, std::span<const int> registers, std::string_view access) const;
  AsyncViolation occupied(const AsyncActor& who, int reg, std::string_view access, std::string_view role,
                          const Found& found) const;
  std::string name(int reg) const;
  std::vector<Product> control(const AsyncControl& what, Registers& registers);
  void record(std::span<const int> registers, const Access& access);

  RegisterName name_;
  std::vector<Product> open_;
  std::deque<std::vector<Product>> groups_;
  std::vector<Access> unfenced_;  // by register
  bool fenced_ = false;           // at least once
};

}  // namespace warpbit
#pragma GCC visibility pop
