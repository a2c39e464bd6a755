// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {

int least_bit(const Format& f) {
  return f.min_exponent() - (f.subnormals ? f.fraction_bits : 0);
}
int largest_exponent(const Format& f) {
  return decode(f, largest(f, false)).exponent;
}

std::optional<std::uint64_t> code_of(const Format& f, bool negative, std::uint64_t magnitude, int exponent) {
  const std::uint64_t code =
      encode(f, {negative, magnitude, exponent}, Rounding::toward_zero, Overflow::saturate);
  if (magnitude == 0) return code;
  const Exact number = exact(decode(f, code), f);
  const int shift = exponent - number.exponent;  // its last bit may be lower
  const bool same =
      number.negative == negative && shift >= 0 && shift < 64 && number.magnitude == u128{magnitude} << shift;
  return same ? std::optional(code) : std::nullopt;
}

ProbeWriter::ProbeWriter(const Tile& tile)
    : tile_(tile), scales_(static_cast<std::size_t>(tile.a_scale.blocks)) {
  const auto terms = static_cast<std::size_t>(tile.terms);
  out_.a.assign(terms, 0);
  out_.b.assign(terms, 0);
  if (scales_.empty()) return;
  out_.a_scale.assign(scales_.size(), *code_of(*tile.a_scale.format, false, 1, 0));
  out_.b_scale.assign(scales_.size(), *code_of(*tile.b_scale.format, false, 1, 0));
}

bool ProbeWriter::add(int place, bool negative, int exponent, Kind kind) {
  if (place != kC) return add_product(place, negative, exponent, kind);
  if (kind != Kind::power) return false;
  const auto code = code_of(*tile_.c.format, negative, 1, exponent);
  if (code) c(*code, fmt::format("{}2^{}", negative ? "-" : "", exponent));
  return code.has_value();
}

void ProbeWriter::note(const std::string& text) {
  out_.text += (out_.text.empty() ? "" : ", ") + text;
}

void ProbeWriter::product(int k, std::uint64_t a, std::uint64_t b, const std::string& text) {
  out_.a[static_cast<std::size_t>(k)] = a;
  out_.b[static_cast<std::size_t>(k)] = b;
  note(fmt::format("{} @{}", text, k));
}

void ProbeWriter::all_products(std::uint64_t a, std::uint64_t b, const std::string& text) {
  std::ranges::fill(out_.a, a);
  std::ranges::fill(out_.b, b);
  note(fmt::format("{} @all", text));
}

void ProbeWriter::c(std::uint64_t code, const std::string& text) {
  out_.c = code;
  note(fmt::format("{} @C", text));
}

// Splits the exponent between both scales.
bool ProbeWriter::scale(std::size_t block, int exponent) {
  const Format &fa = *tile_.a_scale.format, &fb = *tile_.b_scale.format;
  const int half = std::clamp(exponent / 2, least_bit(fa), largest_exponent(fa));
  const auto a = code_of(fa, false, 1, half), b = code_of(fb, false, 1, exponent - half);
  if (!a || !b) return false;
  out_.a_scale[block] = *a;
  out_.b_scale[block] = *b;
  scales_[block] = exponent;
  return true;
}

bool ProbeWriter::add_product(int k, bool negative, int exponent, Kind kind) {
  if (!scales_.empty()) {
    const std::size_t block = block_of(k);
    // If no scale is small or large enough, the elements take the rest.
    const int least = least_bit(*tile_.a_scale.format) + least_bit(*tile_.b_scale.format);
    if (!scales_[block] && !scale(block, std::max(exponent, least))) return false;
    exponent -= *scales_[block];
  }
  const auto factors = factors_of(exponent, kind);
  if (!factors) return false;
  const auto& [x, y] = *factors;
  const auto a = code_of(*tile_.a.format, negative, x.magnitude, x.exponent);
  const auto b = code_of(*tile_.b.format, false, y.magnitude, y.exponent);
  if (!a || !b) return false;
  product(k, *a, *b, (negative ? "-" : "") + text(k, x, y));
  return true;
}

ProbeWriter::Factors ProbeWriter::factors_of(int exponent, Kind kind) const {
  const Format &a = *tile_.a.format, &b = *tile_.b.format;
  const auto factors = [](Factor x, Factor y) { return std::pair{x, y}; };
  const int i = left_exponent(exponent), j = exponent - i;
  const int beside_a = exponent - a.min_exponent(), beside_b = exponent - b.min_exponent();
  switch (kind) {
    case Kind::power: return factors({1, i}, {1, j});
    case Kind::square:
      if (i < a.min_exponent() || j < b.min_exponent()) return std::nullopt;
      return factors({3, i - 1}, {3, j - 1});
    case Kind::left_subnormal:
      if (beside_a < b.min_exponent()) return std::nullopt;
      return factors({1, least_bit(a)}, {1, beside_a});
    case Kind::right_subnormal:
      if (beside_b < a.min_exponent()) return std::nullopt;
      return factors({1, beside_b}, {1, least_bit(b)});
    case Kind::left_zero: return factors({0, 0}, {1, exponent - zero_exponent(a)});
    case Kind::right_zero: return factors({1, exponent - zero_exponent(b)}, {0, 0});
  }
  return std::nullopt;
}

// The raw exponent of a zero, in the format that elements are converted to.
int ProbeWriter::zero_exponent(const Format& f) const {
  return tile_.plan->operands ? format(*tile_.plan->operands).min_exponent() : f.min_exponent();
}

// Splits an exponent in two, about halves; both of normal numbers if possible. Returns the first one.
int ProbeWriter::left_exponent(int exponent) const {
  const Format &a = *tile_.a.format, &b = *tile_.b.format;
  int i = std::clamp(exponent / 2, a.min_exponent(), largest_exponent(a));
  i = std::clamp(i, exponent - largest_exponent(b),
                 std::max(exponent - b.min_exponent(), exponent - largest_exponent(b)));
  return std::clamp(i, least_bit(a), largest_exponent(a));
}

std::string ProbeWriter::text(int k, const Factor& x, const Factor& y) const {
  const std::string scale = scales_.empty() ? "" : fmt::format("*2^{}", *scales_[block_of(k)]);
  if (x.magnitude == 0) return fmt::format("0*2^{}{}", y.exponent, scale);
  if (y.magnitude == 0) return fmt::format("2^{}*0{}", x.exponent, scale);
  const int exponent = x.exponent + y.exponent;
  if (x.magnitude == 3) return fmt::format("2.25*2^{}{}", exponent + 2, scale);
  const bool subnormal =
      x.exponent < tile_.a.format->min_exponent() || y.exponent < tile_.b.format->min_exponent();
  return subnormal ? fmt::format("2^{}*2^{}{}", x.exponent, y.exponent, scale)
                   : fmt::format("2^{}{}", exponent, scale);
}

}  // namespace warpbit
