// SPDX-License-Identifier: Apache-2.0
// Mistakes that put elements into other registers, lanes or places of a matrix than the fragments have.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "diagnose/digits.hpp"
#include "diagnose/swizzling.hpp"

namespace warpbit::diagnosis {
namespace {

// FNV-1a by entries
std::uint64_t hash_of(std::span<const SlotMove> moves) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 0x100000001B3; };
  for (const SlotMove& move : moves) {
    add(static_cast<std::uint64_t>(move.to));
    for (const std::int32_t slot : move.map) add(static_cast<std::uint32_t>(slot));
  }
  return hash;
}

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

// What is beyond the ends: in memory the next line, behind it the next tile; or the next tile at each edge.
enum class Beyond { unknown, tight, tiles, edges };
std::int32_t slot_of(const Fragment& f, const Coordinate& c, Beyond beyond) {
  if (beyond == Beyond::unknown) return f.slot_at(c);
  if (beyond == Beyond::edges) return f.slot_in_next(c);
  return f.slot_at_address(f.outer(c) * f.line() + f.inner(c), c.product, beyond == Beyond::tiles);
}

class PlaceCollection {
 public:
  explicit PlaceCollection(Hypotheses& to) : to_(to) {
    for (const Fragment& f : to.fragments) digits_[f.part()] = digits_of(f);
  }

  void run() {
    std::vector<const Fragment*> every;
    for (const Fragment& f : to_.fragments) {
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
  // The same mistake is made in all these operands.
  void take(std::vector<const Fragment*> group) {
    group_ = std::move(group);
    names_.clear();
    for (const Fragment* f : group_) {
      const std::string_view between = f == group_.front() ? "" : f == group_.back() ? " and " : ", ";
      names_ += fmt::format("{}{}", between, f->letter());
    }
  }
  const Fragment& first() const { return *group_[0]; }

  // A mistake with the same source of elements in all these operands. Whether it reaches elsewhere.
  // `reads`: also of D the source is what is read, not where it is written.
  template <class Source>
  bool add(Hypothesis h, Source source, bool reads = false) {
    bool elsewhere = false, identity = true;
    for (const Fragment* f : group_) {
      SlotMove move{f->part(), f->part(), map_of(*f, *f, source, reads)};
      const auto unknown = static_cast<std::size_t>(std::ranges::count(move.map, kElsewhere));
      if (unknown == f->size()) return true;
      elsewhere = elsewhere || unknown > 0;
      for (std::size_t i = 0; i < f->size(); ++i)
        identity = identity && move.map[i] == static_cast<std::int32_t>(i);
      h.neighbours = h.neighbours || std::ranges::max(move.map) >= static_cast<std::int32_t>(f->size());
      h.operand += (h.operand.empty() ? "" : " ") + f->role();
      h.moves.push_back(std::move(move));
    }
    if (identity || !seen_.insert(hash_of(h.moves)).second) return elsewhere;
    if (group_.size() > 1) ++h.cost;
    to_.add(std::move(h));
    return elsewhere;
  }

  void one_operand(std::vector<const Fragment*> group) {
    take(std::move(group));
    registers();
    lanes();
    transpositions();
    leading_dimensions();
    swizzles();
    shifts();
    if (group_.size() == 1) not_loaded();
    if (std::ranges::none_of(group_, [&](const Fragment* f) { return digits_.at(f->part()).empty(); }))
      digits();
  }

  // Those of the first to try: what D has beyond its tile is never seen; of C and D together the plainest.
  std::span<const Beyond> to_try(std::size_t most) const {
    static constexpr std::array kAll{Beyond::unknown, Beyond::tight, Beyond::tiles, Beyond::edges};
    return std::span(kAll).first(group_.size() == 2 ? 1 : first().part() == Part::d ? 2 : most);
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
    if (first().lanes() > 32)
      add({"lane_order", "", fmt::format("all warps of {} have what the first has", names_),
           "the index of the warp in the warpgroup", 2},
          [](const Fragment&, const Index& i) {
            return Index{i.lane & 31, i.reg, i.slot};
          });
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
               fmt::format("{} is read or written {} {} {}", names_, std::abs(by), rows ? "rows" : "columns",
                           by > 0 ? "too far" : "too early"),
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

  // ---- The coordinate with some digits computed otherwise

  static bool is_same(const Digit& x, const Digit& y) { return x.source == y.source && x.first == y.first; }

  // `change` says what they move by then.
  template <class Change>
  void add_changed(const Hypothesis& h, std::span<const Digit> changed, Change change) {
    std::map<Part, std::vector<Digit>> digits;
    for (const Fragment* f : group_)
      std::ranges::copy_if(
          digits_.at(f->part()), std::back_inserter(digits[f->part()]), [&](const Digit& digit) {
            return std::ranges::any_of(changed, [&](const Digit& other) { return is_same(digit, other); });
          });
    for (const Beyond beyond : to_try(3)) {
      Hypothesis one = h;
      one.mistake += beyond == Beyond::tiles ? " (into the next tile)" : "";
      one.cost += static_cast<int>(beyond);
      const auto source = [&](const Fragment& f, const Index& i) {
        Coordinate c = f.at(i);
        for (const Digit& digit : digits.at(f.part())) c = c + change(digit, i) + -digit.of(i) * digit.step;
        return slot_of(f, c, beyond);
      };
      if (!add(std::move(one), source)) return;
    }
  }

  void digits() {
    const std::vector<Digit>& all = digits_.at(first().part());
    for (const Digit& digit : all) {
      expressions_of(digit);
      steps_of(digit);
    }
    exchanged(all);
    variables_exchanged(all);
  }

  // The digit is computed from its index by another expression.
  void expressions_of(const Digit& digit) {
    static const std::vector<Expression> kAll = expressions();
    constexpr std::array<std::string_view, 3> kNames{"lane", "i", "j"};
    constexpr std::array<std::string_view, 3> kKinds{"lane_order", "register_order", "element_order"};
    const auto source = static_cast<std::size_t>(digit.source);
    // of a warpgroup, the thread's index or the lane in the warp
    const int warps = digit.source == 0 && first().lanes() > 32 ? 2 : 1;
    std::set<std::vector<int>> effects;
    for (const Expression& e : kAll)
      for (int whole = 0; whole < warps; ++whole) {
        const auto value = [&](int x) { return e.value(digit.source == 0 && !whole ? x % 32 : x, e.constant); };
        std::vector<int> effect;
        for (int x = 0; x < first().counts()[digit.source]; ++x) effect.push_back(value(x));
        if (!effects.insert(std::move(effect)).second) continue;
        add_changed(
            {std::string(kKinds[source]), "",
             fmt::format("{}: {} instead of {}", names_,
                         fmt::format(fmt::runtime(e.text), whole ? "thread" : kNames[source]), digit.text()),
             fmt::format("what {} chooses in {}", digit.text(), names_), 3 + whole},
            std::span(&digit, 1), [&](const Digit& d, const Index& i) { return value(i[d.source]) * d.step; });
      }
  }

  // The digit moves by another step.
  void steps_of(const Digit& digit) {
    const Coordinate s = digit.step;
    const auto other = [&](int rows, int columns) {
      const Coordinate step{rows, columns, s.product};
      add_changed({"index_constant", "",
                   fmt::format("{}: {} moves by {} instead of {}", names_, digit.text(),
                               step_text(step, first().part()), step_text(s, first().part())),
                   fmt::format("the constants in the addresses of {}", names_), 2},
                  std::span(&digit, 1), [&](const Digit& d, const Index& i) { return d.of(i) * step; });
    };
    for (const int by : {-1, 1}) other(s.row ? s.row + by : 0, s.column ? s.column + by : 0);
    other(2 * s.row, 2 * s.column);
    other(s.row / 2, s.column / 2);
    other(0, 0);
    other(s.column, s.row);
    other(4 * s.row, 4 * s.column);
  }

  // Two digits get each other's. `cost` and words say what.
  template <class Change>
  void add_pair(const Digit& x, const Digit& y, std::string_view text, int cost, Change change) {
    add_changed({x.source == 0 && y.source == 0 ? "lane_order" : "register_order", "",
                 fmt::format(fmt::runtime(text), names_, x.text(), y.text()),
                 fmt::format("which index chooses what in {}", names_), cost},
                std::array{x, y}, change);
  }

  // Two digits exchange what they move by.
  void exchanged(const std::vector<Digit>& all) {
    for (std::size_t x = 0; x < all.size(); ++x)
      for (std::size_t y = x + 1; y < all.size(); ++y)
        add_pair(all[x], all[y], "{}: {} and {} are exchanged", 2, [&](const Digit& d, const Index& i) {
          return d.of(i) * (is_same(d, all[x]) ? all[y].step : all[x].step);
        });
  }

  // Two indices stand in each other's place: what is shifted or masked of one is so of the other.
  void variables_exchanged(const std::vector<Digit>& all) {
    const auto variable = [](const Digit& d, const Index& i) { return d.source == 0 ? d.of(i) : i[d.source]; };
    const auto part_of = [&](const Digit& d, int x) {
      const bool last = std::ranges::none_of(
          all, [&](const Digit& other) { return other.source == d.source && other.first > d.first; });
      return d.source != 1 ? x : last ? x >> d.first : x >> d.first & ((1 << d.bits) - 1);
    };
    for (const Digit& x : all)
      for (const Digit& y : all) {
        if (x.source == y.source && (x.source != 0 || x.first >= y.first)) continue;
        if (x.source > y.source) continue;
        add_pair(x, y, "{}: the indices in {} and {} are exchanged", 3, [&](const Digit& d, const Index& i) {
          return (is_same(d, x) ? part_of(x, variable(y, i)) : part_of(y, variable(x, i))) * d.step;
        });
      }
  }

  // lane / 4 and lane % 4, computed once for all operands.
  void lane_digits() {
    for (const Fragment* f : group_) {
      const std::vector<Digit>& digits = digits_.at(f->part());
      if (digits.size() < 2 || digits[0].source != 0 || digits[1].source != 0 || digits[0].bits != 2) return;
    }
    const std::vector<Digit>& lane = digits_.at(first().part());
    for (std::size_t i = 0; i < 2; ++i) expressions_of(lane[i]);
    add({"lane_order", "", "lane / 4 and lane % 4 are exchanged in all operands",
         "the group is lane / 4, the thread in it lane % 4", 2},
        [&](const Fragment& f, const Index& i) {
          Coordinate c;
          for (const Digit& d : digits_.at(f.part()))
            c = c + (is_same(d, lane[0])   ? i.lane % 32 / 4
                     : is_same(d, lane[1]) ? i.lane % 4
                                           : d.of(i)) *
                        d.step;
          return c;
        });
  }

  Hypotheses& to_;
  std::vector<const Fragment*> group_;
  std::string names_;  // of these
  std::map<Part, std::vector<Digit>> digits_;
  std::set<std::uint64_t> seen_;  // hashes of moves
};

}  // namespace

void collect_places(Hypotheses& to) {
  PlaceCollection(to).run();
}

}  // namespace warpbit::diagnosis
