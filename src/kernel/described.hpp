// SPDX-License-Identifier: Apache-2.0
// Factors in shared memory, word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "warpbit/descriptor.hpp"

namespace warpbit {

inline constexpr unsigned kChunkBytes = 16;  ///< that a swizzle moves as a whole
inline constexpr unsigned kChunkWords = kChunkBytes / 4;

/// Where the chunks of lines with K contiguous begin; those of eight lines are computed, the others moved,
/// where the swizzle allows it.
class LineChunks {
 public:
  LineChunks(const Descriptor& d, unsigned chunks) : at_(d, Major::k), step_(at_.eight_lines()) {
    for (unsigned line = 0; step_ && line < 8; ++line)
      for (unsigned chunk = 0; chunk < chunks; ++chunk) first_[line][chunk] = at_(line, chunk);
  }
  /// Of line i of eight from `eight` on.
  std::uint64_t operator()(unsigned eight, unsigned i, unsigned chunk) const {
    return step_ ? first_[i][chunk] + eight / 8 * *step_ : at_(eight + i, chunk);
  }
  static constexpr unsigned kMax = 4;  ///< chunks of a line: of a B that meets a sparse A; else two

 private:
  ChunkMap at_;
  std::optional<std::uint64_t> step_;
  std::uint64_t first_[8][kMax];
};

/// Calls store(line, word, its value) for all of a factor whose lines, rows of A or columns of B, have K
/// contiguous.
template <class Store>
void load_k_major(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                  Store store) {
  const auto lines = static_cast<unsigned>(factor.lines),
             chunks = static_cast<unsigned>(factor.depth * factor.element_bits / 8) / kChunkBytes;
  const LineChunks at(d, chunks);
  const auto all = [&]<unsigned kChunks>(std::integral_constant<unsigned, kChunks>) {
    for (unsigned eight = 0; eight < lines; eight += 8)
      for (unsigned i = 0; i < 8; ++i)
        for (unsigned chunk = 0; chunk < kChunks; ++chunk) {
          std::uint32_t words[kChunkWords];
          std::memcpy(words, memory.data() + at(eight, i, chunk), kChunkBytes);
          for (unsigned word = 0; word < kChunkWords; ++word)
            store(eight + i, chunk * kChunkWords + word, words[word]);
        }
  };
  if (chunks == LineChunks::kMax)
    all(std::integral_constant<unsigned, LineChunks::kMax>{});
  else
    all(std::integral_constant<unsigned, LineChunks::kMax / 2>{});
}

/// Calls store(line, word, its value) for all of a factor of 16 bits with M or N contiguous: two neighbours
/// along K make a word.
template <class Store>
void load_mn_major(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                   Store store) {
  constexpr unsigned kLines = kChunkBytes / 2;
  const ChunkMap at(d, Major::mn);
  const auto lines = static_cast<unsigned>(factor.lines), depth = static_cast<unsigned>(factor.depth);
  for (unsigned first = 0; first < lines; first += kLines)
    for (unsigned k = 0; k < depth; k += 2) {
      std::uint16_t low[kLines], high[kLines];
      std::memcpy(low, memory.data() + at(k, first / kLines), kChunkBytes);
      std::memcpy(high, memory.data() + at(k + 1, first / kLines), kChunkBytes);
      for (unsigned i = 0; i < kLines; ++i)
        store(first + i, k / 2, low[i] | static_cast<std::uint32_t>(high[i]) << 16);
    }
}

/// Calls store(line, word, its value) for all words of a factor: word w of a line has the elements from
/// k = 32 w / bits on. Precondition: the memory has all of them.
template <class Store>
void load_described(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                    Store store) {
  if (factor.major == Major::k)
    load_k_major(d, factor, memory, store);
  else
    load_mn_major(d, factor, memory, store);
}

}  // namespace warpbit
