// SPDX-License-Identifier: Apache-2.0
// Whole arrays compared by their bits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "diagnose/wrong_places.hpp"
#include "numeric/formats.hpp"
#include "warpbit/bits.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

using diagnosis::Compared;
using diagnosis::IndexOfElement;

constexpr std::size_t kMostCells = 128;                   // of the map, in each direction
constexpr std::size_t kMostLines = 32, kMostAcross = 64;  // of the map as text

// ---- Numbers

// The number of a code among those of its format, in their order: neighbours differ by 1, and both zeros have 0.
std::optional<std::int64_t> rank(const Format& format, std::uint64_t code) {
  const Decoded number = decode(format, code);
  if (number.cls == Class::nan) return {};
  const auto magnitude =
      static_cast<std::int64_t>(format.is_integer ? number.significand
                                                  : (code & format.mask()) >> format.ignored_low &
                                                        ones(format.exponent_bits + format.fraction_bits));
  return number.negative ? -magnitude : magnitude;
}

std::optional<std::uint64_t> distance(const Format* format, std::uint64_t x, std::uint64_t y) {
  if (format == nullptr) return {};
  const std::optional<std::int64_t> one = rank(*format, x), other = rank(*format, y);
  if (!one || !other) return {};
  return static_cast<std::uint64_t>(std::max(*one, *other)) -
         static_cast<std::uint64_t>(std::min(*one, *other));
}

// Whether neighbours are 1 apart.
bool is_whole(const Format& format) {
  return format.is_integer && format.fraction_bits == 0;
}

std::string item_text(const BitsComparison& of, std::uint64_t code) {
  return of.format.empty() ? fmt::format("0x{:0{}x}", code, 2 * of.item_bytes) : code_text(of.format, code);
}

std::string distance_text(const BitsComparison& of, const DifferentElement& element) {
  const Format* format = find_format(of.format);
  if (format == nullptr) return "";
  const bool nan = decode(*format, element.expected).cls == Class::nan;
  if (!element.distance)
    return nan && decode(*format, element.got).cls == Class::nan ? ": both NaN, with other bits" : "";
  if (*element.distance == 0) return ": the same number, with other bits";
  return fmt::format(", {} apart", is_whole(*format) ? std::to_string(*element.distance)
                                                     : fmt::format("{} ulp", *element.distance));
}

// ---- Shapes

std::size_t elements_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::string shape_words(const ArrayBits& array) {
  return fmt::format("items of {} bytes of shape ({})", array.item_bytes, fmt::join(array.shape, ", "));
}

std::vector<std::size_t> index_of(const std::vector<std::size_t>& shape, std::size_t element) {
  std::vector<std::size_t> out(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; element /= shape[i]) out[i] = element % shape[i];
  return out;
}

std::vector<IndexOfElement> array_indices(const std::vector<std::size_t>& shape) {
  std::vector<IndexOfElement> out;
  std::size_t inner = elements_of(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t size = shape[i];
    inner /= size;
    if (size < 2 || size > static_cast<std::size_t>(std::numeric_limits<int>::max())) continue;
    out.push_back({shape.size() == 1   ? "index"
                   : shape.size() == 2 ? (i == 0 ? "row" : "column")
                                       : fmt::format("index {}", i),
                   static_cast<int>(size),
                   [inner, size](std::size_t element) { return static_cast<int>(element / inner % size); }});
  }
  return out;
}

Result<void> check(const ArrayBits& expected, const ArrayBits& got, const std::string& name) {
  for (const ArrayBits* array : {&expected, &got}) {
    if (!std::has_single_bit(array->item_bytes) || array->item_bytes > 8)
      return Error{Errc::view_mismatch, name, shape_words(*array), "items of 1, 2, 4 or 8 bytes"};
    if (array->bytes.size() != array->item_bytes * elements_of(array->shape))
      return Error{Errc::view_mismatch, name,
                   fmt::format("{} bytes for {}", array->bytes.size(), shape_words(*array)),
                   fmt::format("{} bytes", array->item_bytes * elements_of(array->shape))};
    if (!array->format.empty() && find_format(array->format) == nullptr)
      return find_format_info(array->format).error();
  }
  if (got.shape != expected.shape || got.item_bytes != expected.item_bytes)
    return Error{Errc::view_mismatch, name, shape_words(got), shape_words(expected) + ", as expected has"};
  if (!got.format.empty() && !expected.format.empty() &&
      find_format(got.format) != find_format(expected.format))
    return Error{Errc::view_mismatch, name, fmt::format("codes of {}", got.format),
                 fmt::format("codes of {}, as expected has", expected.format)};
  return {};
}

// ---- Elements that differ

std::uint64_t item_of(const ArrayBits& array, std::size_t element) {
  std::uint64_t code = 0;
  std::memcpy(&code, array.bytes.data() + element * array.item_bytes, array.item_bytes);
  return code;
}

std::vector<Compared> compared(const ArrayBits& expected, const ArrayBits& got, BitsComparison& out) {
  const Format* format = find_format(out.format);
  std::vector<Compared> elements(out.elements, Compared::right);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t x = item_of(expected, i), y = item_of(got, i);
    if (x == y) continue;
    elements[i] = Compared::wrong;
    ++out.different;
    const std::optional<std::uint64_t> apart = distance(format, x, y);
    if (!out.first) out.first = DifferentElement{index_of(out.shape, i), x, y, apart};
    if (apart) out.farthest = std::max(out.farthest.value_or(0), *apart);
  }
  return elements;
}

WrongMap wrong_map(const BitsComparison& of, const std::vector<Compared>& elements) {
  WrongMap out;
  out.columns = of.shape.empty() ? 1 : of.shape.back();
  out.rows = elements.size() / out.columns;
  out.cell_rows = std::bit_ceil((out.rows + kMostCells - 1) / kMostCells);
  out.cell_columns = std::bit_ceil((out.columns + kMostCells - 1) / kMostCells);
  out.wrong.resize(out.cells_down() * out.cells_across());
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] == Compared::wrong)
      ++out.wrong[i / out.columns / out.cell_rows * out.cells_across() + i % out.columns / out.cell_columns];
  return out;
}

// Nothing if some tile is wrong in part, or all are wrong.
std::optional<WholeTiles> tiles_of_size(const WrongMap& matrix, const std::vector<Compared>& elements,
                                        std::size_t size) {
  WrongMap tiles{matrix.rows, matrix.columns, size, size, {}};
  tiles.wrong.resize(tiles.cells_down() * tiles.cells_across());
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] == Compared::wrong)
      ++tiles.wrong[i / matrix.columns / size * tiles.cells_across() + i % matrix.columns / size];
  WholeTiles out{size, 0, tiles.wrong.size(), 0, 0};
  for (std::size_t i = 0; i < tiles.wrong.size(); ++i) {
    if (tiles.wrong[i] == 0) continue;
    const std::size_t row = i / tiles.cells_across(), column = i % tiles.cells_across();
    if (tiles.wrong[i] != tiles.elements(row, column)) return {};
    if (out.wrong++ == 0) out.row = row * size, out.column = column * size;
  }
  return out.wrong < out.all ? std::optional(out) : std::nullopt;
}

std::optional<WholeTiles> largest_tiles(const WrongMap& matrix, const std::vector<Compared>& elements) {
  for (std::size_t size = 128; size >= 8; size /= 2) {
    if (matrix.rows <= size && matrix.columns <= size) continue;
    if (std::optional<WholeTiles> found = tiles_of_size(matrix, elements, size)) return found;
  }
  return {};
}

// ---- Text

std::string tiles_text(const WholeTiles& tiles) {
  return fmt::format("whole tiles of {0} x {0}: {1} of {2}, the first at row {3}, column {4}", tiles.size,
                     tiles.wrong, tiles.all, tiles.row, tiles.column);
}

}  // namespace

std::string_view format_of_items(bool is_floating, int digits) {
  struct Row {
    bool is_floating;
    int digits;
    std::string_view format;
  };
  constexpr Row kRows[] = {{true, 53, "f64"}, {true, 24, "f32"},  {true, 11, "f16"},
                           {true, 8, "bf16"}, {false, 31, "s32"}, {false, 7, "s8"}};
  const auto* found = std::ranges::find_if(
      kRows, [&](const Row& row) { return row.is_floating == is_floating && row.digits == digits; });
  return found == std::end(kRows) ? std::string_view() : found->format;
}

std::size_t WrongMap::elements(std::size_t row, std::size_t column) const {
  return std::min(cell_rows, rows - row * cell_rows) * std::min(cell_columns, columns - column * cell_columns);
}

WrongMap WrongMap::coarser(std::size_t down, std::size_t across) const {
  WrongMap out{rows, columns, cell_rows, cell_columns, {}};
  while (out.cells_down() > down) out.cell_rows *= 2;
  while (out.cells_across() > across) out.cell_columns *= 2;
  out.wrong.resize(out.cells_down() * out.cells_across());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const std::size_t row = i / cells_across() * cell_rows, column = i % cells_across() * cell_columns;
    out.wrong[row / out.cell_rows * out.cells_across() + column / out.cell_columns] += wrong[i];
  }
  return out;
}

std::vector<std::string> BitsComparison::lines() const {
  if (equal()) return {};
  std::vector<std::string> out = {fmt::format("{} of {} elements of {} differ", different, elements, name)};
  if (farthest && *farthest > 0)
    out[0] += fmt::format(", numbers by at most {}{}", *farthest, is_whole(*find_format(format)) ? "" : " ulp");
  out.push_back(fmt::format("first at [{}]: expected {}, got {}{}", fmt::join(first->index, ", "),
                            item_text(*this, first->expected), item_text(*this, first->got),
                            distance_text(*this, *first)));
  if (elements == 1) return out;
  const bool is_said = where.size() == 1 && where[0].is_complete;
  if (tiles && !is_said)
    out.push_back(tiles_text(*tiles));
  else
    for (const WrongPlaces& places : where) out.push_back(places.text());
  return out;
}

//     a character is 2 rows x 1 column: · right, ░▒▓ some wrong, █ all wrong
//     0 ····████
//     2 ····████
std::string BitsComparison::picture() const {
  if (equal() || different == elements) return "";
  constexpr std::string_view kShades[] = {"░", "▒", "▓"};
  const WrongMap cells = map.coarser(kMostLines, kMostAcross);
  const std::size_t label = std::to_string(cells.rows - 1).size();
  const std::string cell =
      shape.size() < 2 ? fmt::format("{} element{}", cells.cell_columns, cells.cell_columns == 1 ? "" : "s")
                       : fmt::format("{} row{} x {} column{}", cells.cell_rows, cells.cell_rows == 1 ? "" : "s",
                                     cells.cell_columns, cells.cell_columns == 1 ? "" : "s");
  std::string out = fmt::format("a character is {}: · right, ░▒▓ some wrong, █ all wrong\n", cell);
  if (shape.size() > 2) out += "rows are all indices but the last, as one\n";
  for (std::size_t row = 0; row < cells.cells_down(); ++row) {
    out += fmt::format("{:>{}} ", row * cells.cell_rows, label);
    for (std::size_t column = 0; column < cells.cells_across(); ++column) {
      const std::size_t wrong = cells.wrong[row * cells.cells_across() + column],
                        all = cells.elements(row, column);
      out += wrong == 0 ? "·" : wrong == all ? "█" : kShades[wrong * std::size(kShades) / all];
    }
    out += '\n';
  }
  return out;
}

std::string BitsComparison::text() const {
  std::string out;
  for (const std::string& line : lines()) out += line + '\n';
  return out + picture();
}

Result<BitsComparison> compare_bits(const ArrayBits& expected, const ArrayBits& got, std::string name) {
  if (const Result<void> fits = check(expected, got, name); !fits) return fits.error();
  BitsComparison out{.name = std::move(name),
                     .format = expected.format.empty() ? got.format : expected.format,
                     .item_bytes = expected.item_bytes,
                     .shape = expected.shape,
                     .elements = elements_of(expected.shape)};
  if (std::ranges::equal(expected.bytes, got.bytes)) return out;
  const std::vector<Compared> elements = compared(expected, got, out);
  out.where = {diagnosis::places_of(array_indices(out.shape), elements, [](std::size_t) { return true; })};
  out.map = wrong_map(out, elements);
  out.tiles = largest_tiles(out.map, elements);
  return out;
}

}  // namespace warpbit
