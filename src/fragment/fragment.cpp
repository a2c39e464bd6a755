// SPDX-License-Identifier: Apache-2.0
#include "warpbit/fragment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warpbit {
namespace {

int size_of(const std::vector<FragmentMap::Digit>& digits) {
  int n = 1;
  for (const auto& digit : digits) n *= digit.size;
  return n;
}

Coordinate operator*(Coordinate c, int n) {
  return {c.row * n, c.column * n, c.product * n};
}
Coordinate operator+(Coordinate a, Coordinate b) {
  return {a.row + b.row, a.column + b.column, a.product + b.product};
}
Coordinate operator-(Coordinate a, Coordinate b) {
  return a + b * -1;
}

void move(Coordinate& c, const std::vector<FragmentMap::Digit>& digits, int index) {
  for (const auto& [size, step] : digits) {
    c = c + step * (index % size);
    index /= size;
  }
}

// Where some digits can lead, by row, column and product: both ends included.
struct Span {
  Coordinate low{}, high{};

  Span and_of(const FragmentMap::Digit& digit) const {
    const auto [row, column, product] = digit.step * (digit.size - 1);
    return {low + Coordinate{std::min(row, 0), std::min(column, 0), std::min(product, 0)},
            high + Coordinate{std::max(row, 0), std::max(column, 0), std::max(product, 0)}};
  }
  bool has(Coordinate c) const {
    return c.row >= low.row && c.row <= high.row && c.column >= low.column && c.column <= high.column &&
           c.product >= low.product && c.product <= high.product;
  }
};

}  // namespace

FragmentMap::FragmentMap(int rows, int columns, int products, Packing packing, std::vector<Digit> lane,
                         std::vector<Digit> value, ActiveLanes active)
    : rows_(rows),
      columns_(columns),
      products_(products),
      packing_(packing),
      lane_(std::move(lane)),
      value_(std::move(value)),
      active_(active),
      active_lanes_(size_of(lane_)),
      values_(size_of(value_)) {}

FragmentMap FragmentMap::transposed() const {
  FragmentMap out = *this;
  std::swap(out.rows_, out.columns_);
  std::swap(out.border_.origin.row, out.border_.origin.column);
  for (auto* digits : {&out.lane_, &out.value_})
    for (Digit& digit : *digits) std::swap(digit.step.row, digit.step.column);
  return out;
}

FragmentMap FragmentMap::tiled(int rows, int columns, Digit value) const {
  std::vector<Digit> values = value_;
  values.push_back(value);
  return FragmentMap(rows, columns, products_, packing_, lane_, std::move(values), active_).within(border_);
}

FragmentMap FragmentMap::over_lanes(int rows, int columns, Digit lanes) const {
  std::vector<Digit> more = lane_;
  more.push_back(lanes);
  return FragmentMap(rows, columns, products_, packing_, std::move(more), value_, active_).within(border_);
}

FragmentMap FragmentMap::within(const Border& border) const {
  FragmentMap out = *this;
  out.border_ = border;
  return out;
}

std::optional<Coordinate> FragmentMap::coordinate(int active, int value) const {
  Coordinate c = border_.origin;
  move(c, lane_, active);
  move(c, value_, value);
  if (const int row = c.row % border_.block; row < border_.used)
    c.row = c.row / border_.block * border_.used + row;
  else
    return std::nullopt;
  if (c.row < 0 || c.row >= rows_ || c.column < 0 || c.column >= columns_) return std::nullopt;
  return c;
}

Place FragmentMap::place(int active, int value) const {
  const int per = packing_.per_register();
  const int lane = active / active_.count * active_.period + active_.first + active % active_.count;
  return {lane, value / per, packing_.low_bit_of(value % per), packing_.bits};
}

std::optional<Coordinate> FragmentMap::at(int lane, int reg, int slot) const {
  const int per = packing_.per_register();
  if (lane < 0 || lane >= lanes() || reg < 0 || reg >= registers() || slot < 0 || slot >= per)
    return std::nullopt;
  const int within = lane % active_.period - active_.first;
  if (within < 0 || within >= active_.count) return std::nullopt;
  return coordinate(lane / active_.period * active_.count + within, reg * per + slot);
}

std::optional<Coordinate> FragmentMap::at_bit(int lane, int reg, int bit) const {
  if (bit < 0 || bit >= packing_.register_bits) return std::nullopt;
  const int within = bit % packing_.slot_bits;
  if (within < packing_.low_bit || within >= packing_.low_bit + packing_.bits) return std::nullopt;
  return at(lane, reg, bit / packing_.slot_bits - packing_.first_slot);
}

// Digits are chosen from the highest one, of lanes before those of values, so that places come in their order. Each choice
// leaves less of the way to the element; it is given up where the digits behind it cannot go what is left.
std::vector<Place> FragmentMap::find(Coordinate element) const {
  std::vector<Place> places;
  if (element.row < 0 || element.row >= rows_ || element.column < 0 || element.column >= columns_)
    return places;
  std::vector<Digit> digits(value_);
  digits.insert(digits.end(), lane_.begin(), lane_.end());
  std::vector<Span> within(digits.size() + 1);
  for (std::size_t i = 0; i < digits.size(); ++i) within[i + 1] = within[i].and_of(digits[i]);
  const auto choose = [&](auto& self, std::size_t left, Coordinate way, int index) -> void {
    if (!within[left].has(way)) return;
    if (left == 0) {
      places.push_back(place(index / values_, index % values_));
      return;
    }
    const auto& [size, step] = digits[left - 1];
    for (int digit = 0; digit < size; ++digit) self(self, left - 1, way - step * digit, index * size + digit);
  };
  const int row = element.row / border_.used * border_.block + element.row % border_.used;
  choose(choose, digits.size(), Coordinate{row, element.column, element.product} - border_.origin, 0);
  return places;
}

std::vector<Place> FragmentMap::table() const {
  std::vector<Place> out(static_cast<std::size_t>(products_ * rows_ * columns_));
  for (int active = active_lanes_ - 1; active >= 0; --active)
    for (int value = values_ - 1; value >= 0; --value) {
      const std::optional<Coordinate> c = coordinate(active, value);
      if (c)
        out[static_cast<std::size_t>((c->product * rows_ + c->row) * columns_ + c->column)] =
            place(active, value);
    }
  return out;
}

std::string FragmentMap::text() const {
  const auto shape = [](const std::vector<Digit>& digits) {
    std::string s;
    for (const Digit& d : digits) s += fmt::format("{}{}", s.empty() ? "" : ",", d.size);
    return "(" + s + ")";
  };
  const auto steps = [&](const std::vector<Digit>& digits) {
    std::string s;
    for (const Digit& d : digits) {
      s += fmt::format("{}({},{}", s.empty() ? "" : ",", d.step.row, d.step.column);
      s += products_ > 1 ? fmt::format(",{})", d.step.product) : ")";
    }
    return "(" + s + ")";
  };
  const std::string lanes =
      active_.count == active_.period
          ? ""
          : fmt::format("lanes % {} in [{},{}) ", active_.period, active_.first, active_.first + active_.count);
  const std::string border = border_ == Border()
                                 ? ""
                                 : fmt::format("from ({},{}), {} of {} rows, ", border_.origin.row,
                                               border_.origin.column, border_.used, border_.block);
  return border + lanes +
         fmt::format("({},{}):({},{})", shape(lane_), shape(value_), steps(lane_), steps(value_));
}

}  // namespace warpbit
