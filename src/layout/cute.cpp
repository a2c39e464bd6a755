// SPDX-License-Identifier: Apache-2.0
// CuTe counts a matrix along its first mode: A as (M,K), B as (N,K), C and D as (M,N). The modes are read off the cells.
#include "layout/cute.hpp"

#include <fmt/format.h>

#include <bit>
#include <map>

#include "layout/grid.hpp"
#include "layout/linear.hpp"

namespace warpbit {
namespace {

// The operand's modes: their names, and whether the columns come first.
struct Domain {
  std::string_view first, second;
  bool columns_first = false;
};

Domain domain_of(std::string_view role) {
  if (is_called(role, "a")) return {"M", "K"};
  if (is_called(role, "b")) return {"N", "K", true};
  if (role == "c" || role == "d") return {"M", "N"};
  return {"R", "C"};
}

struct Extents {
  Domain domain;
  int first, second;

  explicit Extents(const OperandLayout& op)
      : domain(domain_of(op.role)),
        first(domain.columns_first ? op.columns : op.rows),
        second(domain.columns_first ? op.rows : op.columns) {}
  std::string text() const { return fmt::format("({}{},{}{})", domain.first, first, domain.second, second); }
  std::int64_t index(const Coordinate& c) const {
    return domain.columns_first ? c.column + std::int64_t{first} * c.row
                                : c.row + std::int64_t{first} * c.column;
  }
};

}  // namespace

void add_cute(OperandLayout& op) {
  if (op.products > 1) return;
  const Extents extents(op);
  const int per = op.packing.per_register(), values = op.registers * per;
  std::map<std::pair<int, int>, std::int64_t> held;
  for (const LayoutCell& cell : op.cells) {
    const int slot = (cell.place.low_bit - op.packing.low_bit) / op.packing.slot_bits - op.packing.first_slot;
    held[{cell.place.lane, cell.place.reg * per + slot}] = extents.index(cell.element);
  }
  if (held.size() != static_cast<std::size_t>(op.lanes * values)) return;
  const auto lanes = modes_of(op.lanes, [&](int lane) { return held.at({lane, 0}); });
  const auto slots = modes_of(values, [&](int value) { return held.at({0, value}); });
  if (!lanes || !slots) return;
  for (const auto& [at, index] : held)
    if (index != held.at({at.first, 0}) + held.at({0, at.second}) - held.at({0, 0})) return;
  op.cute = cute_text({*lanes, *slots});
  op.cute_domain = fmt::format("(T{},V{}) -> {}", op.lanes, values, extents.text());
}

void add_cute(OperandLayout& op, Swizzle swizzle) {
  const Extents extents(op);
  const auto bits = static_cast<std::uint64_t>(op.element_bits);
  const bool wide = swizzle == Swizzle::bytes_128_atoms_32;
  const std::uint64_t mask = wide ? 3 : static_cast<std::uint64_t>(span_bytes(swizzle) / 16 - 1);
  const std::uint64_t atom = wide ? 32 : 16;
  const int swizzled_bits = std::popcount(mask);
  std::map<std::pair<int, int>, std::int64_t> offsets;
  for (const LayoutCell& cell : op.cells) {
    const std::uint64_t byte = cell.bit / 8, plain = byte ^ (byte / 128 & mask) * atom;
    if (cell.bit % bits != 0) return;
    const Coordinate& e = cell.element;
    offsets[extents.domain.columns_first ? std::pair(e.column, e.row) : std::pair(e.row, e.column)] =
        static_cast<std::int64_t>((plain * 8 + cell.bit % 8) / bits);
  }
  const auto first = modes_of(extents.first, [&](int i) { return offsets.at({i, 0}); });
  const auto second = modes_of(extents.second, [&](int j) { return offsets.at({0, j}); });
  if (!first || !second) return;
  const std::int64_t origin = offsets.at({0, 0});
  for (const auto& [at, offset] : offsets)
    if (offset != offsets.at({at.first, 0}) + offsets.at({0, at.second}) - origin) return;
  op.cute = cute_text({*first, *second});
  if (swizzled_bits > 0)
    op.cute = fmt::format("Swizzle<{},{},{}> o {} o {}", swizzled_bits, std::countr_zero(8 * atom / bits),
                          wide ? 2 : 3, origin, op.cute);
  else if (origin != 0)
    op.cute = fmt::format("{} + {}", origin, op.cute);
  op.cute_domain = extents.text() + " -> offset in elements";
}

}  // namespace warpbit
