// SPDX-License-Identifier: Apache-2.0
// Number formats: decode and encode against the oracle, exhaustively up to 16 bits, at boundaries beyond.
#include "numeric/formats.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "boundary.hpp"
#include "in_turn.hpp"
#include "numeric/value.hpp"
#include "oracle/arithmetic.hpp"
#include "profiles.hpp"
#include "tally.hpp"

namespace formats_test {

using namespace warpbit;
using oracle::cpp_int;

struct Rounding2 {
  Rounding ours;
  oracle::Round oracles;
};
constexpr Rounding2 kRoundings[] = {
    {Rounding::nearest_even, oracle::Round::nearest_even},
    {Rounding::toward_zero, oracle::Round::toward_zero},
    {Rounding::down, oracle::Round::down},
    {Rounding::up, oracle::Round::up},
    {Rounding::nearest_away, oracle::Round::nearest_away},
};

cpp_int big(u128 x) {
  return (cpp_int(static_cast<std::uint64_t>(x >> 64)) << 64) + static_cast<std::uint64_t>(x);
}

std::string text(const Format& f, const Exact& x, Rounding2 r) {
  return fmt::format("{}: {}0x{:x}{:016x} * 2^{}, rounding {}", f.name, x.negative ? "-" : "+",
                     static_cast<std::uint64_t>(x.magnitude >> 64), static_cast<std::uint64_t>(x.magnitude),
                     x.exponent, static_cast<int>(r.ours));
}

void compare_decoded(const Format& f, const oracle::Format& o, std::uint64_t code, Tally& tally) {
  const Decoded got = decode(f, code);
  const oracle::Value expected = oracle::decode(o, code);
  const Class kinds[] = {Class::zero, Class::finite, Class::infinity, Class::nan};
  bool equal = got.cls == kinds[expected.kind] && got.negative == expected.negative;
  if (expected.kind == oracle::Value::nan) {
    equal = equal && got.significand == ((code >> o.unused_bits) & boundary::ones(o.fraction_bits));
  } else if (expected.kind != oracle::Value::infinity) {
    const Exact x = exact(got, f);
    equal = equal && got.exponent == expected.raw_exponent && big(x.magnitude) == expected.magnitude &&
            (f.is_integer || x.exponent == expected.exponent) && x.negative == expected.negative;
  }
  tally.check(equal, [&] { return fmt::format("decode {} {:x}", f.name, code); });

  const bool finite = expected.kind == oracle::Value::zero || expected.kind == oracle::Value::finite;
  const std::uint64_t ignored = boundary::ones(o.unused_bits) | (f.ignored_high != 0 ? 1ull << 7 : 0);
  if (finite && (code & ignored) == 0)
    for (const Rounding2 r : kRoundings)
      tally.check(encode(f, exact(got, f), r.ours, Overflow::ieee) == code,
                  [&] { return fmt::format("encode(decode {} {:x})", f.name, code); });
}

void compare_encoded(const Format& f, const oracle::Format& o, const Exact& x, Tally& tally) {
  const cpp_int magnitude = big(x.magnitude);
  for (const Rounding2 r : kRoundings)
    for (const bool saturate : {false, true}) {
      const std::uint64_t got = encode(f, x, r.ours, saturate ? Overflow::saturate : Overflow::ieee);
      const std::uint64_t expected = oracle::encode(o, x.negative, magnitude, x.exponent, r.oracles, saturate);
      tally.check(got == expected, [&] {
        return fmt::format("{}{}: {:x}, oracle {:x}", text(f, x, r), saturate ? " saturate" : "", got,
                           expected);
      });
    }
}

// m * 2^e, the midpoint above it, and both sides of the midpoint: near, and far below the 64th bit.
std::vector<Exact> around(std::uint64_t m, int e) {
  const u128 mid = 2 * static_cast<u128>(m) + 1;
  std::vector<Exact> out{{false, m, e}, {false, mid, e - 1}};
  for (const int far : {3, 70})
    for (const int side : {-1, 1}) out.push_back({false, (mid << far) + static_cast<u128>(side), e - 1 - far});
  for (std::size_t i = 0, n = out.size(); i < n; ++i) {
    out.push_back(out[i]);
    out.back().negative = true;
  }
  return out;
}

// Far beyond the largest and far below the smallest, with one bit and with many.
std::vector<Exact> extremes() {
  std::vector<Exact> out;
  for (const int exponent :
       {-100000, -1200, -300, -200, -140, -128, -127, -60, 60, 126, 127, 128, 300, 1100, 100000})
    for (const u128 magnitude : {u128{1}, u128{3}, (u128{1} << 64) - 1, (u128{1} << 125) + 1})
      for (const bool negative : {false, true}) out.push_back({negative, magnitude, exponent});
  return out;
}

// Every finite code of the list, what lies between it and the next number, and the extremes.
void compare_numbers(const Format& f, const boundary::Codes& codes) {
  const oracle::Format& o = oracle::find_format(f.name);
  Tally tally;
  for (const std::uint64_t code : codes) {
    const oracle::Value v = oracle::decode(o, code);
    if (v.kind != oracle::Value::zero && v.kind != oracle::Value::finite) continue;
    if (v.negative || (f.ignored_high != 0 && code >> 7 != 0)) continue;  // `around` gives both signs
    for (const Exact& x : around(static_cast<std::uint64_t>(v.magnitude), v.exponent))
      compare_encoded(f, o, x, tally);
  }
  for (const Exact& x : extremes()) compare_encoded(f, o, x, tally);
  tally.judge(f.name);
}

boundary::Codes all_codes(const Format& f) {
  boundary::Codes out;
  for (std::uint64_t code = 0; code <= f.mask(); ++code) out.push_back(code);
  return out;
}

TEST_CASE("decode equals the oracle, and encode returns the code") {
  for (const Format& f : formats()) {
    const oracle::Format& o = oracle::find_format(f.name);
    REQUIRE(f.bits == o.width() + f.ignored_high);
    Tally tally;
    for (const std::uint64_t code : f.bits <= 16 ? all_codes(f) : boundary::codes(o)) {
      compare_decoded(f, o, code, tally);
      const Decoded plain = decode(f, code), dirty = decode(f, code | ~f.mask());
      tally.check(plain.significand == dirty.significand && plain.exponent == dirty.exponent &&
                      plain.cls == dirty.cls && plain.negative == dirty.negative,
                  [&] { return fmt::format("{} {:x} with bits above", f.name, code); });
    }
    tally.judge(f.name);
  }
}

TEST_CASE("encode equals the oracle at every number and midpoint up to 16 bits, at boundaries beyond",
          "[once]") {
  for (const Format& f : formats())
    if (!f.is_integer)
      compare_numbers(f, f.bits <= 16 ? all_codes(f) : boundary::codes(oracle::find_format(f.name)));
}

TEST_CASE("integers wrap and clamp as the oracle says") {
  for (const Format& f : formats()) {
    if (!f.is_integer) continue;
    const oracle::Format& o = oracle::find_format(f.name);
    Tally tally;
    std::vector<u128> magnitudes;
    for (unsigned m = 0; m < 600; ++m) magnitudes.push_back(m);
    for (int bit = 9; bit < 128; ++bit)
      for (const int side : {-1, 0, 1}) magnitudes.push_back((u128{1} << bit) + static_cast<u128>(side));
    for (const u128 m : magnitudes)
      for (const bool negative : {false, true})
        for (const int exponent : {-200, -130, -129, -128, -127, -40, -9, -3, -2, -1, 0})
          compare_encoded(f, o, {negative, m, exponent}, tally);
    for (const u128 m : {u128{1}, u128{3}, u128{255}, u128{0xFFFFFFFF}, (u128{1} << 126) - 1})
      for (const bool negative : {false, true})
        for (const int exponent : {1, 2, 7, 31, 32, 63, 64, 90, 150, 1000})
          compare_encoded(f, o, {negative, m, exponent}, tally);
    tally.judge(f.name);
  }
}

// Whatever the rounding, what lies a whole unit or more beyond the largest number leaves as if it were rounded
// to nearest; what lies below is rounded as IEEE says.
TEST_CASE("to_infinity leaves no finite number beyond the largest") {
  for (const Format& f : formats()) {
    if (f.is_integer) continue;
    const oracle::Format& o = oracle::find_format(f.name);
    const oracle::Value largest = oracle::decode(o, o.largest);
    Tally tally;
    for (int sixteenths = -40; sixteenths <= 60; ++sixteenths)
      for (const bool negative : {false, true})
        for (const Rounding2 r : kRoundings) {
          const cpp_int magnitude = largest.magnitude * 16 + sixteenths;
          if (magnitude <= 0) continue;
          const Exact x{negative, (static_cast<u128>(largest.magnitude) * 16) + static_cast<u128>(sixteenths),
                        largest.exponent - 4};
          const oracle::Round as = sixteenths >= 16 ? oracle::Round::nearest_away : r.oracles;
          const std::uint64_t expected = oracle::encode(o, negative, magnitude, x.exponent, as, false);
          const std::uint64_t got = encode(f, x, r.ours, Overflow::to_infinity);
          tally.check(got == expected,
                      [&] { return fmt::format("{}: {:x}, not {:x}", text(f, x, r), got, expected); });
        }
    tally.judge(f.name);
  }
  const Format &f32 = format(FormatId::f32), &f16 = format(FormatId::f16), &e4m3 = format(FormatId::e4m3);
  CHECK(encode(f32, {false, 1, 128}, Rounding::toward_zero, Overflow::to_infinity) == 0x7F800000);
  CHECK(encode(f32, {true, (u128{1} << 25) - 1, 103}, Rounding::toward_zero, Overflow::to_infinity) ==
        0xFF7FFFFF);
  CHECK(encode(f16, {false, 65520, 0}, Rounding::nearest_even, Overflow::to_infinity) == 0x7C00);
  CHECK(encode(f16, {false, 65519, 0}, Rounding::nearest_even, Overflow::to_infinity) == 0x7BFF);
  CHECK(encode(f16, {true, 65536, 0}, Rounding::toward_zero, Overflow::to_infinity) == 0xFC00);
  CHECK(encode(e4m3, {true, 480, 0}, Rounding::toward_zero, Overflow::to_infinity) == 0x7F);
}

TEST_CASE("kept fraction bits: rounded there, zeros below", "[sampled]") {
  for (const auto& [name, kept] : {std::pair{"f32", 13}, {"f32", 0}, {"f32", 22}, {"f16", 3}, {"e5m2", 1}}) {
    const Format& f = *find_format(name);
    const oracle::Format& o = oracle::find_format(name);
    Tally tally;
    const boundary::Codes codes = f.bits <= 16 ? all_codes(f) : boundary::codes(o);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const oracle::Value v = oracle::decode(o, codes[i]);
      if (v.kind != oracle::Value::finite || !has_turn(i, 0, 7))
        continue;  // a bit of the fraction has each value
      for (const Exact& x : around(static_cast<std::uint64_t>(v.magnitude), v.exponent))
        for (const Rounding2 r : kRoundings) {
          const int step = std::max(oracle::floor_log2(big(x.magnitude), x.exponent), o.min_exponent()) - kept;
          const cpp_int rounded =
              oracle::round_to_integer(x.negative, big(x.magnitude), x.exponent - step, r.oracles);
          const std::uint64_t expected = oracle::encode(o, x.negative, rounded, step, r.oracles, false);
          const std::uint64_t got = encode(f, x, r.ours, Overflow::ieee, kept);
          tally.check(got == expected, [&] {
            return fmt::format("{} kept {}: {:x}, not {:x}", text(f, x, r), kept, got, expected);
          });
        }
    }
    tally.judge(name);
  }
}

// round(sum(product(a, b), c)) is an IEEE fused multiply-add.
void compare_fma(const Format& f, const oracle::Format& o, const std::uint64_t (&codes)[3], Tally& tally) {
  const auto value = [&](int i) { return value_of(decode(f, codes[i]), f); };
  const oracle::Value product_of_two =
      oracle::product(oracle::decode(o, codes[0]), oracle::decode(o, codes[1]));
  const oracle::Value c = oracle::decode(o, codes[2]);
  for (const Rounding2 r : kRoundings) {
    if (r.ours == Rounding::nearest_away) continue;
    const std::uint64_t got = round(f, sum(product(value(0), value(1)), value(2), r.ours), r.ours);
    const std::uint64_t swapped = round(f, sum(value(2), product(value(1), value(0)), r.ours), r.ours);
    const std::uint64_t expected = oracle::ieee_sum(o, product_of_two, c, r.oracles);
    tally.check(got == expected && swapped == expected, [&] {
      return fmt::format("{} {:x} * {:x} + {:x}, rounding {}: {:x} or {:x}, oracle {:x}", f.name, codes[0],
                         codes[1], codes[2], static_cast<int>(r.ours), got, swapped, expected);
    });
  }
}

TEST_CASE("product, sum and round are a fused multiply-add at every crossing of boundaries") {
  for (const char* name : {"f32", "f64"}) {
    const oracle::Format& o = oracle::find_format(name);
    const boundary::Codes codes = boundary::few_codes(o);
    Tally tally;
    for (const std::uint64_t a : codes)
      for (const std::uint64_t b : codes)
        if (a <= b)  // `compare_fma` takes both orders
          for (const std::uint64_t c : codes) compare_fma(*find_format(name), o, {a, b, c}, tally);
    tally.judge(name);
  }
}

// c is the rounded product with the other sign, or near it: what is left are the product's low bits, subnormal
// where the product is small.
TEST_CASE("product, sum and round keep what cancellation leaves") {
  for (const char* name : {"f32", "f64"}) {
    const oracle::Format& o = oracle::find_format(name);
    const profiles::Alphabet numbers(o);
    profiles::Stream stream(1, 0);
    Tally tally;
    for (int i = 0; i < 20000; ++i) {
      const int exponent = stream.range(numbers.least, numbers.most),
                of_a = stream.range(numbers.least, numbers.most);
      const std::uint64_t a = numbers.number(stream.coin(), of_a, stream.bits());
      const std::uint64_t b = numbers.number(stream.coin(), exponent - of_a, stream.bits());
      const oracle::Value p = oracle::product(oracle::decode(o, a), oracle::decode(o, b));
      const std::uint64_t c =
          oracle::encode(o, !p.negative, p.magnitude, p.exponent, oracle::Round::toward_zero, false);
      const auto beside = static_cast<std::uint64_t>(stream.range(0, 2));
      compare_fma(*find_format(name), o, {a, b, (c & ~o.sign_bit()) < 2 ? c : c + beside - 1}, tally);
      compare_fma(*find_format(name), o,
                  {a, b, numbers.number(stream.coin(), exponent - stream.range(50, 130), 0)}, tally);
    }
    tally.judge(name);
  }
}

TEST_CASE("each name and each synonym finds its row, and only that") {
  std::set<std::string, std::less<>> seen;
  for (const Format& f : formats()) {
    std::vector<std::string> names{std::string(f.name)};
    for (std::size_t at = 0; at < f.synonyms.size();) {
      const std::size_t end = std::min(f.synonyms.find(' ', at), f.synonyms.size());
      names.emplace_back(f.synonyms.substr(at, end - at));
      at = end + 1;
    }
    for (const std::string& name : names) {
      INFO(name);
      CHECK_FALSE(name.empty());
      CHECK(seen.insert(name).second);
      CHECK(find_format(name) == &f);
    }
    CHECK(&format(f.id) == &f);
    CHECK_FALSE(f.source.empty());
  }
  for (const char* unknown : {"", " ", "f", "f3", "f322", ".f32", "float8_e4m3fn e4m3"})
    CHECK(find_format(unknown) == nullptr);
}

TEST_CASE("canonical NaNs, infinities and largest numbers are the oracle's") {
  for (const Format& f : formats()) {
    const oracle::Format& o = oracle::find_format(f.name);
    INFO(f.name);
    CHECK(f.canonical_nan == o.canonical_nan);
    CHECK(largest(f, false) == o.largest);
    const bool has_magnitude = !f.is_integer || f.zero_bits != 0;
    if (has_magnitude) CHECK(largest(f, true) == (o.largest | o.sign_bit()));
    if (!has_magnitude) CHECK(largest(f, true) == (f.is_signed ? o.sign_bit() : o.largest));
    if (o.specials != oracle::Specials::ieee) continue;
    CHECK(infinity(f, false) == o.infinity(false));
    CHECK(infinity(f, true) == o.infinity(true));
  }
}

}  // namespace formats_test
