// SPDX-License-Identifier: Apache-2.0
// What changes each element of a register by itself.
#pragma once

#include <cstdint>

#include "numeric/value.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit::diagnosis {

// A register whose elements are change(code, lowest bit of its slot).
template <class Change>
std::uint64_t with_elements(const Packing& packing, std::uint64_t word, Change change) {
  std::uint64_t out = 0;
  for (int slot = 0; slot < packing.per_register(); ++slot) {
    const int low = packing.low_bit_of(slot);
    out |= change(word >> low & packing.mask(), low) << low;
  }
  return out;
}
inline std::uint64_t in_all_slots(const Packing& packing, std::uint64_t element) {
  return with_elements(packing, 0, [&](std::uint64_t, int) { return element; });
}

// A number multiplied by 2^power, rounded to nearest even.
inline std::uint64_t scaled(const Format& f, std::uint64_t code, int power) {
  Value value = value_of(decode(f, code), f);
  value.number.exponent += power;
  return round(f, value, Rounding::nearest_even);
}

// A code of one format in another, rounded to nearest even.
inline std::uint64_t rounded_to(const Format& to, const Format& from, std::uint64_t code) {
  return round(to, value_of(decode(from, code), from), Rounding::nearest_even);
}

}  // namespace warpbit::diagnosis
