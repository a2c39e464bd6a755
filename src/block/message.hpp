// SPDX-License-Identifier: Apache-2.0
// What actors know of each other, and how strong accesses pass it on (PTX manual, "Memory Consistency Model").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "warpbit/detail/block.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

using Clocks = std::vector<std::uint32_t>;
/// Each of `into` becomes the later one.
void join(Clocks& into, const Clocks& from);

/// How far an access or a fence reaches (PTX manual, "Scope"). There is one GPU: .sys reaches as far as .gpu.
enum class Scope : std::uint8_t { cta, cluster, gpu };
inline constexpr std::size_t kScopes = 3;

/// What a strong access orders.
struct Strength {
  bool acquires = false, releases = false;  ///< else it is relaxed
  bool unsaid = false;                      ///< volatile, or an atomic without an order: relaxed
  Scope scope = Scope::gpu;
};

/// A write or a read of a flag.
struct FlagUse {
  device::Place at = {};
  std::uint64_t cluster = 0;
  int thread = -1;           ///< in its cluster; -1: unknown
  bool lacks = false;        ///< a fence, or a scope that is wide enough
  Scope scope = Scope::gpu;  ///< that it has
  bool unsaid = false;       ///< by default: the statement says none
  /// Of a write that lacks a fence: the scope of one that stands before it, and before what it must release.
  std::optional<Scope> fenced = {};
  bool is_own = false;              ///< by the thread whose access is not ordered
  const std::byte* word = nullptr;  ///< of a read: what it has read
};

/// Why something does not order two accesses, although it nearly does.
struct Flaw {
  enum class Kind : std::uint8_t {
    fence,    ///< one is missing
    scope,    ///< one is too narrow
    relaxed,  ///< the flag's write is .relaxed, which is no release, or its read, which is no acquire
    arrival,  ///< the same of an arrival
    unmet,    ///< another thread of the block has written the flag, and nothing orders that behind the access
    early,    ///< the flag was written before the access
    lanes     ///< other lanes of the warp have acquired the flag, and have not met this one since
  } kind = Kind::fence;
  Scope scope = Scope::cta;
  FlagUse write = {}, read = {};
};

/// What is known of the threads of all clusters of a grid. Its parts never change: what many know they share. By the digits of
/// a cluster's number, the highest first:
///
///     root --4--> . --0--> . --2--> the clocks of cluster 0x402
class Far {
 public:
  bool empty() const { return !root_; }
  /// Of the threads of a cluster, in whole warps.
  void add(std::uint64_t cluster, const Clocks& clocks);
  void join(const Far& other);
  bool knows(std::uint64_t cluster, int thread, std::uint32_t clock) const;

 private:
  static constexpr int kBits = 4;
  static constexpr std::size_t kChildren = std::size_t{1} << kBits;
  struct Node;
  using Link = std::shared_ptr<const Node>;
  static Link joined(const Link& one, const Link& other);
  void lift(int digits);

  Link root_;
  int digits_ = 0;
};

/// What would be known if a strong access had the fence or the scope that it lacks, and `others` too, if there are any.
struct Nearly {
  Clocks known;
  Far far;
  Flaw flaw;
  int others = 0;
};
/// By the flag and what it lacks, the latest last.
class NearlyKnown {
 public:
  bool empty() const { return all_.empty(); }
  void add(const Nearly& one);
  void join(const NearlyKnown& other);
  /// The flaw of what has `knows(one)`: of those to which the fewest others must be added, and of which the fewest sides lack
  /// something, the latest one's. A fence that is too narrow is one that stands there.
  template <class Knows>
  std::optional<Flaw> find(Knows knows) const {
    const auto lacks = [](const Nearly& one) {
      return std::tuple(one.others, int{one.flaw.write.lacks} + int{one.flaw.read.lacks},
                        one.flaw.kind != Flaw::Kind::scope);
    };
    const Nearly* out = nullptr;
    for (const Nearly& one : all_)
      if ((out == nullptr || lacks(one) <= lacks(*out)) && knows(one)) out = &one;
    return out == nullptr ? std::nullopt : std::optional(out->flaw);
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::vector<Nearly> all_;
};

/// A flag that does not even nearly hand over what it would have to, for those who look for the cause of a race.
struct Hint {
  Clocks known;  ///< what would be known
  Far far;
  Flaw flaw;
  std::vector<FlagUse> writes;  ///< by the clusters that have written it
  Far blocks = {};              ///< what their blocks had done by then, ordered or not

  /// The flaw, with the write by this cluster.
  Flaw flaw_of(std::uint64_t cluster) const;
};
/// By the flag, the latest last: a few of each kind. Hints never change, and many share them.
class Hints {
 public:
  bool empty() const { return all_.empty(); }
  void add(std::shared_ptr<const Hint> one);
  void join(const Hints& other);
  /// The latest that has `knows(one)`; nullptr: there is none. One of a flag that all threads of its block wait for is better.
  template <class Knows>
  const Hint* find(Knows knows) const {
    const Hint* out = nullptr;
    for (const auto& one : all_) {
      const bool is_worse =
          out != nullptr && one->flaw.kind == Flaw::Kind::unmet && out->flaw.kind != one->flaw.kind;
      if (!is_worse && knows(*one)) out = one.get();
    }
    return out;
  }

 private:
  std::vector<std::shared_ptr<const Hint>> all_;
};

/// The clock of each actor up to which its actions are known, and up to which they are also proxy-fenced. Actors beyond
/// the end are at 0.
struct Knowledge {
  Clocks known, fenced;
  Far far;  ///< of other clusters
  NearlyKnown nearly;
  Hints hints = {};

  bool empty() const { return known.empty() && fenced.empty() && far.empty() && nearly.empty(); }
  /// What is known to both of them.
  void join(const Knowledge& other);
  /// The same, of which something lacks to be known; what is nearly known there lacks what it did.
  void join_nearly(const Knowledge& other, const Flaw& flaw);
};
using Known = std::shared_ptr<const Knowledge>;

/// What a strong write leaves at its address.
struct Posting {
  std::array<Known, kScopes> released;  ///< to those whom at least this scope reaches
  Known unfenced;                       ///< to nobody, since there is no fence: all that the lanes have done
  std::optional<Scope> fenced;          ///< of a fence of the lanes, which is not behind all of this
  Scope scope = Scope::gpu;             ///< of the write
  Known relaxed;           ///< the same of a write that says .relaxed: it orders nothing, nearly or not
  Far block;               ///< of a flag: what all threads of the block have done, in whatever order
  bool is_fenced = true;   ///< of a flag: it hands over something
  bool by_fences = false;  ///< `released` is what came before fences
};

/// Who writes: his cluster, its block and the thread, both numbered in the cluster.
struct Writer {
  std::uint64_t cluster = 0;
  int rank = 0, thread = -1;
  device::Place at = {};
};

/// What has been released at an address, for those who read there.
class Message {
 public:
  /// To threads of the cluster in which it was written.
  struct Letter {
    std::uint64_t cluster;
    int rank;
    Scope scope;
    bool unfenced;
    Known what;
    FlagUse write;
  };
  /// A write adds to what is there if it is atomic and reads what it replaces (PTX manual, "Observation Order"), or by the
  /// same thread. `keeps`: it adds anyway.
  void put(const Posting& posting, const Writer& by, bool keeps);

  std::span<const Letter> letters() const { return letters_; }
  /// Counts the writes.
  std::uint64_t writes() const { return writes_; }
  /// To threads of other clusters: what reaches them, and what nearly does. Of writes here the flaws have no read.
  const Far& far() const { return far_; }
  /// Of that what came before a fence.
  const Far& far_by_fences() const { return far_by_fences_; }
  const NearlyKnown& nearly_far() const { return nearly_far_; }
  /// What would have been released by writes that are .relaxed; nullptr: there are none.
  const Known& relaxed() const { return relaxed_; }
  FlagUse last() const { return {last_.at, last_.cluster, last_.thread}; }
  /// What the blocks of the writers have done by then, ordered or not.
  const Far& blocks() const { return blocks_; }
  /// Whether the last write of a flag has handed over something.
  bool is_fenced() const { return is_fenced_; }
  /// The last write of each cluster.
  const std::vector<FlagUse>& writers() const { return writers_; }

 private:
  void add(Letter letter);
  void add_writer(const Writer& by);

  std::vector<Letter> letters_;  // the latest last
  std::vector<FlagUse> writers_;
  Far far_, far_by_fences_, blocks_;
  NearlyKnown nearly_far_;
  Known relaxed_;
  Writer last_;
  std::uint64_t writes_ = 0;
  bool is_fenced_ = true;
};

/// The messages at all addresses. There are so many slots: addresses that share one share their messages, too, so that more
/// seems to be ordered, never less.
class Messages {
 public:
  explicit Messages(int bits) : bits_(bits) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<std::uint64_t> word;
    bool is_shared = false;  // by several words
    Message message;
  };

 public:
  /// The words of an access, which nobody else changes or reads while this exists.
  class Held {
   public:
    Held() = default;
    Held(Messages& of, std::uint64_t address, std::size_t bytes);
    Held(Held&& other) noexcept : slots_(other.slots_), count_(std::exchange(other.count_, 0)) {}
    Held& operator=(Held&&) = delete;
    ~Held();
    bool empty() const { return count_ == 0; }
    void put(const Posting& posting, const Writer& by, bool keeps);
    template <class Visit>
    void for_each(Visit visit) const {
      for (std::size_t i = 0; i < count_; ++i) visit(slots_[i]->message);
    }

   private:
    static constexpr std::size_t kMost = 8;
    std::array<Slot*, kMost> slots_ = {};
    std::size_t count_ = 0;
  };

 private:
  Slot& slot(std::uint64_t word);

  int bits_;
  std::once_flag made_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace warpbit::block
#pragma GCC visibility pop
