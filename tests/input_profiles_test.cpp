// SPDX-License-Identifier: Apache-2.0
// What each profile of the generator of inputs promises, on formats as the oracle has them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <climits>  // INT_MAX
#include <map>
#include <numeric>
#include <set>

#include "oracle/formats.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/inputs/text.hpp"

namespace input_profiles_test {

using namespace warpbit::inputs;
using Codes = std::vector<std::uint64_t>;

const Key kKey = key_of("input_profiles_test", 1);

Range exponents(const oracle::Format& f) {
  if (f.specials == oracle::Specials::integer) return {};
  const oracle::Value largest = oracle::decode(f, f.largest);
  return {f.min_exponent() - (f.lowest_field ? f.fraction_bits : 0),
          oracle::floor_log2(largest.magnitude, largest.exponent)};
}

// A member of 32 lanes with 4 registers of 32 bits (f64: of 64), in products of two of these formats with an
// f32 result.
Member member_of(std::string_view name, Role role) {
  const oracle::Format& f = oracle::find_format(name);
  Member m;
  m.fill = Fill::elements;
  m.operand = static_cast<std::int32_t>(role);
  m.lanes = 32;
  m.registers = 4;
  m.role = role;
  m.neighbour = Neighbour::lane;
  m.register_bits = f.width() > 32 ? 64 : 32;
  m.slot_bits = f.width() > 4 ? static_cast<std::int32_t>(std::bit_ceil(static_cast<unsigned>(f.width()))) : 4;
  m.format.bits = f.width();
  m.format.is_signed = f.has_sign;
  m.format.ignored_low = f.unused_bits;
  if (f.specials != oracle::Specials::integer) {
    m.format.exponent_bits = f.exponent_bits;
    m.format.fraction_bits = f.fraction_bits;
    m.format.bias = f.bias;
    m.format.subnormals = f.lowest_field;
    m.format.no_numbers = f.specials == oracle::Specials::ieee           ? NoNumbers::ieee
                          : f.specials == oracle::Specials::nan_all_ones ? NoNumbers::all_ones
                                                                         : NoNumbers::none;
    m.frame.sum = {-149, 127};
    m.frame.sum_normal = -126;
  }
  m.frame.left = m.frame.right = exponents(f);
  return m;
}

// The codes of a case, by lane, register and slot.
Codes codes(const Member& m, Profile profile, std::uint64_t index) {
  Codes out;
  for (int lane = 0; lane < m.lanes; ++lane)
    for (int reg = m.first; reg < m.first + m.registers; ++reg) {
      const std::uint64_t bits = word(kKey, profile, m, index, lane, reg);
      for (int low = m.low_bit; low < m.register_bits; low += m.slot_bits)
        out.push_back(bits >> low & ones<std::uint64_t>(m.format.bits));
    }
  return out;
}

constexpr std::array kFloating = {"f64", "f32", "tf32", "f16", "bf16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1"};

// What the codes of a case are.
struct Seen {
  int numbers = 0, zeros = 0, negative_zeros = 0, infinities = 0, nans = 0, negative = 0;
  int least = INT_MAX, most = INT_MIN;  // exponents of the numbers that are not zero
  std::set<int> exponents;

  Seen(const oracle::Format& f, const Codes& list) {
    for (const std::uint64_t code : list) {
      const oracle::Value v = oracle::decode(f, code);
      if (v.kind == oracle::Value::nan) {
        ++nans;
        continue;
      }
      negative += v.negative;
      if (v.kind == oracle::Value::infinity) {
        ++infinities;
      } else if (v.magnitude == 0) {
        ++zeros;
        negative_zeros += v.negative;
      } else {
        ++numbers;
        exponents.insert(oracle::floor_log2(v.magnitude, v.exponent));
      }
    }
    if (exponents.empty()) return;
    least = *exponents.begin();
    most = *exponents.rbegin();
  }
  int specials() const { return infinities + nans; }
};

Seen seen(const char* format, Role role, Profile profile, std::uint64_t index) {
  return {oracle::find_format(format), codes(member_of(format, role), profile, index)};
}

constexpr std::uint64_t kCases = 300;

TEST_CASE("uniform: every code, those that are no numbers seldom", "[quick][inputs]") {
  for (const char* format : {"e5m2", "e4m3", "e3m2", "e2m3", "e2m1"}) {
    const oracle::Format& f = oracle::find_format(format);
    std::map<std::uint64_t, int> count;
    int all = 0, no_numbers = 0;
    for (std::uint64_t i = 0; i < 8 * kCases; ++i)
      for (const std::uint64_t code : codes(member_of(format, Role::left), Profile::uniform, i)) {
        ++count[code];
        ++all;
        no_numbers += oracle::decode(f, code).kind > oracle::Value::finite;
      }
    INFO(format);
    CHECK(count.size() == std::size_t{1} << f.width());
    CHECK(no_numbers <= all / 256);
  }
}

TEST_CASE("ordinary: numbers near 1 of every fraction, accumulators beside them", "[quick][inputs]") {
  for (const char* format : kFloating)
    for (const Role role : {Role::left, Role::right}) {
      const oracle::Format& f = oracle::find_format(format);
      std::set<std::uint64_t> fractions;
      int negative = 0, all = 0;
      for (std::uint64_t i = 0; i < kCases; ++i) {
        const Codes list = codes(member_of(format, role), Profile::ordinary, i);
        const Seen s(f, list);
        INFO(format << " case " << i);
        CHECK(s.numbers == static_cast<int>(list.size()));
        CHECK(s.least >= -2);
        CHECK(s.most <= 0);
        negative += s.negative;
        all += s.numbers;
        for (const std::uint64_t code : list)
          fractions.insert(code >> f.unused_bits & ((1u << std::min(f.fraction_bits, 6)) - 1));
      }
      CHECK(fractions.size() == std::size_t{1} << std::min(f.fraction_bits, 6));
      CHECK(negative > all * 2 / 5);
      CHECK(negative < all * 3 / 5);
    }
}

TEST_CASE("narrow: one exponent, anywhere; the accumulator follows the products", "[quick][inputs]") {
  for (const char* format : kFloating) {
    const Range range = exponents(oracle::find_format(format));
    int least = INT_MAX, most = INT_MIN, zero_cases = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Seen a = seen(format, Role::left, Profile::narrow, i),
                 b = seen(format, Role::right, Profile::narrow, i);
      Member sum = member_of("f32", Role::sum);
      sum.frame = member_of(format, Role::left).frame;
      const Seen c(oracle::find_format("f32"), codes(sum, Profile::narrow, i));
      INFO(format << " case " << i);
      REQUIRE(a.specials() + b.specials() + c.specials() == 0);
      CHECK(a.most - a.least <= 3);
      CHECK(b.most - b.least <= 3);
      const int products = a.most + b.most;
      if (products > -140 && products < 120) {
        CHECK(c.most >= products - 5);
        CHECK(c.most <= products + 6);
      }
      least = std::min(least, a.least);
      most = std::max(most, a.most);
      zero_cases += a.zeros > 0;
    }
    INFO(format);
    CHECK(least <= std::max(range.least, -200) + 3);
    CHECK(most >= std::min(range.most, 100) - 3);
    CHECK(zero_cases > static_cast<int>(kCases) / 8);
    CHECK(zero_cases < static_cast<int>(kCases) / 2);
  }
}

TEST_CASE("wide: exponents far apart", "[quick][inputs]") {
  for (const char* format : kFloating) {
    const Range range = exponents(oracle::find_format(format));
    int widest = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Seen a = seen(format, Role::left, Profile::wide, i);
      REQUIRE(a.specials() == 0);
      widest = std::max(widest, a.most - a.least);
    }
    INFO(format);
    CHECK(widest >= std::min(range.most - range.least, 38));
  }
}

TEST_CASE("underflow and overflow: products at the ends of the result, as far as factors reach",
          "[quick][inputs]") {
  for (const char* format : kFloating) {
    const Range range = exponents(oracle::find_format(format));
    int zeros = 0, negative_zeros = 0, all = 0, below_all = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      INFO(format << " case " << i);
      const Seen a = seen(format, Role::left, Profile::underflow, i),
                 b = seen(format, Role::right, Profile::underflow, i);
      CHECK(a.most + b.most <= std::max(-126 + 3, 2 * range.least));
      zeros += a.zeros;
      negative_zeros += a.negative_zeros;
      all += a.zeros + a.numbers;
      below_all += a.most + b.most < -149;
      const Seen x = seen(format, Role::left, Profile::overflow, i),
                 y = seen(format, Role::right, Profile::overflow, i);
      CHECK(x.most + y.most >= std::min(127 - 6, 2 * range.most) - 1);
      CHECK(x.most + y.most <= 128);
      CHECK(x.specials() + y.specials() + x.zeros + a.specials() == 0);
    }
    INFO(format);
    CHECK(zeros > all / 10);
    CHECK(zeros < all / 6);
    CHECK(negative_zeros > zeros / 3);
    CHECK(negative_zeros < zeros * 2 / 3);
    CHECK((below_all > 0) == (2 * range.least < -149));
  }
}

TEST_CASE("specials: NaNs with payloads, infinities and zeros among numbers", "[quick][inputs]") {
  for (const char* format : kFloating) {
    const oracle::Format& f = oracle::find_format(format);
    std::set<std::uint64_t> nans;
    Seen total(f, {});
    int most = 0, clean = 0, size = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Codes list = codes(member_of(format, Role::left), Profile::specials, i);
      const Seen s(f, list);
      size = static_cast<int>(list.size());
      for (const std::uint64_t code : list)
        if (oracle::decode(f, code).kind == oracle::Value::nan) nans.insert(code >> f.unused_bits);
      total.numbers += s.numbers, total.zeros += s.zeros, total.negative_zeros += s.negative_zeros;
      total.infinities += s.infinities, total.nans += s.nans;
      most = std::max(most, s.specials() + s.zeros);
      clean += s.specials() + s.zeros == 0;
    }
    INFO(format);
    CHECK(total.zeros > total.negative_zeros);
    CHECK(total.negative_zeros > 0);
    CHECK((total.infinities > 0) == (f.specials == oracle::Specials::ieee));
    CHECK((total.nans > 0) == (f.specials != oracle::Specials::none));
    if (f.specials == oracle::Specials::ieee)
      CHECK(nans.size() >=
            std::min<std::size_t>(100, 2 * ((std::size_t{1} << std::min(f.fraction_bits, 20)) - 1)));
    if (f.specials == oracle::Specials::nan_all_ones) CHECK(nans.size() == 2);
    CHECK(total.numbers > 8 * (total.nans + total.infinities));
    CHECK(most > size / 16);
    CHECK(most < size / 2);
  }
}

TEST_CASE("cancellation: of two neighbours A is negated, B repeated, now and then but for a bit",
          "[quick][inputs]") {
  for (const char* format : {"f64", "tf32", "f16", "bf16", "e5m2", "e4m3", "e2m1", "s8", "s4"}) {
    const oracle::Format& f = oracle::find_format(format);
    const bool single = f.width() > 16;  // one element a register: the neighbour is in the next lane
    const std::size_t step = single ? 4 : 1, run = 2 * step;
    const std::uint64_t mask = f.width() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << f.width()) - 1;
    int pairs = 0, different = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      const Codes a = codes(member_of(format, Role::left), Profile::cancellation, i);
      const Codes b = codes(member_of(format, Role::right), Profile::cancellation, i);
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (k % run >= step) continue;
        const bool integer = f.specials == oracle::Specials::integer;
        REQUIRE(a[k + step] == (integer ? (~a[k] + 1) & mask : a[k] ^ f.sign_bit()));
        REQUIRE((b[k + step] == b[k] || (b[k + step] ^ b[k]) == std::uint64_t{1} << f.unused_bits));
        ++pairs;
        different += b[k + step] != b[k];
      }
    }
    INFO(format);
    CHECK(different > pairs / 10);
    CHECK(different < pairs / 7);
  }
}

// The differences of exponents of two products.
std::set<int> gaps(const Seen& a, const Seen& b) {
  std::set<int> sums, out;
  for (const int x : a.exponents)
    for (const int y : b.exponents) sums.insert(x + y);
  for (const int x : sums)
    for (const int y : sums) out.insert(std::abs(x - y));
  return out;
}

TEST_CASE("alignment: powers of two with at most one more bit, all gaps from 13 to 35, many zeros",
          "[quick][inputs]") {
  for (const char* format : kFloating) {
    const oracle::Format& f = oracle::find_format(format);
    const Range range = exponents(f);
    std::map<int, int> cases_with_gap;
    int zeros = 0, all = 0, single = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Codes list = codes(member_of(format, Role::left), Profile::alignment, i);
      for (const std::uint64_t code : list) {
        ++all;
        const oracle::Value v = oracle::decode(f, code);
        const int bits = std::popcount(static_cast<std::uint64_t>(v.magnitude));
        CHECK(bits <= 2);
        single += bits == 1;
      }
      const Seen a(f, list);
      const Seen b = seen(format, Role::right, Profile::alignment, i);
      zeros += a.zeros;
      for (const int gap : gaps(a, b)) ++cases_with_gap[gap];
    }
    INFO(format);
    CHECK(zeros > all / 3);
    CHECK(zeros < all * 2 / 3);
    CHECK(single > all / 5);
    for (int gap = 13; gap <= std::min(35, 2 * (range.most - range.least)); ++gap) {
      INFO("gap " << gap);
      CHECK(cases_with_gap[gap] >= 3);
    }
  }
}

TEST_CASE("scale factors make up for what factors cannot reach", "[quick][inputs]") {
  for (const char* scale : {"ue8m0", "ue4m3"}) {
    const Range range = exponents(oracle::find_format("e2m1")), scaling = exponents(oracle::find_format(scale));
    Frame frame = member_of("e2m1", Role::left).frame;
    frame.scale = scaling;
    for (const Profile profile : {Profile::underflow, Profile::overflow}) {
      const int end = profile == Profile::underflow ? std::max(-126 + 3, 2 * range.least + 2 * scaling.least)
                                                    : std::min(127 - 6, 2 * range.most + 2 * scaling.most);
      for (std::uint64_t i = 0; i < kCases; ++i) {
        int sum = 0;
        for (const auto& [format, role] : {std::pair{"e2m1", Role::left},
                                           {"e2m1", Role::right},
                                           {scale, Role::left_scale},
                                           {scale, Role::right_scale}}) {
          Member m = member_of(format, role);
          m.frame = frame;
          const Seen s(oracle::find_format(format), codes(m, profile, i));
          CHECK(s.specials() == 0);
          sum += s.most;
        }
        INFO(scale << ", " << name(profile) << ", case " << i);
        if (profile == Profile::underflow) CHECK(sum <= end);
        if (profile == Profile::overflow) CHECK(sum >= end - 2);
      }
    }
  }
}

TEST_CASE("integers: small, extreme, powers of two", "[quick][inputs]") {
  const auto value = [](const char* format, std::uint64_t code) {
    const oracle::Value v = oracle::decode(oracle::find_format(format), code);
    const auto magnitude = static_cast<std::int64_t>(v.magnitude);
    return v.negative ? -magnitude : magnitude;
  };
  for (const auto& [format, least, most] :
       {std::tuple{"s8", -128L, 127L}, {"u8", 0L, 255L}, {"s4", -8L, 7L}, {"u4", 0L, 15L}}) {
    std::set<std::int64_t> uniform, ordinary, specials;
    int extreme = 0, all = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Member m = member_of(format, Role::left);
      for (const std::uint64_t code : codes(m, Profile::uniform, i)) uniform.insert(value(format, code));
      for (const std::uint64_t code : codes(m, Profile::ordinary, i)) ordinary.insert(value(format, code));
      for (const std::uint64_t code : codes(m, Profile::specials, i)) specials.insert(value(format, code));
      for (const std::uint64_t code : codes(m, Profile::alignment, i))
        CHECK(std::popcount(static_cast<std::uint64_t>(std::abs(value(format, code)))) <= 1);
      for (const std::uint64_t code : codes(m, Profile::overflow, i)) {
        ++all;
        extreme += value(format, code) == least || value(format, code) == most;
      }
    }
    INFO(format);
    CHECK(uniform.size() == static_cast<std::size_t>(most - least + 1));
    CHECK(ordinary.size() == 16);
    CHECK(specials == (least < 0 ? std::set<std::int64_t>{0, 1, most, least}
                                 : std::set<std::int64_t>{0, 1, most, most - 1}));
    CHECK(extreme > all * 6 / 7);
  }
  // Accumulators: within 2^20 of one of the ends.
  int near_most = 0, near_least = 0, far = 0;
  for (std::uint64_t i = 0; i < kCases; ++i)
    for (const std::uint64_t code : codes(member_of("s32", Role::sum), Profile::overflow, i)) {
      const std::int64_t v = value("s32", code);
      (v > INT32_MAX - (1 << 20) ? near_most : v < INT32_MIN + (1 << 20) ? near_least : far)++;
    }
  CHECK(near_most > 3 * far);
  CHECK(near_least > 2 * far);
}

TEST_CASE("single bits: about half of them, few, many, one", "[quick][inputs]") {
  Member m = member_of("s32", Role::left);
  m.format = {1, 0, 0, 0, 0, 0, 0, NoNumbers::none};
  m.slot_bits = 1;
  const auto density = [&](Profile profile) {
    int set = 0;
    for (std::uint64_t i = 0; i < kCases; ++i) {
      const Codes list = codes(m, profile, i);
      set += std::accumulate(list.begin(), list.end(), 0,
                             [](int sum, std::uint64_t bit) { return sum + static_cast<int>(bit); });
    }
    return set * 1000 / static_cast<int>(kCases * 32 * 4 * 32);
  };
  CHECK(std::abs(density(Profile::uniform) - 500) < 10);
  CHECK(std::abs(density(Profile::narrow) - 250) < 10);
  CHECK(std::abs(density(Profile::wide) - 750) < 10);
  CHECK(std::abs(density(Profile::underflow) - 62) < 5);
  CHECK(std::abs(density(Profile::overflow) - 937) < 5);
  CHECK(density(Profile::alignment) == 1000 / 32);
}

TEST_CASE("mixed takes the profiles in turn", "[quick][inputs]") {
  for (const char* format : {"f16", "s8"})
    for (std::uint64_t i = 0; i < 5 * kMixedProfiles; ++i)
      CHECK(codes(member_of(format, Role::left), Profile::mixed, i) ==
            codes(member_of(format, Role::left), static_cast<Profile>(i % kMixedProfiles), i));
}

TEST_CASE("exhaustive goes through all codes of a register", "[quick][inputs]") {
  for (const int operand : {0, 1, 5})
    for (const int reg : {0, 3}) {
      Member m = member_of("f16", Role::left);
      m.register_bits = 16;
      m.operand = operand;
      std::vector<bool> found(std::size_t{1} << 16);
      for (std::uint64_t i = 0; i < found.size(); ++i) {
        const std::uint64_t bits = word(kKey, Profile::exhaustive, m, i + 12345, 0, reg);
        CHECK_FALSE(found.at(bits));
        found.at(bits) = true;
        if (operand == 0 && reg == 0) CHECK(bits == ((i + 12345) & 0xFFFF));
      }
    }
}

}  // namespace input_profiles_test
