// SPDX-License-Identifier: Apache-2.0
// Mistakes that put elements into other registers, lanes or places of a matrix than the fragments have.
#include "diagnose/places.hpp"

#include <fmt/format.h>

#include <bit>

#include "diagnose/swizzling.hpp"

namespace warpbit::diagnosis {
namespace {

// "a0 and a2, a1 and a3 are exchanged"
std::string exchange_text(std::string_view what, int n, int mask) {
  std::string out;
  int pairs = 0;
  for (int i = 0; i < n; ++i) {
    if (i > (i ^ mask)) continue;
    if (++pairs > 4) return fmt::format("{}, and so on, are exchanged", out);
    out += fmt::format("{0}{1}{2} and {1}{3}", out.empty() ? "" : ", ", what, i, i ^ mask);
  }
  return out + " are exchanged";
}

class PlaceCollection : private PlaceGroup {
 public:
  using PlaceGroup::PlaceGroup;

  void run() {
    std::vector<const Fragment*> every;
    for (const Fragment& f : to_.fragments) {
      if (!f.is_in_registers()) continue;
      every.push_back(&f);
      one_operand({&f});
    }
    // Where D is C, a kernel stores it, and loads it elsewhere if at all.
    if (const Fragment* c = to_.find(Part::c); c && to_.is_c_apart && to_.find(Part::d))
      one_operand({c, every.back()});
    if (every.size() < 3) return;
    take(std::move(every));
    lanes();
    lane_digits();
  }

 private:
  void one_operand(std::vector<const Fragment*> group) {
    take(std::move(group));
    registers();
    lanes();
    transpositions();
    leading_dimensions();
    swizzles();
    shifts();
    if (group_.size() == 1) not_loaded();
    digits();
  }

  void registers() {
    const int n = first().registers(), per = first().per_register();
    const std::string r = first().role();
    const std::string hint = fmt::format("compare the order of {}'s registers with the fragment's", names_);
    const auto reg = [&](std::string text, int cost, auto other, bool pairs = true) {
      add({"register_order", "", fmt::format("registers of {}: {}", names_, text), hint, cost, pairs},
          [&](const Fragment&, const Index& i) {
            return Index{i.lane, other(i.reg), i.slot};
          });
    };
    for (int x = 0; x < n; ++x)
      for (int y = x + 1; y < n && (n <= 8 || y == (x ^ 1)); ++y)
        reg(fmt::format("{}{} and {}{} are exchanged", r, x, r, y), 1, [&](int i) {
          return i == x ? y : i == y ? x : i;
        });
    for (int mask = 1; mask < n && n % (2 * static_cast<int>(std::bit_floor(static_cast<unsigned>(mask)))) == 0;
         ++mask)
      reg(exchange_text(r, n, mask), 1, [&](int i) { return i ^ mask; });
    repeated_registers(hint);
    reg("reversed", 2, [&](int i) { return n - 1 - i; });
    reg("rotated by one", 2, [&](int i) { return (i + 1) % n; });
    reg("rotated back by one", 2, [&](int i) { return (i + n - 1) % n; });
    for (int bits = 1; 1 << bits < n && std::has_single_bit(static_cast<unsigned>(n)); ++bits)
      reg(fmt::format("the index is split at {} the wrong way round", 1 << bits), 2, [&](int i) {
        return i >> bits | (i & ((1 << bits) - 1)) << (std::bit_width(unsigned(n - 1)) - bits);
      });
    for (int mask = 1; mask < per; ++mask)
      add({"element_order", "",
           per == 2 ? fmt::format("the two halves of each register of {} are exchanged", names_)
                    : fmt::format("elements of each register of {}: {}", names_,
                                  exchange_text("element ", per, mask)),
           "the first element is in the lowest bits of a register", 1, true},
          [&](const Fragment&, const Index& i) {
            return Index{i.lane, i.reg, i.slot ^ mask};
          });
  }

  // Registers that hold what others should: one passed twice, or some loaded from the addresses of others.
  void repeated_registers(const std::string& hint) {
    const int n = first().registers();
    const std::string r = first().role();
    const auto add_repeated = [&](std::string text, int cost, auto other) {
      // What is stored from another register is D's: map_of has the inverse for it.
      add(
          {"register_order", "", std::move(text), hint, cost},
          [&](const Fragment&, const Index& i) {
            return Index{i.lane, other(i.reg), i.slot};
          },
          true);
    };
    for (int x = 0; x < n && n <= 8 && group_.size() == 1; ++x)
      for (int y = 0; y < n; ++y)
        if (x != y)
          add_repeated(fmt::format("register {0}{1} holds {0}{2}", r, y, x), 1,
                       [&](int i) { return i == y ? x : i; });
    for (int mask = 1; mask < n && std::has_single_bit(static_cast<unsigned>(n)); ++mask)
      for (const bool upper : {false, true}) {
        std::string holders, held;
        for (int i = 0; i < n && n <= 8; ++i) {
          const int other = upper ? i | mask : i & ~mask;
          if (other == i) continue;
          holders += fmt::format("{}{}{}", holders.empty() ? "" : ", ", r, i);
          held += fmt::format("{}{}{}", held.empty() ? "" : ", ", r, other);
        }
        if (!holders.empty())
          add_repeated(fmt::format("registers {} of {} hold {}", holders, names_, held), 1,
                       [&](int i) { return upper ? i | mask : i & ~mask; });
      }
  }

  void lanes() {
    for (const auto& [text, other] : kLaneOrders)
      add({"lane_order", "", fmt::format("lanes of {}: {}", names_, text),
           fmt::format("row and column of {}'s elements follow from lane / 4 and lane % 4", names_), 2},
          [other = other](const Fragment&, const Index& i) {
            return Index{(i.lane & ~31) | other(i.lane & 31), i.reg, i.slot};
          });
    const int warps = first().lanes() / 32;
    const auto warp = [&](const std::string& text, auto other) {
      add({"lane_order", "", fmt::format("warps of {}: {}", names_, text),
           "the index of the warp in the warpgroup", 2},
          [&](const Fragment&, const Index& i) {
            return Index{(i.lane & 31) + 32 * other(i.lane / 32), i.reg, i.slot};
          });
    };
    for (int mask = 1; mask < warps; ++mask) {
      warp(exchange_text("warp ", warps, mask), [mask](int w) { return w ^ mask; });
      warp(fmt::format("each has what warp & {} has", warps - 1 - mask),
           [=](int w) { return w & (warps - 1 - mask); });
    }
  }

  // 16 bytes of a line are found at others of the same line: it was stored with one swizzle and is read with another, or with
  // none. Bits of the line's number change bits of that of the 16 bytes.
  void swizzles() {
    const int bits = first().packing().slot_bits, chunk = std::max(1, 128 / bits);
    const std::vector<Swizzling> all = swizzlings(first().line() / chunk);
    for (std::size_t x = 0; x < all.size(); ++x)
      for (std::size_t y = x; y < all.size(); ++y) {
        const Swizzling one = all[x], other = x == y ? Swizzling{} : all[y];
        add({"swizzle", "", swizzle_text(names_, one, other),
             "the swizzle of shared memory, on both sides the same", x == y ? 1 : 3},
            [&](const Fragment& f, const Coordinate& c) {
              const int moved = f.inner(c) ^ ((one.of(f.outer(c)) ^ other.of(f.outer(c))) * chunk);
              return f.slot_at(f.lines_first() ? Coordinate{c.row, moved, c.product}
                                               : Coordinate{moved, c.column, c.product});
            });
      }
  }

  void transpositions() {
    const std::string hint = fmt::format(
        "row-major or column-major? ldmatrix and stmatrix of {}: .trans missing or too much", names_);
    const auto transposed = [&](std::string_view text, int cost, auto source) {
      add({"transposed", "", fmt::format("rows and columns of {} are exchanged{}", names_, text), hint, cost,
           true},
          source);
    };
    transposed("", 1, [](const Fragment&, const Coordinate& c) {
      return Coordinate{c.column, c.row, c.product};
    });
    transposed(" (tightly stored, its own leading dimension)", 1, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at_address(f.inner(c) * f.line() + f.outer(c), c.product);
    });
    transposed(" (tightly stored, into the next tile)", 2, [](const Fragment& f, const Coordinate& c) {
      return f.slot_at_address(f.inner(c) * f.line() + f.outer(c), c.product, true);
    });
    transposed(" (tightly stored, leading dimension of the transposed)", 1,
               [](const Fragment& f, const Coordinate& c) {
                 return f.slot_at_address(f.inner(c) * f.lines() + f.outer(c), c.product);
               });
    transposed(" within each 8x8 matrix", 1, [](const Fragment&, const Coordinate& c) {
      return Coordinate{c.row / 8 * 8 + c.column % 8, c.column / 8 * 8 + c.row % 8, c.product};
    });
  }

  void leading_dimensions() {
    const int line = first().line();
    std::vector<int> all = to_.sizes;
    all.insert(all.end(), {line + 1, line - 1, 2 * line, line / 2, 0});
    for (const int wrong : all)
      add({"leading_dimension", "",
           fmt::format("{} has a leading dimension of {} instead of {}", names_, wrong, line),
           fmt::format("a line of {} has {} elements", names_, line), 2},
          [&](const Fragment& f, const Coordinate& c) {
            return f.slot_at_address(f.outer(c) * wrong + f.inner(c), c.product);
          });
    // outer * inner + line: the leading dimension and the index in the line exchanged
    add({"leading_dimension", "", fmt::format("{}: row times column plus the leading dimension", names_),
         "the terms of the address", 3},
        [](const Fragment& f, const Coordinate& c) {
          return f.slot_at_address(f.outer(c) * f.inner(c) + f.line(), c.product, true);
        });
  }

  void shifts() {
    for (const Beyond beyond : to_try(4))
      for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16})
        for (const bool rows : {true, false})
          add({"offset", "",
               fmt::format("{} is read or written {} {}{} too {}", names_, std::abs(by),
                           rows ? "row" : "column", std::abs(by) == 1 ? "" : "s", by > 0 ? "far" : "early"),
               fmt::format("the first element of the tile of {}", names_), 2 + static_cast<int>(beyond)},
              [&](const Fragment& f, const Coordinate& c) {
                return slot_of(f, c + (rows ? Coordinate{by, 0, 0} : Coordinate{0, by, 0}), beyond);
              });
  }

  // Registers that stay 0; of D, that are not written.
  void not_loaded() {
    const bool stores = first().part() == Part::d;
    const std::string r = first().role();
    const char letter = first().letter();
    const auto zero_where = [&](const std::string& text, bool pairs, auto is_zero) {
      add({stores ? "not_stored" : "not_loaded", "",
           fmt::format("{} {}", text, stores ? "not stored, 0" : "not loaded, 0"),
           "the bound of the loop over registers or elements", 1, pairs},
          [&](const Fragment& f, const Index& i) { return is_zero(i) ? kZero : f.slot_at(i); });
    };
    // Where the index of a lane in its warp (0), register (1) or slot (2) is one of [from, to].
    const auto zero = [&](const std::string& text, int which, int from, int to) {
      zero_where(text, true, [=](const Index& i) {
        const int x = which == 0 ? i.lane % 32 : i[which];
        return x >= from && x <= to;
      });
    };
    const int n = first().registers(), per = first().per_register();
    if (first().part() == Part::a || first().part() == Part::b)
      zero(fmt::format("all of {} is", letter), 0, 0, 31);
    for (int x = n <= 8 ? 0 : n - 1; x < n; ++x) zero(fmt::format("register {}{} is", r, x), 1, x, x);
    for (const auto& [from, to] : {std::pair(16, 31), std::pair(0, 15), std::pair(8, 31), std::pair(1, 31)})
      zero(fmt::format("{} in lanes {} to {} is", letter, from, to), 0, from, to);
    for (int from = 0; from < 32; from += 8)
      zero_where(fmt::format("{} in lanes {} to {} is", letter, from, from + 7), false,
                 [=](const Index& i) { return i.lane % 32 / 8 == from / 8; });
    for (int bit = 1; bit < 16; bit *= 2)
      for (const int set : {0, bit})
        zero_where(fmt::format("{} in lanes with lane & {} {} is", letter, bit, set ? "set" : "clear"), false,
                   [=](const Index& i) { return (i.lane & bit) == set; });
    for (int warp = 0; warp < first().lanes() / 32 && first().lanes() > 32; ++warp)
      zero_where(fmt::format("{} in warp {} is", letter, warp), false,
                 [=](const Index& i) { return i.lane / 32 == warp; });
    for (int from = n - 2; from > 0; --from)
      zero(fmt::format("registers {}{} to {}{} are", r, from, r, n - 1), 1, from, n - 1);
    for (int e = 0; e < per && per > 1; ++e)
      zero(fmt::format("element {} of each register of {} is", e, letter), 2, e, e);
    for (int from = 1; from < per - 1; ++from)
      zero(fmt::format("elements {} and up of each register of {} are", from, letter), 2, from, per - 1);
  }
};

}  // namespace

void collect_places(Hypotheses& to) {
  PlaceCollection(to).run();
}

}  // namespace warpbit::diagnosis
