// SPDX-License-Identifier: Apache-2.0
// Boundary tables: the codes of each format around which something changes. Derived from the fields of the
// oracle's rows; nothing of the library is asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "oracle/formats.hpp"

namespace boundary {

using Codes = std::vector<std::uint64_t>;

constexpr std::uint64_t ones(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

//     S | field | fraction | unused, which is filled with zeros
inline std::uint64_t pack(const oracle::Format& f, bool negative, std::uint64_t field, std::uint64_t fraction) {
  return (negative ? f.sign_bit() : 0) | (field << f.fraction_bits | fraction) << f.unused_bits;
}

inline Codes sorted(Codes codes) {
  std::ranges::sort(codes);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

// The given fields and fractions crossed, with both signs. What exceeds the format's bits is dropped.
inline Codes crossed(const oracle::Format& f, std::initializer_list<int> fields,
                     std::initializer_list<std::uint64_t> fractions) {
  Codes out;
  for (const int field : fields)
    for (const std::uint64_t fraction : fractions)
      for (const bool negative : {false, true})
        out.push_back(pack(f, negative && f.has_sign, static_cast<std::uint64_t>(field) & ones(f.exponent_bits),
                           fraction & ones(f.fraction_bits)));
  return sorted(out);
}

// Zeros, subnormals at both edges, powers of two around 1 and at the edges, all-ones and alternating fractions,
// the largest numbers, Inf, NaNs of both kinds and signs. Ignored low bits are also filled with ones.
inline Codes floating_codes(const oracle::Format& f) {
  const int top = static_cast<int>(ones(f.exponent_bits));
  const std::uint64_t all = ones(f.fraction_bits), half = (all >> 1) + 1;
  Codes out = crossed(f, {0, 1, 2, f.bias - 1, f.bias, f.bias + 1, top - 1, top},
                      {0, 1, 2, half - 1, half, half + 1, all - 1, all, all / 3});
  if (f.unused_bits != 0)
    for (std::size_t i = 0, n = out.size(); i < n; ++i) out.push_back(out[i] | ones(f.unused_bits));
  return sorted(out);
}

inline Codes integer_codes(const oracle::Format& f) {
  const std::uint64_t all = ones(f.width()), top = all / 2 + 1;
  Codes out = {0, 1, 2, all, all - 1, top, top - 1, top + 1, all / 3, all - all / 3};
  for (std::uint64_t& code : out) code &= all;
  return sorted(out);
}

inline Codes codes(const oracle::Format& f) {
  return f.specials == oracle::Specials::integer ? integer_codes(f) : floating_codes(f);
}

// A shorter table, to be crossed with itself three times.
inline Codes few_codes(const oracle::Format& f) {
  const int top = static_cast<int>(ones(f.exponent_bits));
  return crossed(
      f, {0, 1, f.bias - f.fraction_bits - 1, f.bias - f.fraction_bits, f.bias - 1, f.bias, top - 1, top},
      {0, 1, ones(f.fraction_bits)});
}

inline bool is_special(const oracle::Format& f, std::uint64_t code) {
  const oracle::Value::Kind kind = oracle::decode(f, code).kind;
  return kind == oracle::Value::infinity || kind == oracle::Value::nan;
}

}  // namespace boundary
