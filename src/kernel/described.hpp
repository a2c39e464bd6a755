// SPDX-License-Identifier: Apache-2.0
// Factors in shared memory, word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

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

/// Sixteen codes of 4 or 6 bits, one behind the other, each in a byte of its own as tensor memory has it: those of e2m1 two bits
/// up. Where six bits lie is open (machine/TENSOR_MEMORY.md): in the lower ones.
inline void expand_codes(const std::byte* from, int bits, std::uint8_t* to) {
  std::uint64_t low, high = 0;
  std::memcpy(&low, from, sizeof low);
  if (bits == 6) std::memcpy(&high, from + sizeof low, sizeof high / 2);
  for (int i = 0; i < static_cast<int>(kChunkBytes); ++i) {
    const int at = i * bits;
    const std::uint64_t above = at >= 64         ? high >> (at - 64)
                                : at + bits > 64 ? low >> at | high << (64 - at)
                                                 : low >> at;
    to[i] = static_cast<std::uint8_t>((above & ((1U << bits) - 1)) << (bits == 4 ? 2 : 0));
  }
}

/// Calls store(line, word, its value) for all of a factor of 8 or 32 bits with M or N contiguous, or of padded elements, which
/// become bytes.
template <class Store>
void load_by_elements(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                      Store store) {
  const bool across = factor.major == Major::mn;
  const ChunkMap at(d, factor.major);
  const unsigned bytes = factor.padded ? 1 : static_cast<unsigned>(factor.element_bits) / 8,
                 each = kChunkBytes / bytes;
  const auto lines = static_cast<unsigned>(factor.lines), depth = static_cast<unsigned>(factor.depth);
  const unsigned strided = across ? depth : lines, chunks = (across ? lines : depth) / each;
  static thread_local std::vector<std::uint8_t> rows;  // of K
  rows.resize(std::size_t{lines} * depth * bytes);
  for (unsigned i = 0; i < strided; ++i)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      std::uint8_t elements[kChunkBytes];
      const std::byte* const from = memory.data() + at(i, chunk);
      if (factor.padded)
        expand_codes(from, factor.element_bits, elements);
      else
        std::memcpy(elements, from, kChunkBytes);
      for (unsigned e = 0; e < each; ++e) {
        const std::size_t along = chunk * each + e, line = across ? along : i, k = across ? i : along;
        std::memcpy(&rows[(line * depth + k) * bytes], elements + e * bytes, bytes);
      }
    }
  const unsigned words = depth * bytes / 4;
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned word = 0; word < words; ++word) {
      std::uint32_t value;
      std::memcpy(&value, &rows[(std::size_t{line} * words + word) * 4], sizeof value);
      store(line, word, value);
    }
}

/// Calls store(line, word, its value) for all words of a factor: word w of a line has the elements from
/// k = 32 w / bits on, padded elements as bytes. Precondition: the memory has all of them.
template <class Store>
void load_described(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                    Store store) {
  if (factor.padded || (factor.major == Major::mn && factor.element_bits != 16))
    load_by_elements(d, factor, memory, store);
  else if (factor.major == Major::k)
    load_k_major(d, factor, memory, store);
  else
    load_mn_major(d, factor, memory, store);
}

}  // namespace warpbit
