// SPDX-License-Identifier: Apache-2.0
// Factors in shared memory, word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "warpbit/descriptor.hpp"

namespace warpbit {

inline constexpr int kChunkBytes = 16;  ///< that a swizzle moves as a whole
inline constexpr int kChunkWords = kChunkBytes / 4;

/// Calls store(line, word, its value) for all of a factor whose lines, rows of A or columns of B, have K
/// contiguous.
template <class Store>
void load_k_major(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                  Store store) {
  const ChunkMap at(d, Major::k);
  const int chunks = factor.depth * factor.element_bits / 8 / kChunkBytes;
  for (int line = 0; line < factor.lines; ++line)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      std::uint32_t words[kChunkWords];
      std::memcpy(words,
                  memory.data() + at(static_cast<std::uint64_t>(line), static_cast<std::uint64_t>(chunk)),
                  kChunkBytes);
      for (int i = 0; i < kChunkWords; ++i) store(line, kChunkWords * chunk + i, words[i]);
    }
}

/// The same of elements of 16 bits with M or N contiguous: two neighbours along K make a word.
template <class Store>
void load_mn_major(const Descriptor& d, const DescribedMatrix& factor, std::span<const std::byte> memory,
                   Store store) {
  constexpr int kLines = kChunkBytes / 2;
  const ChunkMap at(d, Major::mn);
  for (int first = 0; first < factor.lines; first += kLines)
    for (int k = 0; k < factor.depth; k += 2) {
      std::uint16_t low[kLines], high[kLines];
      const auto line = static_cast<std::uint64_t>(k), chunk = static_cast<std::uint64_t>(first / kLines);
      std::memcpy(low, memory.data() + at(line, chunk), kChunkBytes);
      std::memcpy(high, memory.data() + at(line + 1, chunk), kChunkBytes);
      for (int i = 0; i < kLines; ++i)
        store(first + i, k / 2, low[i] | static_cast<std::uint32_t>(high[i]) << 16);
    }
}

/// Calls store(line, word, its value): word w of a line has the elements from k = 32 w / bits on. Precondition:
/// the memory has all of them.
template <class Store>
void load_described(std::uint64_t descriptor, const DescribedMatrix& factor, std::span<const std::byte> memory,
                    Store store) {
  const Descriptor d = Descriptor::decode(descriptor);
  if (factor.major == Major::k)
    load_k_major(d, factor, memory, store);
  else
    load_mn_major(d, factor, memory, store);
}

}  // namespace warpbit
