// SPDX-License-Identifier: Apache-2.0
// Names of data files: 128 bits of a hash that runs at the speed of memory, so that equal bytes get one file.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace warpbit::record {

struct Hash {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Hash& o) const { return low == o.low && high == o.high; }
  bool operator<(const Hash& o) const { return high != o.high ? high < o.high : low < o.low; }
};

namespace hash_detail {

constexpr std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::array<std::uint64_t, 32> make_keys() {
  std::array<std::uint64_t, 32> keys{};
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix(i);
  return keys;
}
inline constexpr std::array<std::uint64_t, 32> kKeys = make_keys();

constexpr std::size_t kLanes = 8, kStripe = 8 * kLanes, kStripes = 16;

// One stripe into eight sums: products of the halves of each keyed word, and the word itself into the neighbour's sum, so
// that a half that is 0 does not hide the other.
inline void add(std::uint64_t* sums, const unsigned char* from, std::size_t stripe) {
  std::uint64_t words[kLanes];
  std::memcpy(words, from, kStripe);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t keyed = words[i] ^ kKeys[stripe + i];
    sums[i] += (keyed & 0xffffffff) * (keyed >> 32);
    sums[i ^ 1] += words[i];
  }
}

__extension__ using Wide = unsigned __int128;

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace hash_detail

inline Hash hash_of(const void* data, std::size_t size) {
  using namespace hash_detail;
  const auto* from = static_cast<const unsigned char*>(data);
  std::uint64_t sums[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) sums[i] = mix(100 + i);
  std::size_t stripe = 0;
  const auto step = [&](const unsigned char* at) {
    add(sums, at, stripe);
    if (++stripe < kStripes) return;
    stripe = 0;
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] = (sums[i] ^ (sums[i] >> 47) ^ kKeys[24 + i]) * 0x9e3779b1;
  };
  std::size_t at = 0;
  for (; at + kStripe <= size; at += kStripe) step(from + at);
  if (at < size) {
    unsigned char rest[kStripe] = {};
    std::memcpy(rest, from + at, size - at);
    step(rest);
  }
  Hash out{mix(size), mix(~std::uint64_t{size})};
  for (std::size_t i = 0; i < kLanes; i += 2) {
    out.low = mix(out.low ^ fold(sums[i] ^ kKeys[i], sums[i + 1] ^ kKeys[i + 1]));
    out.high = mix(out.high ^ fold(sums[i] ^ kKeys[i + 16], sums[i + 1] ^ kKeys[i + 17]));
  }
  return out;
}

inline std::string hex_of(Hash hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

}  // namespace warpbit::record
