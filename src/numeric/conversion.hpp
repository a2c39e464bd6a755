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

/// The ue8m0 scale factors of a cvt: elements are divided by them and then converted, or are multiplied after they were converted
/// to a wider format.
enum class Scaling : std::uint8_t {
  none,
  n1,  ///< one for all elements; subnormal elements count as zeros
  n2,  ///< one for each element
};

/// A cvt, element by element. f16x2, e4m3x4 and the like are f16, e4m3 here.
struct Conversion {
  FormatId from, to;
  CvtRounding rounding = CvtRounding::none;
  bool ftz = false;        ///< f32 subnormals become zeros of their sign; ptxas drops it where `to` is f16
  bool sat = false;        ///< clamped to [+0, 1], NaN becomes +0
  bool satfinite = false;  ///< clamped to the largest finite numbers
  bool relu = false;       ///< negative numbers and -0 become +0
  bool pzo = false;        ///< -0 becomes +0
  Scaling scaling = Scaling::none;
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// The code in `to` of a code in `from`; bits above the width of `from` are ignored. `extra` is what the element has of a
/// further operand: for rs an integer of random_bit_count(to) bits, with a scaling the code of its scale factor, else nothing.
/// Preconditions: both formats are floating-point or s2f6, and rna goes from f32 to tf32.
std::uint64_t convert(const Conversion& conversion, std::uint64_t code, std::uint64_t extra);
/// The same from the whole operand. `element` counts from the low end of the destination.
std::uint64_t extra_of(const Conversion& conversion, int element, std::uint32_t operand);

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
