// SPDX-License-Identifier: Apache-2.0
// Inputs of dot products that sit where a wrong parameter shows. Every profile works from the number formats
// alone: no window, floor or order of a plan is known here, so a wrong plan cannot move the probes.
#pragma once

#include <array>
#include <cstdint>

#include "boundary.hpp"

namespace profiles {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators). The stream of a case
// depends on the seed and the index of the case only.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t index) : state_(mix(seed) + mix(index)) {}

  std::uint64_t bits() { return mix(state_ += 0x9E3779B97F4A7C15); }
  // From low to high, both included.
  int range(int low, int high) {
    const auto count = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<int>((bits() >> 32) * count >> 32);
  }
  bool one_in(int n) { return range(1, n) == 1; }
  bool coin() { return (bits() >> 63) != 0; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<std::size_t>(range(0, static_cast<int>(list.size()) - 1))];
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  std::uint64_t state_;
};

// A format as the profiles need it.
struct Alphabet {
  const oracle::Format* format;
  bool integer;
  std::uint64_t mask;
  int least = 0, most = 0;  // exponents of the smallest subnormal and of the largest finite number
  boundary::Codes table, finite_table, specials;

  explicit Alphabet(const oracle::Format& f)
      : format(&f),
        integer(f.specials == oracle::Specials::integer),
        mask(boundary::ones(f.width())),
        table(boundary::codes(f)) {
    if (!integer) {
      least = f.min_exponent() - f.fraction_bits;
      most = oracle::floor_log2(oracle::decode(f, f.largest).magnitude, oracle::decode(f, f.largest).exponent);
    }
    for (const std::uint64_t code : table)
      (boundary::is_special(f, code) ? specials : finite_table).push_back(code);
  }

  std::uint64_t zero(bool negative) const { return negative ? format->sign_bit() : 0; }
  // +-1.fraction * 2^exponent, the exponent forced into range; a subnormal loses its low fraction bits. Ignored
  // low bits come from the top of `fraction`.
  std::uint64_t number(bool negative, int exponent, std::uint64_t fraction) const {
    const oracle::Format& f = *format;
    const int e = std::clamp(exponent, least, most);
    const std::uint64_t kept = fraction & boundary::ones(f.fraction_bits);
    const std::uint64_t significand = kept | std::uint64_t{1} << f.fraction_bits;
    const std::uint64_t magnitude =
        e < f.min_exponent() ? boundary::pack(f, false, 0, significand >> (f.min_exponent() - e))
                             : boundary::pack(f, false, static_cast<std::uint64_t>(e + f.bias), kept);
    const std::uint64_t ignored = f.unused_bits == 0 ? 0 : fraction >> (64 - f.unused_bits);
    return zero(negative) | std::min(magnitude, f.largest) | ignored;
  }
};

struct Formats {
  Alphabet a, b, c, d;
  int depth;  // products
};

struct Case {
  static constexpr std::size_t kMaxDepth = 256;
  std::array<std::uint64_t, kMaxDepth> a, b;
  std::uint64_t c = 0;
};

// Builds one floating-point case.
class Builder {
 public:
  Builder(const Formats& formats, Stream& stream, Case& out) : f_(formats), s_(stream), out_(out) {}

  void fill(int profile) {
    switch (profile) {
      case 0: return uniform();
      case 1: return cluster(anywhere(), s_.range(0, 4));
      case 2: return cluster(anywhere(), s_.range(5, 70));
      case 3: return cluster(s_.range(f_.d.least - 12, f_.d.format->min_exponent() + 3), s_.range(0, 6));
      case 4: return cluster(f_.d.most - s_.range(-1, 6), s_.range(0, 3));
      case 5: return specials();
      case 6: return cancellation();
      case 7: return probes(anywhere(), s_.coin());
      case 8: return probes(s_.range(-3, 9), s_.one_in(3));
      case 9:
      case 13: return floors();
      case 10: return accumulator_alone();
      case 11: return far_accumulator();
      case 12: return tables();
      default: return probes(s_.range(f_.d.least - 1, f_.d.format->min_exponent() + 2), s_.coin());
    }
  }
  static constexpr int kProfiles = 15;

 private:
  std::size_t k_at(int i) const {
    return static_cast<std::size_t>((first_ + i * stride_) & (f_.depth - 1));  // depths are powers of two
  }
  std::uint64_t any_finite(const Alphabet& x, bool negative) {
    return x.number(negative, s_.range(x.least, x.most), s_.bits());
  }
  // An exponent that products have and D can show.
  int anywhere() {
    const int low = std::max(f_.a.least + f_.b.least, f_.d.least - 3);
    const int high = std::min(f_.a.most + f_.b.most, f_.d.most);
    return s_.range(low, std::max(low, high));
  }

  // Product k: factors of random exponents that add up to `exponent` as far as the formats allow. Fractions of
  // zero make a power of two.
  void product(std::size_t k, bool negative, int exponent, std::uint64_t fraction_a = 0,
               std::uint64_t fraction_b = 0) {
    factors(k, negative, exponent, f_.a.least, f_.b.least, fraction_a, fraction_b);
  }
  // A power of two whose factors are normal numbers if such factors exist: the raw exponent is then its own.
  void normal_product(std::size_t k, bool negative, int exponent) {
    const int least_a = f_.a.format->min_exponent(), least_b = f_.b.format->min_exponent();
    const bool possible = exponent >= least_a + least_b;
    factors(k, negative, exponent, possible ? least_a : f_.a.least, possible ? least_b : f_.b.least, 0, 0);
  }
  void factors(std::size_t k, bool negative, int exponent, int least_a, int least_b, std::uint64_t fraction_a,
               std::uint64_t fraction_b) {
    const int low = std::max(least_a, exponent - f_.b.most), high = std::min(f_.a.most, exponent - least_b);
    const int edge = s_.range(0, 9);  // one factor as small, perhaps as subnormal, as the other one allows
    const int of_a = low > high  ? (exponent < 0 ? least_a : f_.a.most)
                     : edge == 0 ? low
                     : edge == 1 ? high
                                 : s_.range(low, high);
    const bool sign = s_.coin();
    out_.a[k] = f_.a.number(sign, of_a, fraction_a);
    out_.b[k] = f_.b.number(sign != negative, exponent - of_a, fraction_b);
  }
  // A zero beside any finite number, which may be huge, or beside another zero.
  void zero_product(std::size_t k, bool negative) {
    const bool sign = s_.coin(), zero_is_a = s_.coin(), both = s_.one_in(4);
    out_.a[k] = zero_is_a || both ? f_.a.zero(sign) : any_finite(f_.a, sign);
    out_.b[k] = !zero_is_a || both ? f_.b.zero(sign != negative) : any_finite(f_.b, sign != negative);
  }
  // Every product is a zero, perhaps all of one sign.
  void all_zero() {
    first_ = s_.range(0, f_.depth - 1);
    stride_ = 2 * s_.range(0, f_.depth / 2 - 1) + 1;
    const int sign = s_.range(0, 3);  // 0: all positive, 1: all negative
    for (int k = 0; k < f_.depth; ++k)
      zero_product(static_cast<std::size_t>(k), sign > 1 ? s_.coin() : sign == 1);
    out_.c = f_.c.zero(s_.coin());
  }

  void uniform() {
    for (int k = 0; k < f_.depth; ++k) {
      out_.a[static_cast<std::size_t>(k)] = s_.bits() & f_.a.mask;
      out_.b[static_cast<std::size_t>(k)] = s_.bits() & f_.b.mask;
    }
    out_.c = s_.bits() & f_.c.mask;
  }
  // Everything within `spread` of an exponent, some products zero.
  void cluster(int exponent, int spread) {
    const int zeros = s_.one_in(3) ? s_.range(0, 7) : 0;  // eighths
    const int sign = s_.range(0, 3);                      // 0: all positive, 1: all negative
    const auto negative = [&] { return sign > 1 ? s_.coin() : sign == 1; };
    for (int k = 0; k < f_.depth; ++k) {
      const auto i = static_cast<std::size_t>(k);
      if (zeros != 0 && s_.range(0, 7) < zeros)
        zero_product(i, negative());
      else
        product(i, negative(), exponent - s_.range(0, spread), s_.bits(), s_.bits());
    }
    out_.c = s_.one_in(8) ? f_.c.zero(s_.coin())
                          : f_.c.number(negative(), exponent - s_.range(0, spread), s_.bits());
  }
  // NaNs with any payload; an infinity; or zero, for Inf x 0.
  std::uint64_t special(const Alphabet& x) {
    const oracle::Format& f = *x.format;
    if (x.specials.empty() || s_.one_in(4)) return x.zero(s_.coin());
    if (f.specials == oracle::Specials::ieee && s_.coin())
      return boundary::pack(f, s_.coin(), boundary::ones(f.exponent_bits),
                            s_.one_in(3) ? 0 : s_.bits() & boundary::ones(f.fraction_bits)) |
             (s_.bits() & boundary::ones(f.unused_bits));
    return s_.pick(x.specials);
  }
  void specials() {
    cluster(anywhere(), s_.range(0, 12));
    for (int i = s_.range(0, 2); i >= 0; --i) {
      const auto k = static_cast<std::size_t>(s_.range(0, f_.depth - 1));
      const int where = s_.range(0, 6);
      if (where & 1) out_.a[k] = special(f_.a);
      if (where & 2) out_.b[k] = special(f_.b);
      if (where & 4) out_.c = special(f_.c);
    }
  }
  // Opposite products and what they leave: the rest, which may be nothing, shows which bits were kept.
  void cancellation() {
    all_zero();
    const int exponent = anywhere(), pairs = s_.range(1, f_.depth / 4);
    const bool single_pairs = s_.one_in(3), single_rest = s_.coin();
    for (int i = 0; i < pairs; ++i) {
      const std::size_t x = k_at(2 * i), y = k_at(2 * i + 1);
      product(x, s_.coin(), exponent - s_.range(0, 3), single_pairs ? 0 : s_.bits(),
              single_pairs ? 0 : s_.bits());
      out_.a[y] = out_.a[x] ^ f_.a.format->sign_bit();
      out_.b[y] = out_.b[x];
    }
    for (int i = 2 * pairs, n = s_.range(0, 3); i < f_.depth && n > 0; ++i, --n)
      product(k_at(i), s_.coin(), exponent - distance(), single_rest ? 0 : s_.bits(),
              single_rest ? 0 : s_.bits());
    if (s_.coin()) out_.c = f_.c.number(s_.coin(), exponent - distance(), single_rest ? 0 : s_.bits());
  }
  // How far below the largest addend a bit lies: wherever a window or a rounding of some GPU may end.
  int distance() {
    const int bits = f_.d.format->fraction_bits;
    switch (s_.range(0, 3)) {
      case 0: return bits + s_.range(0, 3);
      case 1: return s_.range(11, 16);
      case 2: return s_.range(22, 28);
      default: return s_.range(1, 2 * bits + 8);
    }
  }
  // An anchor of few bits (C or a product), perhaps half a unit of D below it, and single bits further down:
  // a kept bit of the opposite sign or beside a midpoint changes the result.
  void probes(int exponent, bool anchor_is_c) {
    all_zero();
    int next = 0;
    const int pattern = s_.range(0, 2);
    const std::uint64_t fraction = pattern == 0 ? 0 : pattern == 1 ? s_.bits() : boundary::ones(64);
    if (anchor_is_c)
      out_.c = f_.c.number(s_.coin(), exponent, fraction);
    else
      product(k_at(next++), s_.coin(), exponent, fraction);
    const int last = std::max(exponent, f_.d.format->min_exponent()) - f_.d.format->fraction_bits;
    if (s_.coin()) product(k_at(next++), s_.coin(), last - 1);
    for (int n = s_.range(1, 2); n > 0 && next < f_.depth; --n)
      product(k_at(next++), s_.coin(), exponent - distance());
    if (!anchor_is_c && s_.one_in(4)) out_.c = f_.c.number(s_.coin(), exponent - distance(), 0);
  }
  // The same around and below the smallest numbers of D, where only the floor decides what is kept.
  void floors() {
    all_zero();
    int next = 0;
    const int emin = f_.d.format->min_exponent(), anchor = s_.range(f_.d.least - 1, emin - 7);
    const bool negative = s_.coin(), half = s_.coin();
    normal_product(k_at(next++), negative, anchor);
    if (half && anchor >= f_.d.least) normal_product(k_at(next++), negative, f_.d.least - 1);
    for (int n = s_.range(1, 2); n > 0 && next < f_.depth; --n)
      product(k_at(next++), half ? s_.coin() : !negative, emin - s_.range(27, 34));
  }
  void accumulator_alone() {
    all_zero();
    switch (s_.range(0, 3)) {
      case 0: return;
      case 1: out_.c = s_.bits() & f_.c.mask; return;
      case 2: out_.c = s_.pick(f_.c.table); return;
      default: out_.c = any_finite(f_.c, s_.coin());
    }
  }
  void far_accumulator() {
    const int exponent = anywhere();
    cluster(exponent, s_.range(0, 2));
    const int apart = s_.range(8, 2 * f_.d.format->fraction_bits + 8);
    out_.c = f_.c.number(s_.coin(), s_.coin() ? exponent + apart : exponent - apart, s_.coin() ? 0 : s_.bits());
  }
  void tables() {
    const bool finite = !s_.one_in(8);
    const Alphabet &a = f_.a, &b = f_.b, &c = f_.c;
    for (int k = 0; k < f_.depth; ++k) {
      out_.a[static_cast<std::size_t>(k)] = s_.pick(finite ? a.finite_table : a.table);
      out_.b[static_cast<std::size_t>(k)] = s_.pick(finite ? b.finite_table : b.table);
    }
    out_.c = s_.pick(finite ? c.finite_table : c.table);
  }

  const Formats& f_;
  Stream& s_;
  Case& out_;
  int first_ = 0, stride_ = 1;
};

// Integers and bits: any codes or the extreme ones, some zero, beside a C that is arbitrary, extreme, or so
// near the largest or smallest that the sum crosses it.
inline void fill_integers(const Formats& f, Stream& s, Case& out) {
  const bool extreme = s.one_in(3);
  const int zeros = s.one_in(3) ? s.range(0, 7) : 0;
  const auto code = [&](const Alphabet& x) {
    if (zeros != 0 && s.range(0, 7) < zeros) return std::uint64_t{0};
    return extreme ? s.pick(x.table) : s.bits() & x.mask;
  };
  for (std::size_t k = 0; k < static_cast<std::size_t>(f.depth); ++k) {
    out.a[k] = code(f.a);
    out.b[k] = code(f.b);
  }
  const auto near = static_cast<std::uint64_t>(s.range(0, 1 << s.range(0, 20)));
  const std::uint64_t edge = s.pick(f.c.table);
  const int kind = s.range(0, 3);
  out.c = (kind == 0 ? s.bits() : kind == 1 ? edge : kind == 2 ? edge + near : edge - near) & f.c.mask;
}

// Case `index` of the sequence that belongs to `seed`.
inline void fill(const Formats& f, std::uint64_t seed, std::uint64_t index, Case& out) {
  Stream stream(seed, index);
  if (f.d.integer)
    fill_integers(f, stream, out);
  else
    Builder(f, stream, out).fill(static_cast<int>(index % Builder::kProfiles));
}

}  // namespace profiles
