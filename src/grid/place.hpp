// SPDX-License-Identifier: Apache-2.0
// Where a value of a program lies.
#pragma once

#include <cstdint>

namespace warpbit::grid {

/// Where a source or a result is.
struct Place {
  enum class Kind : std::uint8_t { none, reg, constant, predicate };
  Kind kind = Kind::none;
  std::uint8_t bits = 32;  ///< of the register: 8 to 128; 1 of a predicate
  bool negated = false;    ///< of a predicate
  std::uint32_t slot = 0;  ///< of the frame, or of the constants; the number of a predicate
  bool exists() const { return kind != Kind::none; }
  /// Whether it is the same register, or predicate.
  bool is_same_as(const Place& other) const { return kind == other.kind && slot == other.slot; }
  friend bool operator==(const Place&, const Place&) = default;
};

}  // namespace warpbit::grid
