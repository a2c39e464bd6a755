// SPDX-License-Identifier: Apache-2.0
// The coordinate of an element with some digits computed otherwise.
#include <fmt/format.h>

#include "diagnose/places.hpp"

namespace warpbit::diagnosis {

PlaceGroup::PlaceGroup(Hypotheses& to) : to_(to) {
  for (const Fragment& f : to.fragments) digits_[f.part()] = digits_of(f);
}

// FNV-1a by entries
std::uint64_t PlaceGroup::hash_of(std::span<const SlotMove> moves) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 0x100000001B3; };
  for (const SlotMove& move : moves) {
    add(static_cast<std::uint64_t>(move.to));
    for (const std::int32_t slot : move.map) add(static_cast<std::uint32_t>(slot));
  }
  return hash;
}

// `change` says what they move by then.
template <class Change>
void PlaceGroup::add_changed(const Hypothesis& h, std::span<const Digit> changed, Change change) {
  std::map<Part, std::vector<Digit>> digits;
  for (const Fragment* f : group_)
    std::ranges::copy_if(digits_.at(f->part()), std::back_inserter(digits[f->part()]), [&](const Digit& digit) {
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

void PlaceGroup::digits() {
  if (std::ranges::any_of(group_, [&](const Fragment* f) { return digits_.at(f->part()).empty(); })) return;
  const std::vector<Digit>& all = digits_.at(first().part());
  for (const Digit& digit : all) {
    expressions_of(digit);
    steps_of(digit);
  }
  exchanged(all);
  variables_exchanged(all);
}

// The digit is computed from its index by another expression.
void PlaceGroup::expressions_of(const Digit& digit) {
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
void PlaceGroup::steps_of(const Digit& digit) {
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
void PlaceGroup::add_pair(const Digit& x, const Digit& y, std::string_view text, int cost, Change change) {
  add_changed({x.source == 0 && y.source == 0 ? "lane_order" : "register_order", "",
               fmt::format(fmt::runtime(text), names_, x.text(), y.text()),
               fmt::format("which index chooses what in {}", names_), cost},
              std::array{x, y}, change);
}

// Two digits exchange what they move by.
void PlaceGroup::exchanged(const std::vector<Digit>& all) {
  for (std::size_t x = 0; x < all.size(); ++x)
    for (std::size_t y = x + 1; y < all.size(); ++y)
      add_pair(all[x], all[y], "{}: {} and {} are exchanged", 2, [&](const Digit& d, const Index& i) {
        return d.of(i) * (is_same(d, all[x]) ? all[y].step : all[x].step);
      });
}

// Two indices stand in each other's place: what is shifted or masked of one is so of the other.
void PlaceGroup::variables_exchanged(const std::vector<Digit>& all) {
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
void PlaceGroup::lane_digits() {
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
          c = c + (is_same(d, lane[0]) ? i.lane % 32 / 4 : is_same(d, lane[1]) ? i.lane % 4 : d.of(i)) * d.step;
        return c;
      });
}

}  // namespace warpbit::diagnosis
