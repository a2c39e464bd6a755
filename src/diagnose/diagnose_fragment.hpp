// SPDX-License-Identifier: Apache-2.0
// A fragment as a kernel computes it: which element a lane reads or writes, as a sum of digits of its indices.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnose_trial.hpp"

namespace warpbit::diagnosis {

// An element of a fragment, as a kernel counts it.
struct Index {
  int lane, reg, slot;
};

// One operand in registers, its elements numbered by slots.
class Fragment {
 public:
  static constexpr int kTilesAhead = 2;
  Fragment(Part part, const Operand& op, int lanes)
      : part_(part),
        op_(op),
        lanes_(lanes),
        coordinates_(std::make_shared<const SlotCoordinates>(coordinates_of(op, lanes))) {
    const FragmentMap& f = op.fragment;
    slots_.resize(static_cast<std::size_t>(f.products() * f.rows() * f.columns()), kElsewhere);
    for (int lane = 0; lane < lanes; ++lane)
      for (int reg = 0; reg < registers(); ++reg)
        for (int slot = 0; slot < per_register(); ++slot) {
          const auto at = f.at(lane, reg, slot);
          if (at) slots_[linear(*at)] = static_cast<std::int32_t>(indices_.size());
          is_whole_ = is_whole_ && at.has_value();
          indices_.push_back({lane, reg, slot});
        }
  }
  Part part() const { return part_; }
  const Operand& op() const { return op_; }
  int lanes() const { return lanes_; }
  int registers() const { return op_.registers; }
  int per_register() const { return op_.fragment.packing().per_register(); }
  bool is_whole() const { return is_whole_; }  ///< each slot holds an element
  std::size_t size() const { return slots_of(op_, lanes_); }

  const Index& index(std::size_t slot) const { return indices_[slot]; }
  const std::shared_ptr<const SlotCoordinates>& coordinates() const { return coordinates_; }
  const Coordinate& at(const Index& i) const {
    return (*coordinates_)[static_cast<std::size_t>((i.lane * registers() + i.reg) * per_register() + i.slot)];
  }

  // The slot that holds an element, kElsewhere if the tile has none such.
  std::int32_t slot_at(const Coordinate& c) const {
    const FragmentMap& f = op_.fragment;
    const bool inside = c.row >= 0 && c.row < f.rows() && c.column >= 0 && c.column < f.columns() &&
                        c.product >= 0 && c.product < f.products();
    return inside ? slots_[linear(c)] : kElsewhere;
  }
  // The same where a matrix lies tightly in memory and an index beyond the end of a line is the next line's;
  // with `tiles`, what is beyond the end of the tile is the next case's.
  std::int32_t slot_at_address(int address, int product, bool tiles = false) const {
    const int tile = (lines_first() ? op_.fragment.rows() : op_.fragment.columns()) * line();
    if (address < 0 || address / tile > kTilesAhead || (address >= tile && !tiles)) return kElsewhere;
    const int within = address % tile;
    return slot_at(from_line(within / line(), within % line(), product)) +
           address / tile * static_cast<std::int32_t>(size());
  }
  // The same of an element beyond one edge of the tile, which is the next case's.
  std::int32_t slot_in_next(const Coordinate& c) const {
    const FragmentMap& f = op_.fragment;
    if (c.row < 0 || c.column < 0) return kElsewhere;
    const int tiles = c.row / f.rows() + c.column / f.columns();
    if (tiles > kTilesAhead) return kElsewhere;
    return slot_at({c.row % f.rows(), c.column % f.columns(), c.product}) +
           tiles * static_cast<std::int32_t>(size());
  }
  // A line is what is contiguous in memory: a row, of B a column.
  bool lines_first() const { return part_ != Part::b; }
  int line() const { return lines_first() ? op_.fragment.columns() : op_.fragment.rows(); }
  int outer(const Coordinate& c) const { return lines_first() ? c.row : c.column; }
  int inner(const Coordinate& c) const { return lines_first() ? c.column : c.row; }
  Coordinate from_line(int outer, int inner, int product) const {
    return lines_first() ? Coordinate{outer, inner, product} : Coordinate{inner, outer, product};
  }

 private:
  std::size_t linear(const Coordinate& c) const {
    return static_cast<std::size_t>((c.product * op_.fragment.rows() + c.row) * op_.fragment.columns() +
                                    c.column);
  }
  Part part_;
  const Operand& op_;
  int lanes_;
  bool is_whole_ = true;
  std::vector<std::int32_t> slots_;
  std::vector<Index> indices_;  // by slot
  std::shared_ptr<const SlotCoordinates> coordinates_;
};

// "A", "B", "C", "D"
inline std::string_view letter(Part part) {
  switch (part) {
    case Part::a: return "A";
    case Part::b: return "B";
    case Part::c: return "C";
    default: return "D";
  }
}
inline std::string role(Part part) {
  return std::string(1, static_cast<char>(letter(part)[0] - 'A' + 'a'));
}

// What each slot is read from; for D the inverse: what is written into each, the last one counts.
template <class Source>
SlotMap map_of(const Fragment& f, Source source) {
  SlotMap out(f.size(), kElsewhere);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int32_t other = source(f.index(i));
    if (f.part() != Part::d)
      out[i] = other;
    else if (other >= 0 && other < static_cast<std::int32_t>(f.size()))
      out[static_cast<std::size_t>(other)] = static_cast<std::int32_t>(i);
  }
  return out;
}
using PartMaps = std::vector<std::pair<Part, SlotMap>>;
// FNV-1a by entries
inline std::uint64_t hash_of(const PartMaps& maps) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 0x100000001B3; };
  for (const auto& [part, map] : maps) {
    add(static_cast<std::uint64_t>(part));
    for (const std::int32_t slot : map) add(static_cast<std::uint32_t>(slot));
  }
  return hash;
}
inline bool is_identity(const SlotMap& map) {
  for (std::size_t i = 0; i < map.size(); ++i)
    if (map[i] != static_cast<std::int32_t>(i)) return false;
  return true;
}

// What a kernel may compute from an index instead of what it should.
struct Expression {
  std::string text;  // with {} for the index
  int (*value)(int index, int constant);
  int constant;
};
inline std::vector<Expression> expressions() {
  std::vector<Expression> out;
  const auto add = [&](std::string_view text, int first, int last, int (*value)(int, int)) {
    for (int n = first; n <= last; ++n) out.push_back({fmt::format(fmt::runtime(text), n), value, n});
  };
  out.push_back({"0", [](int, int) { return 0; }, 0});
  out.push_back({"{}", [](int x, int) { return x; }, 0});
  add("{{}} >> {}", 1, 5, [](int x, int n) { return x >> n; });
  add("{{}} & {}", 1, 16, [](int x, int n) { return x & n; });
  add("{{}} % {}", 3, 7, [](int x, int n) { return x % n; });
  add("{{}} / {}", 3, 7, [](int x, int n) { return x / n; });
  add("({{}} >> 2) & {}", 1, 7, [](int x, int n) { return x >> 2 & n; });
  add("({{}} >> {}) & 7", 1, 4, [](int x, int n) { return x >> n & 7; });
  return out;
}

// ---- Maps as sums of digits

// (index >> first) & (2^bits - 1), the last digit of an index unmasked, moves by `step` each.
struct Digit {
  int source;  // 0: lane, 1: register, 2: slot
  int first, bits;
  Coordinate step;

  int index_of(const Index& i) const { return source == 0 ? i.lane : source == 1 ? i.reg : i.slot; }
  int of(const Index& i) const { return index_of(i) >> first & ((1 << bits) - 1); }
  std::string text() const {
    constexpr std::array<std::string_view, 3> kNames{"lane", "register", "element"};
    const auto name = kNames[static_cast<std::size_t>(source)];
    if (first == 0) return fmt::format("{} % {}", name, 1 << bits);
    return fmt::format("{} / {}", name, 1 << first);
  }
};
inline Coordinate operator*(int n, const Coordinate& c) {
  return {n * c.row, n * c.column, n * c.product};
}
inline Coordinate operator+(const Coordinate& x, const Coordinate& y) {
  return {x.row + y.row, x.column + y.column, x.product + y.product};
}

// The digits of a fragment, each as long as it can be; empty if it is no sum of such.
inline std::vector<Digit> digits_of(const Fragment& f) {
  std::vector<Digit> out;
  const auto unit = [&](int source, int bit) {
    Index i{0, 0, 0};
    (source == 0 ? i.lane : source == 1 ? i.reg : i.slot) = 1 << bit;
    return f.at(i);
  };
  const std::array counts{f.lanes(), f.registers(), f.per_register()};
  for (int source = 0; source < 3; ++source)
    for (int bit = 0; 1 << bit < counts[static_cast<std::size_t>(source)]; ++bit) {
      const Coordinate step = unit(source, bit);
      if (!out.empty() && out.back().source == source && (1 << out.back().bits) * out.back().step == step)
        ++out.back().bits;
      else
        out.push_back({source, bit, 1, step});
    }
  for (std::size_t slot = 0; slot < f.size(); ++slot) {
    Coordinate sum;
    for (const Digit& digit : out) sum = sum + digit.of(f.index(slot)) * digit.step;
    if (sum != f.at(f.index(slot))) return {};
  }
  return out;
}

inline std::string step_text(const Coordinate& step, Part part) {
  const auto some = [](int n, std::string_view one) {
    return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
  };
  if (step.row != 0 && step.column != 0)
    return fmt::format("{} and {}", some(step.row, "row"), some(step.column, "column"));
  if (step.row != 0) return some(step.row, "row");
  return step.column != 0 || part == Part::d ? some(step.column, "column") : "nothing";
}

}  // namespace warpbit::diagnosis
