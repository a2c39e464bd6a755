// SPDX-License-Identifier: Apache-2.0
#include "block/message.hpp"

#include <algorithm>
#include <iterator>

namespace warpbit::block {

void join(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

namespace {

constexpr int kOthers = 1;  // the same as more

}  // namespace

void NearlyKnown::add(const Nearly& one) {
  const auto is_same = [&](const Nearly& other) {
    const Flaw &x = one.flaw, &y = other.flaw;
    const bool is_of_scope = x.kind == Flaw::Kind::scope;
    return x.kind == y.kind && (!is_of_scope || x.scope == y.scope) && x.write.at == y.write.at &&
           x.read.at == y.read.at && x.write.lacks == y.write.lacks && one.others == other.others;
  };
  const auto join = [](Nearly& into, const Nearly& from) {
    block::join(into.known, from.known);
    into.far.join(from.far);
  };
  if (const auto same = std::ranges::find_if(all_, is_same); same != all_.end()) {
    join(*same, one);
    const bool lacks = same->flaw.read.lacks && one.flaw.read.lacks;  // a fence may have come since
    same->flaw = one.flaw;
    same->flaw.read.lacks = lacks;
    std::rotate(same, same + 1, all_.end());
    return;
  }
  all_.push_back(one);
  constexpr std::size_t kMost = 8;
  if (all_.size() <= kMost) return;
  join(all_[1], all_[0]);
  all_.erase(all_.begin());
}

void NearlyKnown::join(const NearlyKnown& other) {
  if (this != &other)
    for (const Nearly& one : other) add(one);
}

Flaw Hint::flaw_of(std::uint64_t cluster) const {
  Flaw out = flaw;
  const auto own = std::ranges::find(writes, cluster, &FlagUse::cluster);
  if (own == writes.end()) return out;
  out.write.at = own->at;
  out.write.cluster = cluster;
  out.write.thread = own->thread;
  return out;
}

void Hints::add(std::shared_ptr<const Hint> one) {
  constexpr std::ptrdiff_t kMost = 4;  // of a kind
  const auto is_of_kind = [&](const auto& other) { return other->flaw.kind == one->flaw.kind; };
  const auto is_same = [&](const auto& other) {
    return is_of_kind(other) && other->flaw.write.at == one->flaw.write.at &&
           other->flaw.read.at == one->flaw.read.at;
  };
  std::erase_if(all_, is_same);
  if (std::ranges::count_if(all_, is_of_kind) == kMost) all_.erase(std::ranges::find_if(all_, is_of_kind));
  all_.push_back(std::move(one));
}

void Hints::join(const Hints& other) {
  if (this == &other) return;
  for (const auto& one : other.all_)
    if (std::ranges::find(all_, one) == all_.end()) add(one);
}

void Knowledge::join(const Knowledge& other) {
  block::join(known, other.known);
  block::join(fenced, other.fenced);
  far.join(other.far);
  nearly.join(other.nearly);
  hints.join(other.hints);
}

void Knowledge::join_nearly(const Knowledge& other, const Flaw& flaw) {
  for (Nearly one : other.nearly) {
    one.others = kOthers;
    nearly.add(one);
  }
  if (!other.known.empty() || !other.far.empty()) nearly.add({other.known, other.far, flaw});
}

// ---- Far

namespace {

constexpr std::size_t kWarpThreads = 32;

/// Of each warp the clock up to which all its threads are known, and single threads of which more is known.
struct WarpClocks {
  struct More {
    std::uint32_t thread, clock;
  };
  Clocks warps;
  std::vector<More> more;  // by thread

  explicit WarpClocks(const Clocks& threads) : warps(threads.size() / kWarpThreads) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const auto first = threads.begin() + static_cast<std::ptrdiff_t>(i / kWarpThreads * kWarpThreads);
      if (i % kWarpThreads == 0) warps[i / kWarpThreads] = *std::min_element(first, first + kWarpThreads);
      if (threads[i] > warps[i / kWarpThreads]) more.push_back({static_cast<std::uint32_t>(i), threads[i]});
    }
  }
  /// What either of them knows.
  WarpClocks(const WarpClocks& one, const WarpClocks& other) : warps(one.warps) {
    block::join(warps, other.warps);
    std::vector<More> all;
    std::ranges::merge(one.more, other.more, std::back_inserter(all), {}, &More::thread, &More::thread);
    for (const More& next : all) {
      if (next.clock <= warps[next.thread / kWarpThreads]) continue;
      if (!more.empty() && more.back().thread == next.thread)
        more.back().clock = std::max(more.back().clock, next.clock);
      else
        more.push_back(next);
    }
  }
  /// True only if it knows all that the other one does.
  bool covers(const WarpClocks& other) const {
    if (!std::ranges::equal(warps, other.warps, std::ranges::greater_equal())) return false;
    return std::ranges::all_of(other.more, [&](const More& one) { return knows(one.thread, one.clock - 1); });
  }
  bool knows(std::size_t thread, std::uint32_t clock) const {
    if (thread / kWarpThreads < warps.size() && clock < warps[thread / kWarpThreads]) return true;
    const auto at = std::ranges::lower_bound(more, thread, {}, &More::thread);
    return at != more.end() && at->thread == thread && clock < at->clock;
  }
};

}  // namespace

struct Far::Node {
  std::vector<Link> child = {};           // by a digit
  std::optional<WarpClocks> clocks = {};  // of a cluster, which has no children
};

// Many are joined, and most parts of two are the same or one has all that the other one has: these are shared.
Far::Link Far::joined(const Link& one, const Link& other) {
  if (!other || one == other) return one;
  if (!one) return other;
  if (one->clocks) {
    if (one->clocks->covers(*other->clocks)) return one;
    if (other->clocks->covers(*one->clocks)) return other;
    return std::make_shared<const Node>(Node{{}, WarpClocks(*one->clocks, *other->clocks)});
  }
  std::shared_ptr<Node> made;  // none while it would be one of the two
  bool is_one = true, is_other = true;
  for (std::size_t i = 0; i < one->child.size(); ++i) {
    const Link &first = one->child[i], &second = other->child[i];
    if (first == second) continue;
    Link both = joined(first, second);
    const bool was_one = is_one;
    is_one = is_one && both == first;
    is_other = is_other && both == second;
    if (is_one || is_other) continue;
    if (!made) made = std::make_shared<Node>(was_one ? *one : *other);
    made->child[i] = std::move(both);
  }
  return is_one ? one : is_other ? other : made;
}

// Below a root of so many digits.
void Far::lift(int digits) {
  for (; digits_ < digits; ++digits_) {
    if (!root_) continue;
    Node above{std::vector<Link>(kChildren)};
    above.child[0] = std::move(root_);
    root_ = std::make_shared<const Node>(std::move(above));
  }
}

void Far::join(const Far& other) {
  if (other.empty() || other.root_ == root_) return;
  Far of = other;
  of.lift(digits_);
  lift(of.digits_);
  root_ = joined(root_, of.root_);
}

void Far::add(std::uint64_t cluster, const Clocks& clocks) {
  Far one;
  one.root_ = std::make_shared<const Node>(Node{{}, WarpClocks(clocks)});
  for (std::uint64_t rest = cluster; one.digits_ == 0 || rest != 0; rest >>= kBits, ++one.digits_) {
    Node above{std::vector<Link>(kChildren)};
    above.child[rest % kChildren] = std::move(one.root_);
    one.root_ = std::make_shared<const Node>(std::move(above));
  }
  join(one);
}

bool Far::knows(std::uint64_t cluster, int thread, std::uint32_t clock) const {
  if (digits_ * kBits < 64 && cluster >> (digits_ * kBits) != 0) return false;
  const Node* at = root_.get();
  for (int digit = digits_; at != nullptr && digit-- > 0;)
    at = at->child[(cluster >> (digit * kBits)) % kChildren].get();
  return at != nullptr && at->clocks->knows(static_cast<std::size_t>(thread), clock);
}

// ---- Messages

namespace {

Known joined(const Known& one, const Known& other) {
  if (!one || !other || one == other) return one ? one : other;
  Knowledge both = *one;
  both.join(*other);
  return std::make_shared<const Knowledge>(std::move(both));
}

// What is nearly known of other clusters; `lacks`: the write that passes it on lacks something, too.
void add_far(NearlyKnown& to, const NearlyKnown& from, bool lacks) {
  for (const Nearly& one : from)
    if (!one.far.empty()) to.add({{}, one.far, one.flaw, lacks ? kOthers : one.others});
}

}  // namespace

void Message::put(const Posting& posting, const Writer& by, bool keeps) {
  if (!keeps && (by.cluster != last_.cluster || by.thread != last_.thread)) {
    letters_.clear();
    writers_.clear();
    far_ = far_by_fences_ = blocks_ = {};
    nearly_far_ = {};
  }
  if (posting.relaxed || posting.released[0]) add_writer(by);
  blocks_.join(posting.block);
  is_fenced_ = posting.is_fenced;
  relaxed_ = keeps ? joined(relaxed_, posting.relaxed) : posting.relaxed;
  last_ = by;
  ++writes_;
  const auto& of = posting.released;
  for (std::size_t s = kScopes; s-- > 0;)
    if (of[s] && (s + 1 == kScopes || of[s] != of[s + 1])) {
      const auto scope = static_cast<Scope>(s);
      const FlagUse write{by.at, by.cluster, by.thread, false, scope};
      add({by.cluster, by.rank, scope, false, of[s], write});
      if (scope == Scope::gpu) {
        far_.join(of[s]->far);
        if (posting.by_fences) far_by_fences_.join(of[s]->far);
        add_far(nearly_far_, of[s]->nearly, false);
      } else {
        Flaw flaw{Flaw::Kind::scope, scope, write};
        flaw.write.lacks = true;
        add_far(nearly_far_, of[s]->nearly, true);
        nearly_far_.add({{}, of[s]->far, flaw});
      }
    }
  if (!posting.unfenced) return;
  const FlagUse write{by.at, by.cluster, by.thread, true, posting.scope, false, posting.fenced};
  const Flaw::Kind lacks = posting.scope < Scope::gpu ? Flaw::Kind::scope : Flaw::Kind::fence;
  add({by.cluster, by.rank, posting.scope, true, posting.unfenced, write});
  add_far(nearly_far_, posting.unfenced->nearly, true);
  nearly_far_.add({{}, posting.unfenced->far, {.kind = lacks, .scope = posting.scope, .write = write}});
}

void Message::add_writer(const Writer& by) {
  constexpr std::size_t kMost = 64;
  std::erase_if(writers_, [&](const FlagUse& one) { return one.cluster == by.cluster; });
  if (writers_.size() == kMost) writers_.erase(writers_.begin());
  writers_.push_back({by.at, by.cluster, by.thread});
}

// One for each block, scope and kind.
void Message::add(Letter letter) {
  constexpr std::size_t kMost = 64;
  const auto same = std::ranges::find_if(letters_, [&](const Letter& one) {
    return one.cluster == letter.cluster && one.rank == letter.rank && one.scope == letter.scope &&
           one.unfenced == letter.unfenced;
  });
  if (same != letters_.end()) {
    same->write = letter.write;
    same->what = joined(same->what, letter.what);
    return;
  }
  if (letters_.size() == kMost) letters_.erase(letters_.begin());
  letters_.push_back(std::move(letter));
}

Messages::Slot& Messages::slot(std::uint64_t word) {
  std::call_once(made_, [&] { slots_ = std::make_unique<Slot[]>(std::size_t{1} << bits_); });
  constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;  // spreads words that are any distance apart
  return slots_[word * kGolden >> (64 - bits_)];
}

Messages::Held::Held(Messages& of, std::uint64_t address, std::size_t bytes) {
  constexpr std::uint64_t kWord = 4;
  const std::uint64_t first = address / kWord, end = (address + bytes + kWord - 1) / kWord;
  for (std::uint64_t word = first; word < end && count_ < kMost; ++word) slots_[count_++] = &of.slot(word);
  const auto all = std::span(slots_).first(count_);
  std::ranges::sort(all);  // whoever holds several takes them in this order
  count_ = static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
  for (std::size_t i = 0; i < count_; ++i) slots_[i]->mutex.lock();
  for (std::uint64_t word = first; word < end; ++word) {
    Slot& one = of.slot(word);
    one.is_shared = one.is_shared || (one.word && *one.word != word);
    one.word = word;
  }
}

Messages::Held::~Held() {
  while (count_ > 0) slots_[--count_]->mutex.unlock();
}

void Messages::Held::put(const Posting& posting, const Writer& by, bool keeps) {
  for (std::size_t i = 0; i < count_; ++i) slots_[i]->message.put(posting, by, keeps || slots_[i]->is_shared);
}

}  // namespace warpbit::block
