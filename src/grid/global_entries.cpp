// SPDX-License-Identifier: Apache-2.0
#include "grid/global_entries.hpp"

#include <algorithm>
#include <utility>

namespace warpbit::grid {

void GlobalEntries::grow() {
  constexpr std::uint32_t kUsual = 4;  // parts of a line that warps write
  capacity_ = std::max(kUsual, 2 * capacity_);
  auto more = std::make_unique_for_overwrite<GlobalEntry[]>(capacity_);
  std::copy(begin(), end(), more.get());
  data_ = std::move(more);
}

void GlobalEntries::erase_empty() {
  const auto kept = std::remove_if(begin(), end(), [](const GlobalEntry& one) { return one.bytes == 0; });
  size_ = static_cast<std::uint32_t>(kept - begin());
}

void GlobalEntries::remove(LineBits bytes) {
  for (GlobalEntry& old : *this) old.bytes &= ~bytes;
  erase_empty();
}

namespace {

/// The bytes that so many entries have, at least.
template <std::size_t kMost>
class Times {
 public:
  void add(LineBits bytes) {
    for (std::size_t i = kMost; i-- > 1;) at_least_[i] |= at_least_[i - 1] & bytes;
    at_least_[0] |= bytes;
  }
  LineBits most() const { return at_least_[kMost - 1]; }

 private:
  std::array<LineBits, kMost> at_least_ = {};
};

}  // namespace

// Bytes of one that are also of its warp's later ones, of two of its cluster's, or of more than two clusters can have.
LineBits GlobalEntries::surplus(const GlobalEntry* of, const GlobalEntry& now) {
  Times<1> warp;
  Times<2> cluster;
  Times<5> others;
  const auto count = [&](const GlobalEntry& later) {
    const LineBits bytes = later.bytes & of->bytes & now.bytes;
    if (bytes == 0 || later.superseded || !later.is_as_weak(*of)) return;
    if (later.cluster != of->cluster) return others.add(bytes);
    if (later.warp == of->warp) warp.add(bytes);
    cluster.add(bytes);
  };
  std::for_each(of + 1, static_cast<const GlobalEntry*>(end()), count);
  count(now);
  return warp.most() | cluster.most() | others.most();
}

// That place has seen another cluster last, or none.
void GlobalWords::put_first(Word& word, const GlobalMark& one) {
  const auto same = std::find_if(word.begin(), word.end() - 1,
                                 [&](const ByWarp& of) { return of.last.cluster == one.cluster; });
  std::rotate(word.begin(), same, same + 1);
  ByWarp& of = word[0];
  if (of.last.cluster != one.cluster) of = {};
  if (of.last.writes && of.last.warp != one.warp) of.other = of.last;
  of.last = one;
}

void GlobalWords::remove(LineBits bytes) {
  for (std::size_t place = 0; place < words_.size(); ++place)
    if ((bytes_of(place) & bytes) != 0) words_[place] = {};
}

}  // namespace warpbit::grid
