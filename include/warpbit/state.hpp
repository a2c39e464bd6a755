// SPDX-License-Identifier: Apache-2.0
// The state that instructions act on: the memory of a block, the registers of a warp or warpgroup, and the
// asynchronous products of a warpgroup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warpbit/fragment.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Memory

/// The state space of an address (PTX manual, "State Spaces" and "Generic Addressing").
enum class Space {
  generic,  ///< shared memory within its window; global memory at its own addresses
  global,
  shared,  ///< 0 is the first byte of the block's shared memory
};

/// The name of a space as PTX spells it, without the dot.
std::string_view name(Space space);

/// Bytes of shared memory and any number of ranges of global memory, initially zero. An access must lie
/// within one range, even if two ranges are adjacent.
class Memory {
 public:
  /// `shared_bytes` bytes of shared memory, which in the generic space begin at address `window`.
  /// Precondition: window + shared_bytes does not exceed 2^64.
  explicit Memory(std::uint64_t shared_bytes = 0, std::uint64_t window = 0);

  /// Adds global memory at [address, address + bytes), which are also its generic addresses. Errors:
  /// memory_overlap with the shared window or with global memory; address_out_of_bounds beyond 2^64.
  Result<void> add_global(std::uint64_t address, std::uint64_t bytes);

  /// The same with memory of the caller, which must live as long.
  Result<void> view_global(std::uint64_t address, std::span<std::byte> bytes);

  /// True if every byte of [address, address + bytes) lies in one range of the space.
  bool contains(Space space, std::uint64_t address, std::uint64_t bytes) const;
  /// Copies bytes out. Errors: address_out_of_bounds.
  Result<void> read(Space space, std::uint64_t address, std::span<std::byte> out) const;
  /// Copies bytes in through the generic proxy, all or none. Errors: address_out_of_bounds.
  Result<void> write(Space space, std::uint64_t address, std::span<const std::byte> bytes);

  /// The same through the async proxy, into shared memory (PTX manual, "Async proxy").
  Result<void> write_async(std::uint64_t address, std::span<const std::byte> bytes);
  /// Orders what was written to shared memory through the generic proxy before reads through the async proxy.
  void fence_proxy();
  /// The first consecutive bytes, among `bytes` from `address` of shared memory, that were last written
  /// through the generic proxy and not ordered since; nothing if there are none.
  std::optional<ByteRange> unordered(std::uint64_t address, std::uint64_t bytes) const;

  /// The bytes of shared memory that an access touches, if it lies there.
  std::optional<ByteRange> in_shared(Space space, std::uint64_t address, std::uint64_t bytes) const;

  /// The bytes of shared memory.
  std::span<const std::byte> shared() const { return ranges_.front().bytes; }
  std::span<std::byte> shared_for_writing() { return ranges_.front().bytes; }
  std::uint64_t shared_bytes() const { return ranges_.front().bytes.size(); }
  /// The generic address of the first byte of shared memory.
  std::uint64_t window() const { return ranges_.front().address; }

 private:
  struct Range {
    std::uint64_t address;  // in the generic space
    std::vector<std::byte> bytes;
    std::span<std::byte> viewed = {};  // of the caller

    std::uint64_t size() const { return viewed.empty() ? bytes.size() : viewed.size(); }
    std::byte* data() { return viewed.empty() ? bytes.data() : viewed.data(); }
    const std::byte* data() const { return viewed.empty() ? bytes.data() : viewed.data(); }
  };
  // A resolved access: the number of its range and the offset in it.
  struct Place {
    std::size_t range;
    std::uint64_t offset;
  };
  /// The errors of add_global.
  Result<void> check_global(std::uint64_t address, std::uint64_t bytes) const;
  std::optional<Place> find(Space space, std::uint64_t address, std::uint64_t bytes) const;
  std::string extent(std::size_t range, Space space) const;
  Error out_of_bounds(Space space, std::uint64_t address, std::uint64_t bytes) const;

  std::vector<Range> ranges_;    // the first is shared memory
  std::vector<bool> unordered_;  // by byte of shared memory
};

// ---- Banks of shared memory

/// Extra wavefronts of an access to shared memory.
struct BankConflicts {
  std::vector<int> phases;  ///< per phase; 0 is free of conflicts
  int total = 0;
};

/// Shared memory has 32 banks of 4 bytes; the word at address a lies in bank a / 4 % 32. Lane i accesses
/// `line_bytes` bytes from addresses[i] on. A phase consists of 128 / line_bytes lanes (8 lanes of 16 bytes), at
/// least one. It takes one wavefront for each different word in its fullest bank, at least one. Pass only the
/// lanes that access memory, in ascending order. Precondition: line_bytes is positive.
BankConflicts bank_conflicts(std::span<const std::uint64_t> addresses, int line_bytes = 16);

// ---- Registers

/// The registers of the lanes of a warp or a warpgroup: `registers` cells of 64 bits per lane, initially
/// zero. A 32-bit register is the low half of its cell. Precondition: neither number is negative.
class Registers {
 public:
  Registers(int lanes, int registers);

  int lanes() const { return lanes_; }
  int registers() const { return registers_; }
  /// Precondition of both: 0 <= lane < lanes(), 0 <= reg < registers().
  std::uint64_t read(int lane, int reg) const { return cells_[index(lane, reg)]; }
  void write(int lane, int reg, std::uint64_t value) { cells_[index(lane, reg)] = value; }

  /// Cell (0, 0). The next register follows after 8 bytes, the next lane after 8 * registers() bytes.
  const std::uint64_t* data() const { return cells_.data(); }

 private:
  std::size_t index(int lane, int reg) const {
    return static_cast<std::size_t>(lane) * static_cast<std::size_t>(registers_) +
           static_cast<std::size_t>(reg);
  }
  int lanes_, registers_;
  std::vector<std::uint64_t> cells_;
};

/// The effect of an instruction without results on asynchronous ones (PTX manual, "Asynchronous
/// Warpgroup-Level Matrix Instructions" and "membar/fence").
struct AsyncControl {
  enum class Kind {
    register_fence,  ///< orders earlier register accesses with those of asynchronous products
    commit_group,    ///< groups the asynchronous products since the last commit
    wait_group,      ///< completes groups
    proxy_fence,     ///< orders memory accesses through the generic and the async proxy
  };
  Kind kind;
  Space space = Space::generic;  ///< for a proxy fence: the memory; generic is all of it
  std::uint64_t pending = 0;     ///< for a wait: this many of the latest groups may stay pending
};

/// The registers that an asynchronous matrix product occupies until it is complete.
struct AsyncUse {
  std::array<int, 3> shape;       ///< M, N, K
  std::vector<int> accumulators;  ///< the registers of D in every lane: written, and read unless scale-d is 0
  std::vector<int> factors;       ///< the registers of A in every lane: read
};

/// The effects of an instruction on its warp or warpgroup and on memory.
struct Effects {
  /// A write to a register of one lane.
  struct Write {
    int lane, reg;
    std::uint64_t value;
  };
  /// Bytes that a warp or warpgroup reads from memory. `lane` gave the address; kEveryLane if all lanes gave
  /// the same one.
  struct MemoryRead {
    int lane;
    Space space;
    std::uint64_t address, bytes;
  };
  /// Bytes that a warp writes to memory.
  struct MemoryWrite {
    int lane;
    Space space;
    std::uint64_t address;
    std::vector<std::byte> bytes;
  };
  static constexpr int kEveryLane = -1;

  std::vector<int> reads;     ///< register numbers that every lane reads
  std::vector<Write> writes;  ///< applied by `apply`
  std::vector<MemoryRead> memory_reads;
  std::vector<MemoryWrite> memory_writes;  ///< applied by `apply` with a memory; no two overlap
  /// For an asynchronous product, which reads and writes at some time before it is waited for.
  std::optional<AsyncUse> deferred;
  std::optional<AsyncControl> control;
  bool inferred = false;  ///< the arithmetic is inferred
  Kernel kernel = {};     ///< as in Execution
};

/// Writes the effects, deferred ones included, into the registers.
void apply(const Effects& effects, Registers& registers);

/// Writes the effects, deferred ones included, into the registers and memory. Errors: address_out_of_bounds
/// if this memory lacks some of the bytes; then nothing is written.
Result<void> apply(const Effects& effects, Registers& registers, Memory& memory);

// ---- Asynchronous products

/// An actor: its name in errors, and a number by which the caller identifies it.
struct AsyncActor {
  std::string_view text;
  std::uint64_t number = 0;
};

/// Something that the rules leave undefined.
struct AsyncViolation {
  Error error;
  /// The number of the other side: the incomplete product, or the last access to a register.
  std::optional<std::uint64_t> other;
  std::optional<ByteRange> bytes;  ///< of shared memory
  KernelRule rule = KernelRule::none;
};

/// Groups in flight, oldest first. A product computes its values when it is issued, from the registers as all
/// earlier products will leave them and from the current memory. Its registers change when its group
/// completes, which happens only when a wait demands it. One thread uses a state at a time, also to check.
///
///     issue, issue, commit_group, issue, commit_group, issue
///     \___________ group ______/  \_____ group ____/   open
class AsyncState {
 public:
  /// An incomplete product.
  struct Product {
    std::string text;
    std::uint64_t number;
    Effects effects;
  };
  /// The name of a register in errors.
  using RegisterName = std::function<std::string(int)>;
  /// The first consecutive bytes, among `bytes` from `address` of shared memory, that were written through
  /// the generic proxy without a proxy fence before the current access. An empty function finds none.
  using Unordered = std::function<std::optional<ByteRange>(std::uint64_t address, std::uint64_t bytes)>;

  /// For a warpgroup with this many registers per lane. Without `name`, they are called "register 0" and so
  /// on.
  explicit AsyncState(int registers, RegisterName name = {}) : name_(std::move(name)) { grow(registers); }
  /// Changes the number of registers per lane. Precondition: it does not shrink.
  void grow(int registers) {
    unfenced_.resize(static_cast<std::size_t>(registers));
    roles_.resize(static_cast<std::size_t>(registers));
  }

  /// Finds an undefined action in the effects of `who`. Errors: protocol_violation, if
  ///
  /// - it reads or writes a register of D or A of a pending product, which any access leaves undefined;
  ///   a product may share D with pending ones of its own shape, and A with any;
  /// - it is a product, and no register fence came before it, or none since its D was accessed by anything
  ///   but a product of its shape as D, or its A by anything but a product as A;
  /// - it is a product, and reads bytes that were written through the generic proxy without a proxy fence
  ///   since.
  std::optional<AsyncViolation> check(const AsyncActor& who, const Effects& effects,
                                      const Unordered& unordered) const;
  /// Checks a store by `who`: undefined if a pending product reads some of these bytes. Errors:
  /// protocol_violation.
  std::optional<AsyncViolation> check_store(const AsyncActor& who, ByteRange bytes) const;
  /// Checks the reuse of `count` registers: undefined if one of them is in D or A of a pending product.
  /// Errors: protocol_violation.
  std::optional<AsyncViolation> check_release(const AsyncActor& who, int first, int count) const;

  /// Applies the effects to registers and groups; the caller handles memory. Returns the products completed
  /// by it, oldest first.
  std::vector<Product> apply(const AsyncActor& who, Effects effects, Registers& registers);

  // For who follows registers without their values:

  /// A thread copies a register. Until they are complete, pending products use `to` as they use `from`; an access to it
  /// is one to `from`. What `to` was for them before, it is not any more.
  void copy(int from, int to);
  /// True if the last action was a product of the same text that uses the same registers, with nothing else of it known, and
  /// it is in the open group: then this one follows it as if it were applied, and there is nothing to check.
  bool repeat(const AsyncActor& who, const AsyncUse& use);
  /// A thread has written to a register: a fence must follow before a product uses it.
  void written(const AsyncActor& who, int reg);

  /// True if some product is incomplete.
  bool is_pending() const { return pending_groups() > 0 || !groups_.back().empty(); }
  /// Committed groups that are incomplete, empty ones included.
  std::size_t pending_groups() const { return groups_.size() - 1; }
  /// The incomplete products by group, oldest first; the last group is not committed.
  const std::deque<std::vector<Product>>& groups() const { return groups_; }
  /// The registers as the pending products will leave them.
  Registers ahead(Registers registers) const;

 private:
  // An incomplete product, and the wait that would complete it.
  struct Found {
    const Product* product;
    std::string remedy;
  };
  // The kind of the last access to a register since the last fence, and its actor.
  struct Access {
    enum class Kind : std::uint8_t { none, thread, accumulator, factor } kind = Kind::none;
    std::array<std::uint16_t, 3> shape = {};
    std::uint32_t fences = 0;  // that came before it
    std::uint64_t number = 0;
  };
  // What incomplete products use a register for: bits.
  static constexpr std::uint8_t kAccumulates = 1, kMultiplies = 2;
  using Violated = std::optional<AsyncViolation>;

  template <class Condition>
  Found find_last(Condition condition) const;
  Violated check_thread(const AsyncActor& who, const Effects& effects) const;
  Violated check_pending(const AsyncActor& who, const AsyncUse& use) const;
  Violated check_fence(const AsyncActor& who, const AsyncUse& use) const;
  Violated check_proxy(const AsyncActor& who, const Effects& effects, const Unordered& unordered) const;
  Violated check_access(const AsyncActor& who, std::span<const int> registers, std::string_view access) const;
  template <class Condition>
  Violated occupied(const AsyncActor& who, int reg, std::string_view access, std::string_view role,
                    Condition condition) const;
  std::string name(int reg) const;
  std::vector<Product> control(const AsyncControl& what, Registers& registers);
  void add_roles(const AsyncUse& use);
  void note_reads() const;
  bool may_read(ByteRange bytes) const;
  bool is_free(const AsyncUse& use) const;
  std::uint8_t& role(int reg) { return roles_[static_cast<std::size_t>(reg)]; }
  std::uint8_t role(int reg) const {
    const auto i = static_cast<std::size_t>(reg);
    return i < roles_.size() ? roles_[i] : std::uint8_t{0};
  }
  void record(std::span<const int> registers, Access access);

  RegisterName name_;
  std::deque<std::vector<Product>> groups_ = std::deque<std::vector<Product>>(1);  // the last one is open
  std::vector<Access> unfenced_;     // by register; older ones than the last fence do not count
  std::uint32_t fences_ = 0;         // executed
  bool repeats_ = false;             // nothing came behind the last product, which has registers alone
  std::vector<std::uint8_t> roles_;  // by register
  // A bit for 16 bytes of which an incomplete product reads some. Only a store asks for it: then the incomplete products
  // behind the first `noted_` are added.
  mutable std::vector<std::uint64_t> is_read_;
  mutable std::size_t noted_ = 0;
};

}  // namespace warpbit
#pragma GCC visibility pop
