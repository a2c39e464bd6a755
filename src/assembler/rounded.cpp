// SPDX-License-Identifier: Apache-2.0
#include "assembler/rounded.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

namespace warpbit::assembler {
namespace {

// The largest argument of sin has 128 bits before the point; no result lies so near to the middle of two f32 that 100 bits
// behind its first one would not tell.
namespace mp = boost::multiprecision;
using Wide = mp::number<mp::cpp_bin_float<384>, mp::et_off>;

constexpr std::uint32_t kSign = 0x8000'0000, kInfinity = 0x7F80'0000, kSmallestNormal = 0x0080'0000;

float to_float(std::uint32_t code) {
  return std::bit_cast<float>(code);
}

// To nearest even; the f32 beside it is found by its exact distance.
std::uint32_t nearest(const Wide& value) {
  const Wide magnitude = abs(value);
  const std::uint32_t sign = value < 0 ? kSign : 0;
  if (magnitude == 0) return sign;
  int exponent = 0;
  frexp(magnitude, &exponent);  // in [2^(exponent - 1), 2^exponent)
  if (exponent > 128) return sign | kInfinity;
  const int unit = std::max(exponent - 24, -149);  // of the last bit
  const Wide scaled = ldexp(magnitude, -unit), whole = floor(scaled), rest = scaled - whole;
  auto significand = whole.convert_to<std::uint32_t>();
  if (rest > 0.5 || (rest == 0.5 && (significand & 1) != 0)) ++significand;
  // A subnormal has the exponent field 0, and its significand is its code; a carry goes into the field by itself.
  const std::uint32_t field = significand < kSmallestNormal ? 0 : static_cast<std::uint32_t>(unit + 149);
  return sign | std::min((field << 23) + significand, kInfinity);
}

struct Function {
  std::string_view opcode;
  Wide (*value)(const Wide& x);
  std::uint32_t of_zero, of_infinity;  ///< with the sign of the argument where `keeps_sign`
  bool keeps_sign, takes_negative;
};
constexpr std::uint32_t kNone = 0xFFFF'FFFF;
const std::array<Function, 7> kFunctions = {{
    {"rcp", [](const Wide& x) { return Wide(1 / x); }, kInfinity, 0, true, true},
    {"rsqrt", [](const Wide& x) { return Wide(1 / sqrt(x)); }, kInfinity, 0, true, false},
    {"sqrt", [](const Wide& x) { return Wide(sqrt(x)); }, 0, kInfinity, true, false},
    {"ex2", [](const Wide& x) { return Wide(exp2(x)); }, 0x3F80'0000, kInfinity, false, true},
    {"lg2", [](const Wide& x) { return Wide(log2(x)); }, kNone, kInfinity, false, false},
    {"sin", [](const Wide& x) { return Wide(sin(x)); }, 0, kNone, true, true},
    {"cos", [](const Wide& x) { return Wide(cos(x)); }, 0x3F80'0000, kNone, false, true},
}};

bool is_subnormal(std::uint32_t code) {
  return (code & ~kSign) < kSmallestNormal;
}

}  // namespace

std::optional<std::uint32_t> rounded(std::string_view opcode, std::uint32_t x, bool ftz) {
  const auto* f = std::ranges::find(kFunctions, opcode, &Function::opcode);
  if (f == kFunctions.end() || (x & ~kSign) > kInfinity) return {};
  if ((ftz || opcode == "sin" || opcode == "cos") && is_subnormal(x)) x &= kSign;
  const std::uint32_t sign = x & kSign, magnitude = x & ~kSign;
  const auto given = [&](std::uint32_t code) -> std::optional<std::uint32_t> {
    if (code == kNone) return {};
    return f->keeps_sign ? code | sign : code;
  };
  if (magnitude == 0) return given(f->of_zero);
  if (sign != 0 && !f->takes_negative) return {};
  if (magnitude == kInfinity) return sign != 0 && opcode == "ex2" ? 0 : given(f->of_infinity);
  // 2^x is out of reach beyond these, and would be slow.
  if (opcode == "ex2" && std::fabs(to_float(x)) > 200) return sign != 0 ? 0 : kInfinity;
  const std::uint32_t out = nearest(f->value(Wide(to_float(x))));
  return ftz && is_subnormal(out) ? out & kSign : out;
}

}  // namespace warpbit::assembler
