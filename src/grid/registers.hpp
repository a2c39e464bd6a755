// SPDX-License-Identifier: Apache-2.0
// The registers of a warp, by slot (program.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grid/program.hpp"
#include "kernel/dense.hpp"  // LineAllocator

namespace warpbit::grid {

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
