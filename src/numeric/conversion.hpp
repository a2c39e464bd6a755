// SPDX-License-Identifier: Apache-2.0
// The conversion of one element by cvt. A conversion is data, derived from the instruction's qualifiers; the
// placement of elements in registers is handled elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "numeric/formats.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// The rounding qualifier, by its name in PTX.
enum class CvtRounding : std::uint8_t {
  none,  ///< allowed where the conversion is exact, or rounds as rn (f16 and bf16 to each other)
  rn,
  rz,
  rm,
  rp,
  rna,  ///< to tf32 only
  rs,   ///< stochastic: away from zero if adding random bits to the discarded ones carries
  rni,  ///< to an integer, as rn
  rzi,  ///< to an integer, as rz
  rmi,  ///< to an integer, as rm
  rpi,  ///< to an integer, as rp
};

/// A cvt, element by element. f16x2, e4m3x4 and the like are f16, e4m3 here.
struct Conversion {
  FormatId from, to;
  CvtRounding rounding = CvtRounding::none;
  bool ftz = false;        ///< f32 subnormals become zeros of their sign; ptxas drops it where `to` is f16
  bool sat = false;        ///< clamped to [+0, 1], NaN becomes +0
  bool satfinite = false;  ///< clamped to the largest finite numbers
  bool relu = false;       ///< negative numbers and -0 become +0
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// The code in `to` of a code in `from`; bits above the width of `from` are ignored. `random_bits` matters
/// for rs only: an integer of random_bit_count(to) bits. Preconditions: both formats are floating-point, and
/// rna goes from f32 to tf32.
std::uint64_t convert(const Conversion& conversion, std::uint64_t code, std::uint64_t random_bits);

/// Number of random bits for one element of cvt.rs; they are added to as many of the highest discarded bits.
int random_bit_count(FormatId to);

/// The random bits of one element, taken from the operand rbits. `element` counts from the low end of the
/// destination: 0 and 1 of f16x2 and bf16x2, 0 to 3 of the others. Precondition: a destination of cvt.rs.
std::uint64_t random_bits(FormatId to, int element, std::uint32_t rbits);

/// One line for a person, e.g. "f32 -> e4m3 rn, satfinite, relu".
std::string describe(const Conversion& conversion);

std::string_view name(CvtRounding rounding);

}  // namespace warpbit
#pragma GCC visibility pop
