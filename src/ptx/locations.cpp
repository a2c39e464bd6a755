// SPDX-License-Identifier: Apache-2.0
#include "ptx/locations.hpp"

#include <algorithm>
#include <span>

namespace warpbit::ptx {
namespace {

// Deeper chains, and more places of one line, are not looked through: text could make both as long as it is itself.
constexpr int kMostLinks = 64;
constexpr std::size_t kMostPlaces = 1024, kMostTold = 64;

LinePlace place_of(const Location& location) {
  return {location.file, location.line, location.column};
}

}  // namespace

void Locations::clear() {
  *this = Locations(*all_);
}

int Locations::add(Location here, const std::optional<LinePlace>& inlined_at) {
  const Key key{place_of(here), inlined_at.value_or(LinePlace{})};
  Occurrences& seen = seen_[key];
  Choice choice;
  if (inlined_at) {
    choice = choose(key, seen);
    here.inlined_at = choice.parent;
    if (!choice.is_sure) {
      if (const auto all = sure_.find(*inlined_at); all != sure_.end())
        here.or_inlined_at.assign(
            all->second.end() - static_cast<std::ptrdiff_t>(std::min(all->second.size(), kMostTold)),
            all->second.end());
    }
  } else {
    is_anchored_ = true;
    choice.like = next_like(seen);
    // A line of a function that was inlined belongs to no other: nvcc leaves out the rest where it comes back to one.
    if (const auto same = sure_.find(key.first); same != sure_.end() && at(same->second.back()).inlined_at >= 0)
      here = at(same->second.back());
  }
  like_ = choice.like.value_or(order_.size());
  seen.push_back(order_.size());
  order_.push_back(index_of(here, choice.is_sure));
  return order_.back();
}

// Where the line was inlined: at the .loc directly before, if that is what inlined_at names.
Locations::Choice Locations::choose(const Key& key, const Occurrences& seen) {
  const LinePlace& parent = key.second;
  if (!order_.empty() && place_of(at(order_.back())) == parent) {
    const bool is_known = known_.contains({key.first, order_.back(), true});
    return {order_.back(), at(order_.back()).or_inlined_at.empty(), is_known ? next_like(seen) : std::nullopt};
  }
  const auto named = sure_.find(parent);
  if (named != sure_.end()) return choose_of(named->second, seen);
  if (const auto last = not_sure_.find(parent); last != not_sure_.end()) return {last->second, false};
  Location unknown;
  unknown.file = parent.file;
  unknown.line = parent.line;
  unknown.column = parent.column;
  return {index_of(unknown, true)};
}

// Of several: as it was in what the .loc before repeat; the nearest to the chain of the last one; that of the basic block, if it
// has one, else the last one that is sure, as compilers write the blocks of an unrolled loop behind each other; this one is not sure.
Locations::Choice Locations::choose_of(const std::vector<int>& parents, const Occurrences& seen) {
  if (parents.size() == 1) {
    is_anchored_ = true;
    return {parents.front(), true, distance(parents.front()) ? std::nullopt : next_like(seen)};
  }
  if (const auto next = std::ranges::upper_bound(seen, like_); next != seen.end()) {
    const Location& like = at(order_[*next]);
    return {like.inlined_at, is_anchored_ && like.or_inlined_at.empty(), *next};
  }
  if (const std::optional<int> nearest = this->nearest(parents))
    return {*nearest, at(order_.back()).or_inlined_at.empty()};
  is_anchored_ = false;
  if (seen.empty()) return {parents.back(), false};
  const auto in_block = std::ranges::lower_bound(seen, block_);
  const std::span own(in_block, seen.end());
  const std::size_t like = own.empty() ? seen.front() : own.front();
  const auto is_like = [&](std::size_t one) { return order_[one] == order_[like]; };
  const bool is_only_one = !own.empty() && own.size() <= kMostPlaces && std::ranges::all_of(own, is_like);
  if (!own.empty())
    return {at(order_[like]).inlined_at, is_only_one && at(order_[like]).or_inlined_at.empty(), like};
  const auto latest = std::span(seen).last(std::min(seen.size(), kMostPlaces));
  const auto last = std::find_if(latest.rbegin(), latest.rend(),
                                 [&](std::size_t one) { return at(order_[one]).or_inlined_at.empty(); });
  return {at(order_[last == latest.rend() ? like : *last]).inlined_at, false, like};
}

// The next .loc of a copy repeats the next one of its kind behind what the last one repeats.
std::optional<std::size_t> Locations::next_like(const Occurrences& seen) const {
  if (seen.empty()) return {};
  const auto next = std::ranges::upper_bound(seen, like_);
  return next != seen.end() ? *next : seen.back();
}

// How many links of the last chain are further inside than what it shares with the chain of another place.
std::optional<int> Locations::distance(int location) const {
  for (int links = 0; location >= 0 && links < kMostLinks; location = at(location).inlined_at, ++links) {
    int out = 0;
    for (int last = order_.empty() ? -1 : order_.back(); last >= 0 && out < kMostLinks; ++out) {
      if (last == location) return out;
      last = at(last).inlined_at;
    }
  }
  return {};
}

std::optional<int> Locations::nearest(const std::vector<int>& places) const {
  std::optional<int> out, least;
  bool is_one = false;
  if (places.size() > kMostPlaces) return out;
  for (const int one : places) {
    const std::optional<int> own = distance(one);
    if (!own || (least && *own > *least)) continue;
    is_one = !least || *own < *least;
    least = own;
    out = one;
  }
  return is_one ? out : std::nullopt;
}

int Locations::index_of(const Location& here, bool is_sure) {
  const auto [found, is_new] =
      known_.try_emplace({place_of(here), here.inlined_at, is_sure}, static_cast<int>(all_->size()));
  if (is_new) {
    all_->push_back(here);
    if (is_sure) sure_[place_of(here)].push_back(found->second);
  }
  if (!is_sure) not_sure_[place_of(here)] = found->second;
  return found->second;
}

}  // namespace warpbit::ptx
