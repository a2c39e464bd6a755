// SPDX-License-Identifier: Apache-2.0
// Codes of a number format from and to double, many of them: every number of every format is a double.
#pragma once

#include <cstdint>
#include <string_view>

#include "warpbit/format.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

struct Format;  // src/numeric/formats.hpp

/// A format that was looked up once. Cheap to copy.
class Codec {
 public:
  /// Of a name or a synonym. Error: that of find_format_info.
  static Result<Codec> find(std::string_view format);

  /// The manual's name.
  std::string_view name() const;
  /// Of a code.
  int bits() const;

  /// The number that a code is, exactly, an infinity, or a quiet NaN. Bits above the format's width are
  /// ignored.
  double decode(std::uint64_t code) const;
  /// encode_number (warpbit/format.hpp) of a number that is a double; a NaN becomes the canonical one. Errors:
  /// usage, for a NaN where there is none, and an infinity for integers without `satfinite`.
  Result<std::uint64_t> encode(double number, RoundingMode rounding = RoundingMode::nearest_even,
                               bool satfinite = false) const;

 private:
  explicit Codec(const Format& row) : row_(&row) {}
  const Format* row_;
};

}  // namespace warpbit
#pragma GCC visibility pop
