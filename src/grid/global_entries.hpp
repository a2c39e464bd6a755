// SPDX-License-Identifier: Apache-2.0
// What the record of global memory (global_accesses.hpp) keeps of a line of 128 bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace warpbit::grid {

inline constexpr std::size_t kLine = 128;
/// A bit for each byte of a line.
__extension__ using LineBits = unsigned __int128;

/// The lowest ones.
inline LineBits low_bits(std::size_t count) {
  return count >= kLine ? ~LineBits{0} : (LineBits{1} << count) - 1;
}
inline std::size_t lowest_of(LineBits bits) {
  const auto low = static_cast<std::uint64_t>(bits);
  return static_cast<std::size_t>(low != 0 ? std::countr_zero(low)
                                           : 64 + std::countr_zero(static_cast<std::uint64_t>(bits >> 64)));
}
/// How many there are from the lowest one on that hang together.
inline std::size_t size_of(LineBits bits) {
  const std::size_t first = lowest_of(bits);
  const LineBits above = ~(bits >> first);  // behind all of them are ones
  return above == 0 ? 128 : lowest_of(above);
}

/// Who has accessed bytes of a line by one instruction, and how: lane `lane` some from byte `first` on, the next lane some from
/// 2^shift bytes further on, and so on.
struct GlobalMark {
  std::uint32_t cluster, clock;
  std::uint32_t site : 24, shift : 4, strong : 1, non_coherent : 1, writes : 1;
  std::uint32_t superseded : 1;  ///< by a write of the same bytes: further writes alone may conflict with it
  std::uint16_t warp;
  std::uint8_t lane : 5;
  std::uint8_t falls : 1;    ///< the next lane is the one before
  std::uint8_t repeats : 1;  ///< a strong store of what was there already
  std::uint8_t async : 1;    ///< through the async proxy
  std::uint8_t first;

  int lane_of(std::size_t byte) const {
    const int further = static_cast<int>((byte - first) >> shift);
    return falls ? lane - further : lane + further;
  }
  int thread_of(std::size_t byte) const { return warp * 32 + lane_of(byte); }
  /// Behind the last byte of the line that is of the same lane as this one.
  std::size_t end_of_lane(std::size_t byte) const { return first + ((((byte - first) >> shift) + 1) << shift); }
  bool is_of_warp(const GlobalMark& other) const { return warp == other.warp && cluster == other.cluster; }
  /// Whether each byte that both have is of one lane.
  bool is_of_lanes(const GlobalMark& other) const {
    return is_of_warp(other) && lane == other.lane && first == other.first && shift == other.shift &&
           falls == other.falls;
  }
  /// Whether what conflicts with another one by its kind conflicts with this one, too: all that conflicts with an atomic does with a
  /// plain store, but not the other way round.
  bool is_as_weak(const GlobalMark& other) const {
    return (!strong || other.strong) && (non_coherent || !other.non_coherent);
  }
};

/// The same, and which bytes.
struct GlobalEntry : GlobalMark {
  LineBits bytes;
};

/// Entries in one piece of memory. The latest is the last.
class GlobalEntries {
 public:
  GlobalEntry* begin() { return data_.get(); }
  GlobalEntry* end() { return begin() + size_; }
  bool empty() const { return size_ == 0; }
  void push_back(const GlobalEntry& one) {
    if (size_ == capacity_) grow();
    data_[size_++] = one;
  }
  /// Bytes of all of them are dropped.
  void remove(LineBits bytes);
  /// Bytes of `now`, which is to come, are dropped where later ones stand for them. Of those that nothing orders there stay of
  /// each byte the last ones by two warps of each of three clusters: whoever comes then, one of another warp, and one of another
  /// cluster, is there, if there has been any. `stands(old)`: whether `now` stands for all bytes of an old one that it has.
  template <class Stands>
  void thin(const GlobalEntry& now, Stands stands);

 private:
  void grow();
  LineBits surplus(const GlobalEntry* of, const GlobalEntry& now);
  void erase_empty();

  std::unique_ptr<GlobalEntry[]> data_;
  std::uint32_t size_ = 0, capacity_ = 0;
};

template <class Stands>
void GlobalEntries::thin(const GlobalEntry& now, Stands stands) {
  bool any = false;
  for (GlobalEntry* next = end(); next != begin();) {
    GlobalEntry* const old = --next;
    const LineBits both = old->bytes & now.bytes;
    if (both == 0) continue;
    const LineBits dropped = stands(*old) ? both : surplus(old, now);
    old->bytes &= ~dropped;
    any = any || old->bytes == 0;
  }
  if (any) erase_empty();
}

/// What atomics leave, by its place in the line: strong writes of one lane each, all of `size` bytes. None of them conflicts
/// with another one, so each place has as many as GlobalEntries::thin leaves, and the last one is found at once, where a list of
/// 32 would be searched. This, one lock for all lanes and sums of integers done here took a histogram by red.global, 2^19 words
/// into 256 bins, from 126 ms to 50.
class GlobalWords {
 public:
  explicit GlobalWords(std::size_t size) : size_(size) {}
  std::size_t size() const { return size_; }
  /// Whether it may be put here.
  static bool is_word(const GlobalEntry& one, std::size_t size) {
    return one.strong && one.writes && !one.superseded && !one.non_coherent &&
           std::size_t{1} << one.shift == size && one.bytes == low_bits(size) << one.first;
  }
  void put(const GlobalMark& one) {
    Word& word = words_[one.first / 4];
    ByWarp& of = word[0];
    if (of.last.cluster != one.cluster) return put_first(word, one);
    if (of.last.warp != one.warp) of.other = of.last;
    of.last = one;
  }
  /// With `visit(entry)`, the last one of a place first.
  template <class Visit>
  void for_each(LineBits bytes, Visit visit) const;
  void remove(LineBits bytes);

 private:
  /// Of a cluster the last one, and that of another warp. None: it does not write.
  struct ByWarp {
    GlobalMark last, other;
  };
  using Word = std::array<ByWarp, 3>;  ///< of the last clusters
  static void put_first(Word& word, const GlobalMark& one);
  LineBits bytes_of(std::size_t place) const { return low_bits(size_) << 4 * place; }

  std::size_t size_;
  std::array<Word, kLine / 4> words_ = {};
};

template <class Visit>
void GlobalWords::for_each(LineBits bytes, Visit visit) const {
  for (std::size_t place = 0; place < words_.size(); ++place) {
    if ((bytes_of(place) & bytes) == 0) continue;
    for (const ByWarp& of : words_[place])
      for (const GlobalMark* one : {&of.last, &of.other})
        if (one->writes) visit(GlobalEntry{*one, bytes_of(place)});
  }
}

/// What a line has that one entry does not tell. A plain store takes the place of all before it, a strong write that of strong ones
/// alone: another atomic conflicts with a plain store, whatever atomic its thread has done since.
struct GlobalLists {
  GlobalEntries writes, reads;
  std::unique_ptr<GlobalWords> words;  ///< writes, later than those of the list
};

/// A line. Most have one entry, in as many bytes as a quarter of the line; of a new one all bytes are zero. A line of a matrix of
/// sums has several pieces by one warp, of 16, 32 or 64 bytes each, that nothing but their places and statements distinguishes.
/// They take as much:
///
///     bits != 0   one      the entry; or what pieces have in common, and the statement of the first one. Bits tell which bytes, or
///                          for each piece, the earliest first, its place and how many statements it is from the first one's
///     bits == 0   lists    where there is more; nullptr: nobody has accessed it
class GlobalLine {
 public:
  static constexpr std::size_t kMostPieces = 8;
  using Buffer = std::array<GlobalEntry, kMostPieces>;

  GlobalLists* find_lists() const { return bits_ == 0 ? lists_ : nullptr; }
  bool is_new() const { return bits_ == 0 && lists_ == nullptr; }
  /// Preconditions here and below: it has no lists. The earliest first.
  std::span<const GlobalEntry> entries(Buffer& buffer) const {
    if (is_pieces()) return pieces(buffer);
    if (bits_ == 0) return {};
    buffer[0] = {one_, bits_};
    return {buffer.data(), 1};
  }
  void put(const GlobalEntry& entry) {
    bits_ = entry.bytes;
    one_ = entry;
  }
  void put(GlobalLists& all) {
    bits_ = 0;
    lists_ = &all;
  }
  /// Whether a piece of so many bytes, whose mark is that of a plain store, is now here beside others like it.
  bool put_piece(const GlobalMark& now, std::size_t size);

 private:
  // The count less 1 and the size, in what else is the first byte.
  static constexpr std::uint8_t kPieces = kLine;
  using Pieces = std::array<std::uint16_t, kMostPieces>;
  bool is_pieces() const { return bits_ != 0 && one_.first >= kPieces; }
  std::size_t count() const { return (one_.first & 7U) + 1; }
  std::size_t size() const { return std::size_t{16} << (one_.first >> 3 & 3U); }
  std::span<const GlobalEntry> pieces(Buffer& buffer) const;

  LineBits bits_;
  union {
    GlobalMark one_;
    GlobalLists* lists_;
  };
};

}  // namespace warpbit::grid
