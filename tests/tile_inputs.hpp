// SPDX-License-Identifier: Apache-2.0
// Whole tiles of inputs: matrices A, B and C whose dot products all lie where a kernel may go wrong. Like
// profiles.hpp it works from the number formats alone.
#pragma once

#include <algorithm>
#include <bit>    // bit_width
#include <cmath>  // frexp, ldexp
#include <string_view>
#include <vector>

#include "profiles.hpp"

namespace tiles {

using profiles::Alphabet;
using profiles::Stream;
using Codes = std::vector<std::uint64_t>;

struct Formats {
  profiles::Formats elements;  // depth: products of a sum
  int rows, columns;
  Alphabet scale;  // that of C where there are no scale factors
  int blocks = 0;  // scale factors of a row or column
};

// a: (row, term), b: (column, term), c: (row, column); scale factors: (row or column, block).
struct Tile {
  Codes a, b, c, scale_a, scale_b;
};

// By the fields alone; boundary::is_special asks for more than millions of codes can wait for.
inline bool is_special(const oracle::Format& f, std::uint64_t code) {
  const std::uint64_t field = boundary::ones(f.exponent_bits), fraction = boundary::ones(f.fraction_bits);
  const std::uint64_t magnitude = code >> f.unused_bits & (field << f.fraction_bits | fraction);
  if (f.specials == oracle::Specials::ieee) return magnitude >> f.fraction_bits == field;
  return f.specials == oracle::Specials::nan_all_ones && magnitude == (field << f.fraction_bits | fraction);
}

class Builder {
 public:
  Builder(const Formats& formats, Stream& stream, Tile& out)
      : f_(formats), e_(formats.elements), s_(stream), out_(out) {
    out.a.resize(size(f_.rows, e_.depth));
    out.b.resize(size(f_.columns, e_.depth));
    out.c.resize(size(f_.rows, f_.columns));
    out.scale_a.resize(size(f_.rows, f_.blocks));
    out.scale_b.resize(size(f_.columns, f_.blocks));
    scales(0, 0);
  }

  // What a tile holds; returns its name.
  std::string_view fill(int kind) {
    if (e_.d.integer) return integers(), "integers";
    switch (kind % kKinds) {
      case 0: return profile(), "a profile";
      case 1: return uniform(true), "uniform bits";
      case 2: return uniform(false), "uniform finite codes";
      case 3: return ordinary(), "ordinary values";
      case 4: return cluster(anywhere(), s_.range(0, 4)), "narrow exponents";
      case 5: return cluster(anywhere(), s_.range(5, 70)), "wide exponents";
      case 6: return cancellation(), "cancellation";
      case 7: return zeros(), "zeros";
      case 8: return cluster(e_.d.least + s_.range(-30, 30), s_.range(0, 12)), "underflow";
      case 9: return overflow(), "overflow";
      case 10: return one_special(), "one special";
      case 11: return maximal(), "maximal products";
      case 12: return far_accumulator(), "a far C";
      case 13: return few_products(), "few products";
      case 14: return midpoints(), "midpoints";
      case 15: return profile(), "a profile";
      case 16: return maximal(), "maximal products";
      case 17: return subnormals_beside_large(), "subnormals beside large factors";
      default: return tables(), "boundary codes";
    }
  }
  static constexpr int kKinds = 19;

 private:
  static std::size_t size(int rows, int columns) { return static_cast<std::size_t>(rows * columns); }
  int anywhere() {
    const int scaled = f_.blocks > 0 ? 2 : 0;
    const int low = std::max(e_.a.least + e_.b.least + scaled * f_.scale.least, e_.d.least - 3);
    const int high = std::min(e_.a.most + e_.b.most + scaled * f_.scale.most, e_.d.most);
    return s_.range(low, std::max(low, high));
  }
  template <class Next>
  static void each(Codes& codes, Next next) {
    for (std::uint64_t& code : codes) code = next();
  }
  template <class Next>
  void each_element(Next next) {
    each(out_.a, [&] { return next(e_.a); });
    each(out_.b, [&] { return next(e_.b); });
    each(out_.c, [&] { return next(e_.c); });
  }
  // Signs of a matrix: all alike, or any.
  auto signs() {
    return [this, kind = s_.range(0, 3)] { return kind > 1 ? s_.coin() : kind == 1; };
  }

  // Products of scales about 2^exponent.
  void scales(int exponent, int spread) {
    const int half = exponent / 2 + s_.range(-20, 20);
    const auto near = [&](int center) {
      return [this, center, spread] {
        return f_.scale.number(false, center - s_.range(0, spread), s_.coin() ? 0 : s_.bits());
      };
    };
    each(out_.scale_a, near(half));
    each(out_.scale_b, near(exponent - half));
    if (f_.blocks > 0 && s_.one_in(8))
      each(s_.coin() ? out_.scale_a : out_.scale_b, [&] { return s_.pick(f_.scale.table); });
    if (f_.blocks > 0 && s_.one_in(8))
      out_.scale_a[static_cast<std::size_t>(s_.range(0, f_.rows - 1) * f_.blocks)] = s_.bits() & 0xFF;
  }

  // Factors whose products are about 2^exponent, or, scaled, become it.
  void factors(int exponent, int spread) {
    int elements = exponent;
    if (f_.blocks > 0) {
      elements = s_.range(e_.a.least + e_.b.least, e_.a.most + e_.b.most);
      scales(exponent - elements, s_.coin() ? 0 : spread);
    }
    const int low = std::max(e_.a.least, elements - e_.b.most),
              high = std::min(e_.a.most, elements - e_.b.least);
    const int of_a = low > high ? (elements < 0 ? e_.a.least : e_.a.most) : s_.range(low, high);
    const auto sign_a = signs(), sign_b = signs();
    each(out_.a, [&] { return e_.a.number(sign_a(), of_a - s_.range(0, spread), s_.bits()); });
    each(out_.b, [&] { return e_.b.number(sign_b(), elements - of_a - s_.range(0, spread), s_.bits()); });
  }
  void accumulators(int exponent, int spread) {
    const auto sign = signs();
    each(out_.c, [&] { return e_.c.number(sign(), exponent - s_.range(0, spread), s_.bits()); });
  }
  void cluster(int exponent, int spread) {
    factors(exponent, spread);
    accumulators(exponent, spread);
    if (s_.one_in(4)) each(out_.c, [&] { return e_.c.zero(s_.coin()); });
  }

  void uniform(bool specials) {
    each_element([&](const Alphabet& x) {
      std::uint64_t code = s_.bits() & x.mask;
      while (!specials && is_special(*x.format, code)) code = s_.bits() & x.mask;
      return code;
    });
    if (f_.blocks == 0) return;
    each(out_.scale_a, [&] { return s_.bits() & 0xFF; });
    each(out_.scale_b, [&] { return s_.bits() & 0xFF; });
  }

  // About a normal distribution: the sum of twelve uniform numbers.
  void ordinary() {
    each_element([&](const Alphabet& x) {
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += std::ldexp(static_cast<double>(s_.bits() >> 11), -53);
      int exponent = 0;
      const double fraction = 2 * std::frexp(std::abs(sum), &exponent) - 1;  // of 1.fraction
      const auto bits = static_cast<std::uint64_t>(std::ldexp(fraction, x.format->fraction_bits));
      return sum == 0 ? x.zero(false) : x.number(sum < 0, exponent - 1, bits);
    });
  }

  // Every sum of products is zero but for what a few changed elements leave.
  void cancellation() {
    const int exponent = anywhere();
    factors(exponent, s_.coin() ? 0 : s_.range(0, 12));
    const auto depth = static_cast<std::size_t>(e_.depth);
    const std::size_t partner = std::size_t{1} << s_.range(0, static_cast<int>(std::bit_width(depth)) - 2);
    for (std::size_t i = 0; i < out_.a.size(); ++i)
      if (i % depth & partner) out_.a[i] = out_.a[i - partner] ^ e_.a.format->sign_bit();
    for (std::size_t i = 0; i < out_.b.size(); ++i)
      if (i % depth & partner) out_.b[i] = out_.b[i - partner];
    each(out_.c, [&] { return e_.c.zero(s_.coin()); });
    if (s_.coin()) accumulators(exponent - s_.range(0, 30), s_.range(0, 20));
    for (int n = s_.coin() ? 0 : s_.range(1, 8); n > 0; --n) {
      const auto at = static_cast<std::size_t>(s_.range(0, static_cast<int>(out_.a.size()) - 1));
      out_.a[at] = e_.a.number(s_.coin(), s_.range(e_.a.least, e_.a.most), s_.bits());
    }
  }

  // A zero in every product, of any sign or all of one, beside zeros or finite numbers.
  void zeros() {
    const bool a_is_zero = s_.coin(), both = s_.coin();
    const auto sign_a = signs(), sign_b = signs(), sign_c = signs();
    const auto element = [&](const Alphabet& x, bool is_zero, bool sign) {
      return is_zero ? x.zero(sign) : x.number(sign, s_.range(x.least, x.most), s_.bits());
    };
    each(out_.a, [&] { return element(e_.a, both || a_is_zero, sign_a()); });
    each(out_.b, [&] { return element(e_.b, both || !a_is_zero, sign_b()); });
    const int kind = s_.range(0, 2);
    each(out_.c, [&] { return element(e_.c, kind == 0 || (kind == 1 && s_.coin()), sign_c()); });
  }

  void overflow() {
    const int exponent = std::min(e_.a.most + e_.b.most, e_.d.most) - s_.range(-1, 6);
    factors(f_.blocks > 0 ? e_.d.most - s_.range(-2, 8) : exponent, s_.range(0, 2));
    accumulators(e_.d.most - s_.range(0, 8), s_.range(0, 2));
  }

  // All others must come out as if it were not there.
  void one_special() {
    s_.coin() ? ordinary() : cluster(anywhere(), s_.range(0, 12));
    const int which = s_.range(0, 2);
    const Alphabet& x = which == 0 ? e_.a : which == 1 ? e_.b : e_.c;
    Codes& codes = which == 0 ? out_.a : which == 1 ? out_.b : out_.c;
    std::uint64_t& code = codes[static_cast<std::size_t>(s_.range(0, static_cast<int>(codes.size()) - 1))];
    if (!x.specials.empty()) code = s_.pick(x.specials);
    if (f_.blocks > 0 && s_.coin()) (s_.coin() ? out_.scale_a : out_.scale_b)[0] = f_.scale.table.back();
  }

  // Fractions of ones, one exponent, one sign, and a C that often has that sign: the sum has its most bits.
  void maximal() {
    const int exponent = anywhere();
    factors(exponent, 0);
    const int cut = s_.coin() ? 64 : s_.range(0, e_.a.format->fraction_bits);
    const bool sign_a = s_.coin(), sign_b = s_.coin(), sign_c = s_.one_in(4) != (sign_a != sign_b);
    const auto most = [&](const Alphabet& x, Codes& codes, bool negative) {
      const std::uint64_t ones = boundary::ones(x.format->fraction_bits) & boundary::ones(cut);
      for (std::uint64_t& code : codes) {
        const std::uint64_t magnitude = code & ~x.format->sign_bit(),
                            with = magnitude | ones << x.format->unused_bits;
        code = (is_special(*x.format, with) ? magnitude : with) | x.zero(negative);
      }
    };
    most(e_.a, out_.a, sign_a);
    most(e_.b, out_.b, sign_b);
    const int of_c = exponent + (s_.one_in(4) ? s_.range(-3, 7) : s_.range(-4, 0));
    const bool ones = s_.coin();
    each(out_.c, [&] { return e_.c.number(sign_c, of_c, ones ? ~std::uint64_t{0} : s_.bits()); });
  }

  void far_accumulator() {
    const int exponent = anywhere(), apart = s_.range(8, 2 * e_.d.format->fraction_bits + 14);
    factors(exponent, s_.range(0, 3));
    accumulators(s_.coin() ? exponent + apart : exponent - apart, s_.range(0, 3));
  }

  // Most elements are zero; the others have any exponents.
  void few_products() {
    const int nonzero = s_.range(1, 4);
    each_element([&](const Alphabet& x) {
      return s_.range(0, 7) < nonzero ? x.number(s_.coin(), s_.range(x.least, x.most), s_.bits())
                                      : x.zero(s_.coin());
    });
  }

  // Some products have a zero or subnormal factor and a large one, often about 2^39, where a sum of exponents
  // of f32 that takes no notice of zeros begins to count; all else is about as large as these might seem.
  void subnormals_beside_large() {
    const int large = s_.coin() ? s_.range(37, 42) : s_.range(0, std::min(e_.a.most, e_.b.most));
    cluster(large + e_.a.format->min_exponent() + s_.range(-3, 4), s_.range(0, 3));
    const auto small = [&](const Alphabet& x) {
      return s_.coin() ? x.zero(s_.coin())
                       : x.number(s_.coin(), s_.range(x.least, x.format->min_exponent() - 1), s_.bits());
    };
    for (int k = 0; k < e_.depth; ++k) {
      const int kind = s_.range(0, 2);
      if (kind == 0) continue;
      const auto column = [&](Codes& codes, int lines, const Alphabet& x, bool is_large) {
        for (int line = 0; line < lines; ++line)
          codes[size(line, e_.depth) + static_cast<std::size_t>(k)] =
              is_large ? x.number(s_.coin(), large, s_.bits()) : small(x);
      };
      column(out_.a, f_.rows, e_.a, kind == 1);
      column(out_.b, f_.columns, e_.b, kind == 2);
    }
  }

  // Product k: powers of two that make 2^exponent as far as the formats allow; A's fractions are `fraction()`.
  template <class Fraction>
  void column_of_a(int k, int exponent, Fraction fraction) {
    const int low = std::max(e_.a.least, exponent - e_.b.most),
              high = std::min(e_.a.most, exponent - e_.b.least);
    const int of_a = low > high ? (exponent < 0 ? e_.a.least : e_.a.most) : s_.range(low, high);
    for (int row = 0; row < f_.rows; ++row)
      out_.a[size(row, e_.depth) + static_cast<std::size_t>(k)] = e_.a.number(s_.coin(), of_a, fraction());
    for (int n = 0; n < f_.columns; ++n)
      out_.b[size(n, e_.depth) + static_cast<std::size_t>(k)] = e_.b.number(s_.coin(), exponent - of_a, 0);
  }

  // A product or C of few bits, half a unit of D below it, and a bit further down that decides.
  void midpoints() {
    each(out_.a, [&] { return e_.a.zero(s_.coin()); });
    each(out_.b, [&] { return e_.b.zero(s_.coin()); });
    each(out_.c, [&] { return e_.c.zero(s_.coin()); });
    const int exponent = anywhere(), bits = e_.d.format->fraction_bits, first = s_.range(0, e_.depth - 1);
    const auto k = [&](int i) { return (first + i) % e_.depth; };
    if (s_.coin())
      column_of_a(k(0), exponent, [&] { return s_.bits(); });
    else
      accumulators(exponent, 0);
    const int half = std::max(exponent, e_.d.format->min_exponent()) - bits - 1;
    column_of_a(k(1), half, [] { return 0; });
    column_of_a(k(2), exponent - s_.range(bits + 2, 29), [] { return 0; });
  }

  void tables() {
    const bool finite = !s_.one_in(4);
    each_element([&](const Alphabet& x) { return s_.pick(finite ? x.finite_table : x.table); });
    if (f_.blocks == 0) return;
    each(out_.scale_a, [&] { return s_.pick(f_.scale.table); });
    each(out_.scale_b, [&] { return s_.pick(f_.scale.table); });
  }

  // A case of profiles.hpp for each column, of one profile, and its A in the row of the same number. Further
  // rows have C negated; beside the diagonals cases are mixed.
  void profile() {
    const std::uint64_t first = s_.bits() >> 8, which = s_.bits() % profiles::Builder::kProfiles;
    profiles::Case in;
    for (int n = 0; n < f_.columns; ++n) {
      const auto index = (first + static_cast<std::uint64_t>(n)) * profiles::Builder::kProfiles + which;
      profiles::fill(e_, 1, index, in);
      std::copy_n(in.b.begin(), e_.depth, out_.b.begin() + n * e_.depth);
      for (int row = 0; row < f_.rows; ++row) {
        if (row % f_.columns == n) std::copy_n(in.a.begin(), e_.depth, out_.a.begin() + row * e_.depth);
        out_.c[size(row, f_.columns) + static_cast<std::size_t>(n)] =
            row < f_.columns ? in.c : in.c ^ e_.c.format->sign_bit();
      }
    }
  }

  void integers() {
    profiles::Case in;
    const auto any = [&] { profiles::fill_integers(e_, s_, in); };
    for (int row = 0; row < f_.rows; ++row) {
      any();
      std::copy_n(in.a.begin(), e_.depth, out_.a.begin() + row * e_.depth);
      std::fill_n(out_.c.begin() + row * f_.columns, f_.columns, in.c);
    }
    for (int n = 0; n < f_.columns; ++n) {
      any();
      std::copy_n(in.b.begin(), e_.depth, out_.b.begin() + n * e_.depth);
    }
  }

  const Formats& f_;
  const profiles::Formats& e_;
  Stream& s_;
  Tile& out_;
};

}  // namespace tiles
