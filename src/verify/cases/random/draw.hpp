// SPDX-License-Identifier: Apache-2.0
// Numbers of a random kernel: a stream for its text, and a hash for its inputs. Both are whole numbers on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace random_kernels {

inline constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15U;

/// The finaliser of SplitMix64.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
/// FNV-1a of a name, with a number.
constexpr std::uint64_t hash_of(std::string_view name, std::uint64_t number) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return mixed(hash + kGamma * (number + 1));
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() { return mixed(state_ += kGamma); }
  /// 0 to count - 1.
  int below(int count) { return static_cast<int>((word() >> 32) * static_cast<std::uint64_t>(count) >> 32); }
  int between(int first, int last) { return first + below(last - first + 1); }
  bool percent(int share) { return below(100) < share; }

 private:
  std::uint64_t state_;
};

}  // namespace random_kernels
