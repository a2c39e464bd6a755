// SPDX-License-Identifier: Apache-2.0
#include "layout/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace warpbit {
namespace {

constexpr int kChunkBits = 128, kChunkBytes = 16, kRowBytes = 128;
constexpr std::size_t kColumnsOfTensorMemory = 16;                                // of a grid
constexpr int kColours = 32, kColoursApart = kColours * kChunkBytes / kRowBytes;  // of neighbouring 16 bytes

// The places of an element.
using Cells = std::span<const LayoutCell>;
Cells places_of(const OperandLayout& op, const Coordinate& element) {
  const auto key = [](const Coordinate& c) { return std::tuple(c.product, c.row, c.column); };
  const auto key_of = [&](const LayoutCell& cell) { return key(cell.element); };
  const auto first = std::ranges::lower_bound(op.cells, key(element), {}, key_of);
  const auto last = std::ranges::upper_bound(op.cells, key(element), {}, key_of);
  return Cells(op.cells).subspan(static_cast<std::size_t>(first - op.cells.begin()),
                                 static_cast<std::size_t>(last - first));
}

// The number of adjacent elements that share a cell.
struct Group {
  int down = 1, across = 1;
  int size() const { return down * across; }
};

// Whether y lies n elements above x in the same register, or in memory.
bool follows(const OperandLayout& op, const LayoutCell& x, const LayoutCell& y, int n) {
  if (!is_in_words(op))
    return y.bit == x.bit + static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(op.element_bits);
  return y.place.lane == x.place.lane && y.place.reg == x.place.reg &&
         y.place.low_bit == x.place.low_bit + n * op.packing.slot_bits;
}

bool fits(const OperandLayout& op, int product, Group group) {
  if (op.rows % group.down != 0 || op.columns % group.across != 0) return false;
  for (int row = 0; row < op.rows; ++row)
    for (int column = 0; column < op.columns; ++column) {
      const int down = row % group.down, across = column % group.across;
      if (!std::ranges::equal(places_of(op, {row - down, column - across, product}),
                              places_of(op, {row, column, product}),
                              [&](const auto& x, const auto& y) { return follows(op, x, y, down + across); }))
        return false;
    }
  return true;
}

// The largest group in one direction for which all cells have the same form.
Group find_group(const OperandLayout& op, int product) {
  const int most = is_in_words(op) ? op.packing.per_register() : std::max(kChunkBits / op.element_bits, 1);
  for (int n = most; n > 1; n /= 2)
    for (const Group group : {Group{1, n}, Group{n, 1}})
      if (fits(op, product, group)) return group;
  return {};
}

std::string numbers(int first, int count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

// ---- Cells of matrices

std::string_view word_of(const OperandLayout& op) {
  return op.medium == Medium::registers ? "register" : "word";
}
std::string lane_name(const OperandLayout& op, int lane) {
  if (op.medium != Medium::tensor_memory) return fmt::format("T{}", lane);
  return is_of_pair(op) ? fmt::format("B{}L{}", lane / kBlockLanes, lane % kBlockLanes)
                        : fmt::format("L{}", lane);
}
std::string word_name(const OperandLayout& op, int reg) {
  return fmt::format("{}{}", op.medium == Medium::tensor_memory ? 'c' : 'r', reg);
}

bool fills_register(const OperandLayout& op, Group group) {
  return group.size() * op.packing.slot_bits == op.packing.register_bits;
}

GridCell register_cell(const OperandLayout& op, Group group, Cells places) {
  const Place& first = places.front().place;
  const bool one_lane = std::ranges::all_of(places, [&](const auto& c) { return c.place.lane == first.lane; });
  GridCell out{{}, first.lane % kColours, fmt::format("{} {}", first.lane, first.low_bit), first.reg};
  if (op.lanes > 1) out.parts.push_back(lane_name(op, first.lane));
  std::string registers = word_name(op, first.reg);
  for (const LayoutCell& cell : places.subspan(1))
    registers += one_lane
                     ? fmt::format(",{}", cell.place.reg)
                     : fmt::format(",{}:{}", lane_name(op, cell.place.lane), word_name(op, cell.place.reg));
  out.parts.push_back(registers);
  if (!fills_register(op, group)) {
    const int high = first.low_bit + (group.size() - 1) * op.packing.slot_bits + first.bits - 1;
    out.parts.back() += fmt::format("[{}:{}]", high, first.low_bit);
  }
  return out;
}

GridCell memory_cell(std::uint64_t bit) {
  const std::uint64_t byte = bit / 8;
  std::string text = fmt::format("{:#05x}", byte);
  if (bit % 8 != 0) text += fmt::format(".{}", bit % 8);
  const int chunk = static_cast<int>(byte / kChunkBytes % (kRowBytes / kChunkBytes));
  return {{text}, chunk * kColoursApart, "", static_cast<std::int64_t>(bit)};
}

// The step along K of an element of a tile.
int step_of(const OperandLayout& op, const Coordinate& element) {
  return (op.step_is_rows ? element.row : element.column) / op.step;
}

int step_colour(int step) {
  return step * kColoursApart % kColours;
}

std::string step_legend(const OperandLayout& op) {
  return fmt::format("each {} {} along K are a step", op.step, op.step_is_rows ? "rows" : "columns");
}

GridCell cell_of(const OperandLayout& op, Group group, Cells places) {
  if (is_in_words(op)) return register_cell(op, group, places);
  if (op.medium != Medium::addresses) {
    GridCell out = memory_cell(places.front().bit);
    if (op.step > 0) out.colour = step_colour(step_of(op, places.front().element));
    return out;
  }
  const int lane = places.front().place.lane;
  return {{fmt::format("T{}", lane)}, lane % kColours, "", lane};
}

// "15:0, 31:16"; if there are many, the first two and the last.
std::string bit_ranges(const OperandLayout& op, int count) {
  constexpr int kShown = 4;
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    const int low = i * op.packing.slot_bits + op.packing.low_bit, high = low + op.packing.bits - 1;
    if (count <= kShown || i < 2 || i == count - 1)
      out.push_back(high == low ? fmt::format("{}", low) : fmt::format("{}:{}", high, low));
    else if (i == 2)
      out.emplace_back("...");
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string cell_legend(const OperandLayout& op, Group group) {
  if (group.size() == 1) return "";
  const std::string elements = fmt::format("{} {}", group.size(), group.down > 1 ? "rows" : "columns");
  if (is_in_words(op))
    return fills_register(op, group)
               ? fmt::format("a cell is {} in one {}: bits {}", elements, word_of(op),
                             bit_ranges(op, group.size()))
               : fmt::format("a cell is {} in one {}, {} bits each, the first in the lowest", elements,
                             word_of(op), op.packing.slot_bits);
  return fmt::format("a cell is {}, {} bytes from that {} on", elements, group.size() * op.element_bits / 8,
                     op.medium == Medium::memory ? "offset" : "address");
}

// All rows and matrices, a column for each matrix.
Grid address_grid(const OperandLayout& op) {
  Grid out{.corner = op.products > 1 ? "row \\ matrix" : "row",
           .legend = {"the lane whose address is that of the row"},
           .unit = "",
           .moving_unit = "lanes"};
  for (int row = 0; row < op.rows; ++row) out.rows.push_back(fmt::format("{}", row));
  for (int product = 0; product < op.products; ++product)
    out.columns.push_back(op.products > 1 ? fmt::format("{}", product) : "lane");
  out.cells.resize(out.rows.size(), std::vector<std::optional<GridCell>>(out.columns.size()));
  for (const LayoutCell& cell : op.cells)
    out.cells[static_cast<std::size_t>(cell.element.row)][static_cast<std::size_t>(cell.element.product)] =
        cell_of(op, {}, {&cell, 1});
  return out;
}

Grid matrix_grid(const OperandLayout& op, int product) {
  const Group group = find_group(op, product);
  Grid out{.corner = "",
           .unit = "column",
           .moving_unit = op.medium == Medium::registers       ? "registers"
                          : op.medium == Medium::tensor_memory ? "columns"
                          : op.medium == Medium::memory        ? "offsets"
                                                               : "addresses",
           .units = group.across,
           .row_units = group.down,
           .most = op.medium == Medium::tensor_memory ? kColumnsOfTensorMemory : 0};
  if (op.step > 0) out.legend.push_back(step_legend(op));
  if (const std::string legend = cell_legend(op, group); !legend.empty()) out.legend.push_back(legend);
  for (int column = 0; column < op.columns; column += group.across)
    out.columns.push_back(numbers(column, group.across));
  for (int row = 0; row < op.rows; row += group.down) {
    out.rows.push_back(numbers(row, group.down));
    auto& cells = out.cells.emplace_back();
    for (int column = 0; column < op.columns; column += group.across)
      if (const Cells places = places_of(op, {row, column, product}); places.empty())
        cells.emplace_back();
      else
        cells.emplace_back(cell_of(op, group, places));
  }
  return out;
}

// ---- Elements at a place

// "[3,0-7]": neighbours in a row or column, from the lowest bits up.
struct Run {
  Coordinate first;
  int down = 0, across = 0;  // one of them counts

  bool extend(const Coordinate& next) {
    const Coordinate right{first.row, first.column + across + 1, first.product},
        below{first.row + down + 1, first.column, first.product};
    if (down == 0 && next == right) return ++across, true;
    if (across == 0 && next == below) return ++down, true;
    return false;
  }
};

std::string text(const Run& run, bool products) {
  return fmt::format("[{},{}{}]", numbers(run.first.row, run.down + 1),
                     numbers(run.first.column, run.across + 1),
                     products ? fmt::format(",{}", run.first.product) : "");
}

GridCell elements_cell(const OperandLayout& op, const std::vector<const LayoutCell*>& cells, int colour) {
  constexpr std::size_t kRuns = 4;
  std::size_t shown = 0;
  std::vector<Run> runs;
  for (const LayoutCell* cell : cells)
    if (runs.empty() || !runs.back().extend(cell->element)) runs.push_back({cell->element});
  const bool rows_move = op.step > 0 && runs.front().across > 0;
  const Coordinate origin = runs.front().first;
  GridCell out{{}, colour, "", rows_move ? origin.row : origin.column};
  if (op.step > 0) {
    const int step = step_of(op, cells.front()->element);
    out.colour = step_colour(step);
    out.parts.push_back(fmt::format("s{}", step));
  }
  for (Run run : runs) {
    if (shown++ < kRuns) out.parts.push_back(text(run, op.products > 1));
    (rows_move ? run.first.row : run.first.column) -= rows_move ? origin.row : origin.column;
    out.same += text(run, true);
  }
  if (runs.size() > kRuns) out.parts.back() = fmt::format("and {} more", runs.size() - kRuns + 1);
  return out;
}

using GridPosition = std::pair<std::uint64_t, std::uint64_t>;  // row, column of the grid

GridPosition position(const OperandLayout& op, const LayoutCell& cell) {
  if (is_in_lanes(op))
    return {static_cast<std::uint64_t>(cell.place.lane), static_cast<std::uint64_t>(cell.place.reg)};
  const std::uint64_t byte = cell.bit / 8;
  return {byte / kRowBytes, byte % kRowBytes / kChunkBytes};
}

int colour(const OperandLayout& op, const GridPosition& at) {
  return is_in_lanes(op) ? static_cast<int>(at.first) % kColours : static_cast<int>(at.second) * kColoursApart;
}

// The growth of `moving` between columns `period` apart, if they are otherwise equal.
std::optional<std::int64_t> growth(const Grid& grid, std::size_t period) {
  std::optional<std::int64_t> out;
  for (const auto& row : grid.cells)
    for (std::size_t i = period; i < row.size(); ++i) {
      const auto &before = row[i - period], &after = row[i];
      if (before.has_value() != after.has_value()) return std::nullopt;
      if (!after) continue;
      const std::int64_t moved = after->moving - before->moving;
      if (before->same != after->same || out.value_or(moved) != moved) return std::nullopt;
      out = moved;
    }
  return out;
}

// Keeps the first columns of a grid that has more, and says so.
void cut(Grid& grid, std::size_t most) {
  if (grid.columns.size() <= most) return;
  grid.legend.push_back(fmt::format("the {}s behind {}, up to {}, are left out", grid.unit,
                                    grid.columns[most - 1], grid.columns.back()));
  grid.columns.resize(most);
  for (auto& row : grid.cells) row.resize(most);
}

}  // namespace

std::string GridCell::text() const {
  std::string out;
  for (const std::string& part : parts)
    out += (out.empty() ? "" : part.starts_with('r') || part.starts_with('c') ? ":" : " ") + part;
  return out;
}

std::vector<Grid> matrix_grids(const OperandLayout& op) {
  if (op.medium == Medium::addresses) return {address_grid(op)};
  std::vector<Grid> out;
  for (int product = 0; product < op.products; ++product) {
    out.push_back(matrix_grid(op, product));
    if (op.products > 1) out.back().name = fmt::format("matrix {}", product);
  }
  return out;
}

Grid inverse_grid(const OperandLayout& op) {
  std::vector<const LayoutCell*> ordered;
  for (const LayoutCell& cell : op.cells) ordered.push_back(&cell);
  std::ranges::stable_sort(ordered, {},
                           [](const LayoutCell* c) { return std::pair(c->bit, c->place.low_bit); });
  std::map<GridPosition, std::vector<const LayoutCell*>> held;
  for (const LayoutCell* cell : ordered) held[position(op, *cell)].push_back(cell);

  const bool lanes = is_in_lanes(op);
  Grid out{
      .corner = lanes                         ? "lane"
                : op.medium == Medium::memory ? "offset"
                                              : "address",
      .unit = op.medium == Medium::registers ? "register"
              : is_in_words(op)              ? "column"
                                             : "",
      .moving_unit = op.step > 0 && ordered.size() > 1 && ordered[0]->element.row == ordered[1]->element.row
                         ? "rows"
                         : "columns"};
  const int count = lanes ? op.registers : kRowBytes / kChunkBytes;
  for (int i = 0; i < count; ++i)
    out.columns.push_back(is_in_words(op) ? word_name(op, i)
                          : op.medium == Medium::addresses
                              ? std::string(op.products > 1 ? "[row,0,matrix]" : "[row,0]")
                              : fmt::format("+{:#x}", i * kChunkBytes));
  for (auto at = held.begin(); at != held.end();) {
    const std::uint64_t row = at->first.first;
    out.rows.push_back(lanes ? lane_name(op, static_cast<int>(row)) : fmt::format("{:#05x}", row * kRowBytes));
    auto& cells = out.cells.emplace_back(static_cast<std::size_t>(count));
    for (; at != held.end() && at->first.first == row; ++at)
      cells[static_cast<std::size_t>(at->first.second)] = elements_cell(op, at->second, colour(op, at->first));
  }
  const std::string element = op.products > 1 ? "[row,column,matrix]" : "[row,column]";
  if (op.medium == Medium::addresses)
    out.legend.push_back("the row that begins at the lane's address");
  else
    out.legend.push_back(fmt::format("{} of the elements {}, from the lowest bit up", element,
                                     lanes ? fmt::format("of a {}", word_of(op)) : "in 16 bytes"));
  return out;
}

void abbreviate(Grid& grid, std::size_t most) {
  const std::size_t columns = grid.columns.size();
  if (columns <= most || grid.unit.empty()) return;
  for (std::size_t period = 1; period <= columns / 2; ++period) {
    const std::optional<std::int64_t> moved = growth(grid, period);
    if (!moved) continue;
    const bool in_memory = grid.moving_unit == "addresses" || grid.moving_unit == "offsets";
    std::string sentence = fmt::format("goes on to {} {}: every {} of them the same again", grid.unit,
                                       grid.columns.back(), period * static_cast<std::size_t>(grid.units));
    if (*moved != 0)
      sentence += fmt::format(", with {} {} higher", grid.moving_unit,
                              in_memory ? fmt::format("{:#x}", *moved / 8) : fmt::format("{}", *moved));
    grid.legend.push_back(sentence);
    const std::size_t kept = std::max(most / period, std::size_t{1}) * period;
    grid.columns.resize(kept);
    for (auto& row : grid.cells) row.resize(kept);
    return;
  }
  if (grid.most != 0) cut(grid, grid.most);
}

void abbreviate_rows(Grid& grid, std::size_t most) {
  Grid turned{.corner = "", .unit = "", .moving_unit = ""};
  for (std::size_t j = 0; j < grid.columns.size(); ++j) {
    auto& row = turned.cells.emplace_back();
    for (const auto& cells : grid.cells) row.push_back(cells[j]);
  }
  if (grid.rows.size() <= most) return;
  for (std::size_t period = 1; period <= most; ++period) {
    const std::optional<std::int64_t> moved = growth(turned, period);
    if (!moved) continue;
    grid.legend.push_back(fmt::format("goes on to {}: every {} rows the same again, with {} {} higher",
                                      grid.rows.back(), period, grid.moving_unit, *moved));
    grid.rows.resize(period);
    grid.cells.resize(period);
    return;
  }
}

std::string heading(const OperandLayout& op) {
  std::string out = fmt::format("{}: {}{} x {} {}", op.role,
                                op.products > 1 ? fmt::format("{} matrices, each ", op.products) : "", op.rows,
                                op.columns, op.format);
  switch (op.medium) {
    case Medium::registers:
      out += fmt::format(", in {} register{} of {} bits", op.registers, op.registers == 1 ? "" : "s",
                         op.packing.register_bits);
      if (op.lanes > 1) out += fmt::format(" of each of {} lanes", op.lanes);
      break;
    case Medium::shared_memory: out += ", in shared memory"; break;
    case Medium::tensor_memory:
      out += fmt::format(", in {} column{} of tensor memory{}", op.registers, op.registers == 1 ? "" : "s",
                         is_of_pair(op) ? " of each block of a pair" : "");
      break;
    case Medium::memory: out += ", in memory"; break;
    case Medium::addresses:
      out = fmt::format("{}: {} addresses of rows, from the lanes", op.role, op.rows * op.products);
      break;
  }
  return op.note.empty() ? out : out + "; " + op.note;
}

std::string cute_heading(const OperandLayout& op) {
  return fmt::format("CuTe {}: {}", op.cute_domain, op.cute);
}

std::string element_text(const OperandLayout& op, const Coordinate& e) {
  return op.products > 1 ? fmt::format("{}[{},{},{}]", op.role, e.row, e.column, e.product)
                         : fmt::format("{}[{},{}]", op.role, e.row, e.column);
}

}  // namespace warpbit
