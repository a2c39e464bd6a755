// SPDX-License-Identifier: Apache-2.0
// The memory of a program that is executed as a whole: what records have left here, beside what they left on the GPU.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace warpbit::verification {

/// Bytes by the address that they had on the GPU.
class Carried {
 public:
  /// `bytes` is what memory had on the GPU before a record. Each byte that an earlier record left, and that nothing else has
  /// changed on the GPU since, becomes what that record left here. The places in it that something else has changed.
  std::vector<std::size_t> carry(std::uint64_t address, std::span<std::byte> bytes) const;
  /// What a record has left on the GPU and here. Precondition: both have as many bytes.
  void leave(std::uint64_t address, std::span<const std::byte> gpu, std::span<const std::byte> here);
  /// Bytes that are copied from one place to another, as far as they are known.
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kPage = 4096;
  struct Page {
    std::array<std::byte, kPage> gpu{}, here{};
    std::bitset<kPage> is_known;
  };
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by address over the size
};

}  // namespace warpbit::verification
