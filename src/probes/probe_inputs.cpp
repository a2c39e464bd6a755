// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace warpbit {
namespace {

// The numbers of a plan at which its behaviour changes.
struct Limits {
  std::set<int> windows;        // F
  std::set<int> units;          // the last bit kept if E is the floor
  std::set<int> fraction_bits;  // of the results of all steps
  std::set<int> least_bits;     // of the same
  std::set<int> lengths;        // L

  explicit Limits(const Tile& tile) {
    result(*tile.c.format);
    result(*tile.d.format);
    for (const Step& step : *tile.plan) std::visit([&](const auto& s) { add(s); }, step);
  }

 private:
  void result(const Format& f) {
    if (!f.is_integer) result(f.fraction_bits, least_bit(f));
  }
  void result(int bits, int least) {
    fraction_bits.insert(bits);
    least_bits.insert(least);
  }
  template <class S>
  void add(const S& s) {
    if constexpr (requires { s.window; }) windows.insert(s.window);
    if constexpr (requires { s.floor; })
      if (s.floor != kNoFloor) units.insert(s.floor - s.window);
    if constexpr (requires { s.kept_fraction_bits; })
      result(s.kept_fraction_bits, format(s.result).min_exponent() - s.kept_fraction_bits);
    else if constexpr (requires { s.result; })
      result(format(s.result));
    else if constexpr (requires { s.format; })
      result(format(s.format));
    if constexpr (requires { s.products; }) lengths.insert(s.products);
    if constexpr (requires { s.group; }) lengths.insert(s.group);
  }
};

// Appends what is not there yet.
template <class T>
void add_once(std::vector<T>& to, const T& value) {
  if (std::ranges::find(to, value) == to.end()) to.push_back(value);
}

class Inputs {
 public:
  Inputs(const Tile& tile, const ProbeVisit& visit) : tile_(tile), visit_(visit), limits_(tile) {
    const int terms = tile.terms;
    std::vector<int> all = {0, 1, 2, kC, terms / 2, terms - 1, 3, 4};
    for (const int length : limits_.lengths)
      for (const int place : {length / 2, length, length + length / 2}) all.push_back(place);
    for (const int place : all)
      if (place < terms) add_once(places_, place);
  }

  void run() {
    if (tile_.d.format->is_integer) {
      integers();
      return;
    }
    zeros();
    specials();
    residuals();
    overflows();
    if (tile_.a_scale.is_present()) many_products();
    for (const Places3& places : arrangements()) {
      ++arrangement_;
      for (const int exponent : exponents()) {
        sums(exponent, places);
        rounded_sums(exponent, places);
      }
    }
  }

 private:
  using Places3 = std::array<int, 3>;
  // An addend; exponents are relative to the first one's.
  struct Addend {
    int place;
    bool negative;
    int exponent;
    Kind kind = Kind::power;
  };

  void visit(const ProbeWriter& w) { done_ = done_ || !visit_(w.inputs(), arrangement_); }
  void visit(int exponent, std::initializer_list<Addend> addends) {
    if (done_) return;
    ProbeWriter w(tile_);
    for (const Addend& x : addends)
      if (!w.add(x.place, x.negative, exponent + x.exponent, x.kind)) return;
    visit(w);
  }

  // Triples of different places, the most informative first.
  std::vector<Places3> arrangements() const {
    std::vector<Places3> out;
    const auto take = [&](const Places3& x) {
      const bool known =
          std::ranges::all_of(x, [&](int place) { return std::ranges::find(places_, place) != places_.end(); });
      const bool different = x[0] != x[1] && x[0] != x[2] && x[1] != x[2];
      if (known && different) add_once(out, x);
    };
    const int half = tile_.terms / 2, last = tile_.terms - 1;
    for (const Places3& x : {Places3{0, 1, 2},
                             {0, 1, kC},
                             {kC, 0, 1},
                             {0, kC, 1},
                             {0, half, 1},
                             {0, 1, half},
                             {0, last, 1},
                             {0, 1, last},
                             {half, last, 0},
                             {0, 2, 1},
                             {2, 3, 0},
                             {0, 1, 4},
                             {2, 0, kC}})
      take(x);
    for (const int length : limits_.lengths)
      for (const Places3& x : {Places3{0, length, 1}, {0, 1, length}, {length, 0, 1}}) take(x);
    for (const int p : places_)
      for (const int q : places_)
        for (const int r : places_) take({p, q, r});
    return out;
  }

  // A place different from the three; for groups, in the other half of the last one's.
  int other(const Places3& places) const {
    const auto is_free = [&](int s) { return std::ranges::find(places, s) == places.end(); };
    const int in_group = places[2] + *limits_.lengths.begin() / 2;
    if (!limits_.lengths.empty() && places[2] != kC && in_group < tile_.terms && is_free(in_group) &&
        tile_.a_scale.is_present())
      return in_group;
    return *std::ranges::find_if(places_, is_free);
  }

  // Exponents of the first addend.
  std::vector<int> exponents() const {
    std::vector<int> out;
    const auto add = [&](int exponent) { add_once(out, exponent); };
    add(0);
    add(largest_exponent(a_) + largest_exponent(b_));
    for (const FormatId id : {a_.id, tile_.plan->operands.value_or(a_.id)})
      add(format(id).min_exponent() + largest_exponent(b_));
    for (const FormatId id : {b_.id, tile_.plan->operands.value_or(b_.id)})
      add(largest_exponent(a_) + format(id).min_exponent());
    for (const int bit : limits_.least_bits)
      for (const int less : {0, 1, 2}) add(bit - less);
    for (const int bit : limits_.fraction_bits) add(bit);
    if (tile_.a_scale.is_present())
      add(largest_exponent(*tile_.a_scale.format) + largest_exponent(*tile_.b_scale.format));
    return out;
  }
  // Distances from the first addend to one that may be lost.
  std::set<int> gaps(int exponent) const {
    std::set<int> out;
    for (const int bits : limits_.windows)
      for (int i = -2; i <= 2; ++i) out.insert(bits + i);
    for (const int bits : limits_.fraction_bits)
      for (int i = -1; i <= 3; ++i) out.insert(bits + i);
    for (const int unit : limits_.units)
      for (int i = -2; i <= 2; ++i) out.insert(exponent - unit + i);
    std::erase_if(out, [](int gap) { return gap <= 0; });
    return out;
  }

  // x and a small y; x + x + y; x - x + y, and twice that y.
  void sums(int e, const Places3& places) {
    const auto [p, q, r] = places;
    const int s = other(places);
    for (const bool x : {false, true}) {
      visit(e, {{p, x, 0}});
      for (const int gap : gaps(e))
        for (const bool y : {false, true}) {
          for (const Kind kind : {Kind::power, Kind::square, Kind::left_zero, Kind::right_zero})
            visit(e, {{p, x, 0, kind}, {q, y, -gap}});
          visit(e, {{p, x, 0}, {q, x, 0}, {r, y, -gap}});
          for (const Kind kind : {Kind::left_zero, Kind::right_zero})
            visit(e, {{p, x, 0, kind}, {q, y, -gap}, {r, y, -gap}});
          for (const Kind kind : {Kind::power, Kind::square, Kind::left_subnormal, Kind::right_subnormal}) {
            visit(e, {{p, x, 0, kind}, {q, !x, 0, kind}, {r, y, -gap}});
            visit(e, {{p, x, 0, kind}, {q, !x, 0, kind}, {r, y, -gap}, {s, y, -gap}});
          }
        }
    }
  }

  // x or 2 x, optionally its last bit, half of that, and optionally a little more or less.
  void rounded_sums(int e, const Places3& places) {
    const auto [p, q, r] = places;
    const int s = other(places);
    for (const int bits : limits_.fraction_bits)
      for (const bool x : {false, true})
        for (const bool half : {false, true}) {
          visit(e, {{p, x, 0}, {q, x, -bits}, {r, half, -bits - 1}});
          visit(e, {{p, x, 0}, {q, x, 0}, {r, x, -bits + 1}, {s, half, -bits}});
          for (const int less : {2, 3}) visit(e, {{p, x, 0}, {q, half, -bits - 1}, {r, !half, -bits - less}});
          visit(e, {{p, x, 0}, {q, half, -bits - 1}, {r, half, -bits - 3}});
          for (const int window : limits_.windows)
            visit(e, {{p, x, 0}, {q, x, -bits}, {r, x, -bits - 1}, {s, half, -window}});
        }
  }

  // The minimum result as a sum of many equal products that share one scale, and a little less or more.
  void many_products() {
    const int least = least_bit(a_) + least_bit(b_);
    const int most = largest_exponent(a_) + largest_exponent(b_);
    for (const int bit : limits_.least_bits)
      for (const int unit : limits_.units)
        for (int low = unit - 2; low <= unit + 1; ++low)
          for (const bool negative : {false, true}) {
            const int e = std::min(bit, low - least + most);
            if (bit - e > 16 || 1 << (bit - e) >= tile_.terms) continue;
            ++arrangement_;
            ProbeWriter w(tile_);
            bool is_there = w.scale(0, low - least);
            for (int k = 0; k < 1 << (bit - e); ++k) is_there = is_there && w.add(k, negative, e);
            if (is_there && w.add(1 << (bit - e), !negative, low)) visit(w);
          }
  }

  // Zeros with their signs.
  void zeros() {
    for (const bool negative : {true, false})
      for (const bool c_negative : {true, false}) {
        ProbeWriter w(tile_);
        w.all_products(*code_of(a_, negative, 0, 0), *code_of(b_, false, 1, 0), negative ? "-0" : "0");
        w.c(*code_of(c_, c_negative, 0, 0), c_negative ? "-0" : "0");
        visit(w);
        if (!negative || !c_negative) continue;
        for (const int p : places_) {
          ++arrangement_;
          for (const int bit : limits_.least_bits)
            for (const int e : {bit - 1, bit - 2})
              if (ProbeWriter least = w; least.add(p, true, e)) visit(least);
        }
      }
  }

  // NaNs with payloads in f64.
  void specials() {
    if (c_.id != FormatId::f64 || tile_.a.format->id != FormatId::f64) return;
    const std::uint64_t payload[] = {infinity(c_, false) | 0xA, infinity(c_, true) | 0xB,
                                     infinity(c_, false) | 0xC};
    const std::uint64_t one = *code_of(c_, false, 1, 0);
    for (const int k : places_) {
      ++arrangement_;
      for (int which = 1; which < 8 && k != kC; ++which) {
        ProbeWriter w(tile_);
        w.product(k, which & 1 ? payload[0] : one, which & 2 ? payload[1] : one,
                  fmt::format("{}*{}", which & 1 ? "NaN" : "1", which & 2 ? "NaN" : "1"));
        if (which & 4) w.c(payload[2], "NaN");
        visit(w);
      }
    }
  }

  // (1 + u)^2 - (1 + 2u) = u^2 for the last bit u.
  void residuals() {
    const int bits = std::min(a_.fraction_bits, b_.fraction_bits);
    const std::uint64_t one = std::uint64_t{1} << bits;
    const auto x = code_of(a_, false, one + 1, -bits), y = code_of(b_, false, one + 1, -bits),
               minus = code_of(c_, true, one + 2, -bits);
    if (!x || !y || !minus || !a_.subnormals) return;
    for (const int k : places_) {
      if (k == kC) continue;
      ++arrangement_;
      ProbeWriter w(tile_);
      w.product(k, *x, *y, "(1 + u)^2");
      w.c(*minus, "-(1 + 2 u)");
      visit(w);
    }
  }

  // Products, and C, at the limits of the range.
  void overflows() {
    for (const bool negative : {false, true}) {
      ++arrangement_;
      const std::string sign = negative ? "-" : "";
      const auto with_c = [&](ProbeWriter w) {
        w.c(largest(c_, negative), sign + "max");
        return w;
      };
      ProbeWriter all(tile_), one(tile_);
      all.all_products(largest(a_, negative), largest(b_, false), sign + "max*max");
      one.product(0, largest(a_, negative), largest(b_, false), sign + "max*max");
      for (const ProbeWriter& w : {all, with_c(all), one, with_c(one)}) visit(w);
      for (int less = 0; less < 2 * c_.fraction_bits; ++less)
        if (ProbeWriter w = with_c(ProbeWriter(tile_)); w.add(0, negative, largest_exponent(c_) - less))
          visit(w);
    }
  }

  // ---- Integers and bits

  void integers() {
    const std::uint64_t top = std::uint64_t{1} << (c_.bits - 1);
    const std::uint64_t ones[] = {1, a_.is_signed ? a_.mask() : 1};
    for (const std::uint64_t start : {std::uint64_t{0}, top - 1, top, c_.mask()})
      for (const int p : places_)
        for (const int q : places_) {
          ++arrangement_;
          for (const std::uint64_t x : {std::uint64_t{0}, ones[0], ones[1], largest(a_, false)})
            for (const std::uint64_t y : {std::uint64_t{0}, std::uint64_t{1}, b_.mask()}) {
              if (done_ || p == kC || q == kC || p == q) continue;
              ProbeWriter w(tile_);
              w.c(start, fmt::format("{}", static_cast<std::int32_t>(start)));
              w.product(p, x, y, fmt::format("{:#x}*{:#x}", x, y));
              if (p < q)
                w.product(q, a_.is_signed ? (~x + 1) & a_.mask() : x,
                          b_.is_signed && !a_.is_signed ? (~y + 1) & b_.mask() : y, "the opposite");
              visit(w);
            }
        }
  }

  const Tile& tile_;
  const Format &a_ = *tile_.a.format, &b_ = *tile_.b.format, &c_ = *tile_.c.format;
  const ProbeVisit& visit_;
  Limits limits_;
  std::vector<int> places_;
  int arrangement_ = 0;
  bool done_ = false;
};

}  // namespace

void for_each_probe_input(const Tile& tile, const ProbeVisit& visit) {
  Inputs(tile, visit).run();
}

}  // namespace warpbit
