// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3): 128 random bits
// for each counter and key. The headers of this folder use integers only, do not depend on the library, and
// compile as C++20 and as CUDA.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WARPBIT_HOST_DEVICE __host__ __device__
#else
#define WARPBIT_HOST_DEVICE
#endif

namespace warpbit::inputs {

/// Four words: a counter, or its random bits.
struct Words {
  std::uint32_t w[4];
};

/// The key that distinguishes the streams of captures.
struct Key {
  std::uint32_t w[2];
};

/// The key of a form (as Instruction::canonical() spells it) and a seed: 64-bit FNV-1a of the text and then of
/// the seed's eight bytes, the lowest first.
inline Key key_of(const char* form, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001B3; };
  for (; *form != '\0'; ++form) add(static_cast<unsigned char>(*form));
  for (int i = 0; i < 8; ++i) add(seed >> (8 * i) & 0xFF);
  return {{static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)}};
}

inline constexpr int kPhiloxRounds = 10;

/// The random bits of a counter.
WARPBIT_HOST_DEVICE inline Words philox(Key key, Words counter) {
  auto& [x0, x1, x2, x3] = counter.w;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * x0, q = std::uint64_t{0xCD9E8D57} * x2;
    x0 = static_cast<std::uint32_t>(q >> 32) ^ x1 ^ key.w[0];
    x1 = static_cast<std::uint32_t>(q);
    x2 = static_cast<std::uint32_t>(p >> 32) ^ x3 ^ key.w[1];
    x3 = static_cast<std::uint32_t>(p);
    key = {{key.w[0] + 0x9E3779B9, key.w[1] + 0xBB67AE85}};
  }
  return counter;
}

}  // namespace warpbit::inputs
