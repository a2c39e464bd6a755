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

void move(Coordinate& c, const std::vector<FragmentMap::Digit>& digits, int index) {
  for (const auto& [size, step] : digits) {
    const int digit = index % size;
    index /= size;
    c.row += digit * step.row;
    c.column += digit * step.column;
    c.product += digit * step.product;
  }
}

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

// Most places are in another column, which their digits tell: borders leave columns as they are.
std::vector<Place> FragmentMap::find(Coordinate element) const {
  std::vector<int> columns;
  for (int value = 0; value < values_; ++value) {
    Coordinate c;
    move(c, value_, value);
    columns.push_back(element.column - border_.origin.column - c.column);
  }
  std::vector<Place> places;
  for (int active = 0; active < active_lanes_; ++active) {
    Coordinate lane;
    move(lane, lane_, active);
    for (int value = 0; value < values_; ++value)
      if (columns[static_cast<std::size_t>(value)] == lane.column && coordinate(active, value) == element)
        places.push_back(place(active, value));
  }
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
