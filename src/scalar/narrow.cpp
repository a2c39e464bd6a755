// SPDX-License-Identifier: Apache-2.0
// Sums and products of four numbers of eight bits or less (PTX manual, "Alternate Floating-Point Instructions"): each is exact, and
// rounded once, to e4m3 or e5m2. Beyond these there are infinities of e5m2 and the NaN of e4m3, with .satfinite the largest number.
#include <algorithm>

#include "numeric/value.hpp"
#include "scalar/operation.hpp"

namespace warpbit::scalar {
namespace {
namespace narrow_family {

// ".e2m1x4" has 16 bits, ".e2m1p4x4" a byte for each.
struct Word {
  std::string_view word;
  Narrow numbers;
};
constexpr Word kWords[] = {
    {"e5m2x4", {FormatId::e5m2, 8}}, {"e4m3x4", {FormatId::e4m3, 8}},   {"e3m2x4", {FormatId::e3m2, 8}},
    {"e2m3x4", {FormatId::e2m3, 8}}, {"e2m1p4x4", {FormatId::e2m1, 8}}, {"ue8m0x4", {FormatId::ue8m0, 8}},
    {"e2m1x4", {FormatId::e2m1, 4}},
};

std::uint64_t rounded(const Operation& o, const Value& value) {
  const Format& f = format(o.narrow[0].format);
  if (value.cls == Class::nan) return f.canonical_nan;
  if (value.cls != Class::infinity)
    return encode(f, value.number, o.rounding, o.satfinite ? Overflow::saturate : Overflow::ieee);
  if (o.satfinite) return largest(f, value.number.negative);
  return f.specials == Specials::ieee ? infinity(f, value.number.negative) : f.canonical_nan;
}

using Compute = Value (*)(const std::array<Value, 3>& of);

template <Compute compute>
Results each(const Operation& o, const Sources& s) {
  Results out;
  for (int i = 0; i < 4; ++i) {
    std::array<Value, 3> values = {};
    for (std::size_t k = 0; k < values.size(); ++k) {
      const Narrow& numbers = o.narrow[k + 1];
      const Format& f = format(numbers.format);
      values[k] = value_of(decode(f, s.value[k] >> i * numbers.stride), f);
    }
    out.value |= rounded(o, compute(values)) << 8 * i;
  }
  return out;
}

Value negated(Value v) {
  v.number.negative = !v.number.negative;
  return v;
}
Value total(const Value& a, const Value& b) {
  return warpbit::sum(a, b, Rounding::nearest_even);
}

constexpr Row kRows[] = {
    {"add", each<[](const std::array<Value, 3>& of) { return total(of[0], of[1]); }>},
    {"sub", each<[](const std::array<Value, 3>& of) { return total(of[0], negated(of[1])); }>},
    {"mul", each<[](const std::array<Value, 3>& of) { return product(of[0], of[1]); }>},
    {"fma", each<[](const std::array<Value, 3>& of) { return total(product(of[0], of[1]), of[2]); }>},
};

}  // namespace narrow_family
}  // namespace

std::optional<Narrow> find_narrow(std::string_view word) {
  const auto* const found = std::ranges::find(narrow_family::kWords, word, &narrow_family::Word::word);
  if (found == std::end(narrow_family::kWords)) return {};
  return found->numbers;
}

std::span<const Row> narrow_rows() {
  return narrow_family::kRows;
}

}  // namespace warpbit::scalar
