// SPDX-License-Identifier: Apache-2.0
// The registers of a warp, by slot (program.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>  // std::memcpy
#include <vector>

#include "grid/program.hpp"
#include "kernel/dense.hpp"  // LineAllocator

namespace warpbit::grid {

/// The bits of a lane, from where the words of its register are.
inline std::uint64_t lane_bits(const std::uint32_t* slot, int bits, int lane) {
  if (bits <= 32) return slot[lane];
  std::uint64_t out;
  std::memcpy(&out, slot + 2 * lane, sizeof out);
  return out;
}
inline void set_lane_bits(std::uint32_t* slot, int bits, int lane, std::uint64_t value) {
  if (bits <= 32)
    slot[lane] = static_cast<std::uint32_t>(value & ones(bits));
  else
    std::memcpy(slot + 2 * lane, &value, sizeof value);
}

/// The halves of a register of 128 bits.
inline std::array<Place, 2> halves(Place place) {
  place.bits = 64;
  Place upper = place;
  upper.slot += 2;
  return {place, upper};
}

/// Registers that grow with calls, and stay where they are but for `reserve`. At first they are 0.
class RegisterFile {
 public:
  RegisterFile() = default;
  ~RegisterFile();
  RegisterFile(RegisterFile&&) = default;
  RegisterFile& operator=(RegisterFile&&) = delete;

  void reserve(std::uint32_t slots, std::uint32_t predicates);
  /// Gives back memory that files of this host thread have left for later ones.
  static void forget_spare();
  std::uint32_t* slot(std::uint32_t i) { return slots_.data() + std::size_t{i} * kLanes; }
  std::uint32_t& predicate(std::uint32_t i) { return predicates_[i]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size() / kLanes); }
  std::uint32_t predicates() const { return static_cast<std::uint32_t>(predicates_.size()); }
  /// Two files that differ have different ones, but for one in 2^64.
  std::uint64_t digest() const;
  void swap(RegisterFile& other) noexcept {
    slots_.swap(other.slots_);
    predicates_.swap(other.predicates_);
  }

 private:
  using Slots = std::vector<std::uint32_t, LineAllocator<std::uint32_t>>;  // a vector lies in one line of cache
  static std::vector<Slots>& spare();

  Slots slots_;
  std::vector<std::uint32_t> predicates_;
};

}  // namespace warpbit::grid
