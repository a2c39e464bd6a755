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

// ---- Pieces

namespace {

// In a piece: 3 bits of its place, and the distance of statements, of which none is 0.
constexpr int kPlaceBits = 3;
constexpr std::int32_t kNoDistance = 1 << 12;

}  // namespace

bool GlobalLine::put_piece(const GlobalMark& now, std::size_t size) {
  const auto place = static_cast<std::uint16_t>(now.first >> std::countr_zero(size));
  const auto shape = static_cast<std::uint8_t>(kPieces | (size / 32) << 3);
  if (bits_ == 0) {
    if (lists_ != nullptr) return false;
    bits_ = static_cast<LineBits>(kNoDistance << kPlaceBits | place);
    one_ = now;
    one_.first = shape;
    return true;
  }
  const auto distance = static_cast<std::int32_t>(now.site) - static_cast<std::int32_t>(one_.site);
  const bool is_like = (one_.first & ~7U) == shape && one_.clock == now.clock && one_.is_of_warp(now) &&
                       one_.lane == now.lane && one_.shift == now.shift;
  if (!is_like || distance <= -kNoDistance || distance >= kNoDistance || count() == kMostPieces) return false;
  auto all = std::bit_cast<Pieces>(bits_);
  for (std::size_t i = 0; i < count(); ++i)
    if ((all[i] & ((1 << kPlaceBits) - 1)) == place) return false;
  all[count()] = static_cast<std::uint16_t>((kNoDistance + distance) << kPlaceBits | place);
  bits_ = std::bit_cast<LineBits>(all);
  ++one_.first;
  return true;
}

std::span<const GlobalEntry> GlobalLine::pieces(Buffer& buffer) const {
  const auto all = std::bit_cast<Pieces>(bits_);
  for (std::size_t i = 0; i < count(); ++i) {
    GlobalEntry& out = buffer[i] = {one_, {}};
    out.site = static_cast<std::uint32_t>(static_cast<std::int32_t>(one_.site) + (all[i] >> kPlaceBits) -
                                          kNoDistance) &
               0xFF'FFFF;
    out.first = static_cast<std::uint8_t>((all[i] & ((1U << kPlaceBits) - 1)) * size());
    out.bytes = low_bits(size()) << out.first;
  }
  return {buffer.data(), count()};
}

}  // namespace warpbit::grid
