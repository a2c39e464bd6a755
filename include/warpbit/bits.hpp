// SPDX-License-Identifier: Apache-2.0
// Whole arrays compared by their bits: how many elements differ, which is the first, and where they lie.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "warpbit/diagnose.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// An array: items one after the other, those of the last index side by side.
struct ArrayBits {
  std::span<const std::byte> bytes = {};
  std::size_t item_bytes = 0;  ///< 1, 2, 4 or 8
  /// Whose codes the items are, by a name of Operand::format. Empty: it is not known, and messages have no numbers.
  std::string format = {};
  std::vector<std::size_t> shape = {};  ///< sizes of the indices; of one element, if empty
};

/// The format whose codes the items of a type of C++ are: floating-point, or integers with a sign; with so many digits
/// (std::numeric_limits). Empty for all others.
std::string_view format_of_items(bool is_floating, int digits);
template <class T>
std::string_view format_of_items() {
  if constexpr (std::floating_point<T> || std::signed_integral<T>)
    return format_of_items(std::floating_point<T>, std::numeric_limits<T>::digits);
  else
    return {};
}

/// How the items of a vector or span are to be taken.
struct ArrayShape {
  std::vector<std::size_t> shape = {};  ///< sizes of the indices; one index, if empty
  std::string format = {};  ///< whose codes the items are; empty: by their type, unknown for unsigned integers
};
/// Items of a size of 1, 2, 4 or 8 bytes: numbers of C++, or codes of any type.
template <class T>
ArrayBits array_bits(std::span<const T> items, const ArrayShape& how = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {std::as_bytes(items), sizeof(T), how.format.empty() ? std::string(format_of_items<T>()) : how.format,
          how.shape.empty() ? std::vector{items.size()} : how.shape};
}

/// An element of two arrays.
struct DifferentElement {
  std::vector<std::size_t> index;
  std::uint64_t expected = 0, got = 0;  ///< codes
  /// How many numbers of the format lie between both, and one (ulp); of integers their difference. 0: zeros of both signs.
  /// Nothing if one is a NaN, or the format is not known.
  std::optional<std::uint64_t> distance = {};
};

/// How many elements differ in each part of an array. An array of one index is one row; of more than two, all indices but the
/// last are rows.
struct WrongMap {
  std::size_t rows = 0, columns = 0;            ///< of the array
  std::size_t cell_rows = 1, cell_columns = 1;  ///< of a cell: powers of two
  std::vector<std::uint32_t> wrong = {};        ///< elements that differ in each cell, row by row

  std::size_t cells_down() const { return (rows + cell_rows - 1) / cell_rows; }
  std::size_t cells_across() const { return (columns + cell_columns - 1) / cell_columns; }
  /// The elements of a cell; at the edges there are fewer.
  std::size_t elements(std::size_t row, std::size_t column) const;
  /// The same map with at most so many cells.
  WrongMap coarser(std::size_t down, std::size_t across) const;
};

/// Square tiles each of which is wholly wrong or wholly right.
struct WholeTiles {
  std::size_t size = 0;             ///< rows and columns of one
  std::size_t wrong = 0, all = 0;   ///< tiles
  std::size_t row = 0, column = 0;  ///< where the first wrong one begins
};

/// Two arrays compared by their bits: payloads of NaNs and signs of zeros count.
struct BitsComparison {
  std::string name;    ///< of the array, for messages
  std::string format;  ///< may be empty
  std::size_t item_bytes = 0;
  std::vector<std::size_t> shape;
  std::uint64_t elements = 0, different = 0;
  std::optional<DifferentElement> first = {};  ///< in the order of memory
  std::optional<std::uint64_t> farthest = {};  ///< the largest distance of two numbers that differ
  std::vector<WrongPlaces> where = {};         ///< by "row" and "column", "index", or "index 0", "index 1", ...
  std::optional<WholeTiles> tiles = {};        ///< the largest ones, of 8 to 128 rows
  WrongMap map = {};                           ///< of at most 128 x 128 cells

  bool equal() const { return different == 0; }
  /// What differs, in words: how many elements, the first one, and the pattern, if there is one. Nothing if nothing differs.
  std::vector<std::string> lines() const;
  /// The map in block characters, in at most 80 columns and 34 lines. Empty if nothing differs, or everything.
  std::string picture() const;
  /// Both, each line with a newline at its end.
  std::string text() const;
};

/// Compares arrays of one shape and one size of items; if one says the format, the other has it or says none. `name` is that
/// of the array in messages. Errors: view_mismatch.
Result<BitsComparison> compare_bits(const ArrayBits& expected, const ArrayBits& got,
                                    std::string name = "the array");

/// Which mistake in a kernel makes `d` of A and B: diagnose (warpbit/diagnose.hpp) of whole arrays, row by row. D is rows x columns,
/// A rows x depth, B depth x columns, items of the sizes of the instruction's operands. Errors: view_mismatch for other arrays;
/// those of diagnose.
Result<Diagnosis> diagnose(const Instruction& instruction, const ArrayBits& a, const ArrayBits& b,
                           const ArrayBits& d);

/// The map as a picture (SVG) for light and dark backgrounds, with the words of the text.
std::string bits_svg(const BitsComparison& comparison);
/// Writes it to a file, which is complete or untouched. Errors: file_unwritable.
Result<void> write_bits_svg(const std::filesystem::path& path, const BitsComparison& comparison);

}  // namespace warpbit
#pragma GCC visibility pop
