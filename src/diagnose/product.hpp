// SPDX-License-Identifier: Apache-2.0
// What is diagnosed: the instruction of a capture, or a product of whole matrices as a kernel computes it, a chain of
// instructions along K for each tile of D. Where factors lie in shared memory, their tiles count as lines of elements.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "numeric/formats.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/gemm.hpp"

namespace warpbit::diagnosis {

class Fragment;
struct TileLayout;

/// The codes of a matrix, row by row.
struct Codes {
  int rows = 0, columns = 0;
  std::vector<std::uint64_t> codes = {};

  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
  }
  bool has(int row, int column) const { return row >= 0 && row < rows && column >= 0 && column < columns; }
  /// 0 outside.
  std::uint64_t at(int row, int column) const { return has(row, column) ? codes[index(row, column)] : 0; }
};

/// A product: what was meant, the kernel's D, and the right one.
struct Matrices {
  Codes a, b, c, d, right = {};
  int depth() const { return a.columns; }
};

/// A part of D.
struct PartOfD {
  int row, column, rows, columns;
  bool has(int r, int c) const { return r >= row && r - row < rows && c >= column && c - column < columns; }
};

/// The steps of K of which an instruction has its tile of A and its tile of B.
struct Step {
  int a, b;
  Step(int both) : a(both), b(both) {}
  Step(int of_a, int of_b) : a(of_a), b(of_b) {}
  friend auto operator<=>(const Step&, const Step&) = default;
};
using Run = std::vector<Step>;

/// A capture. With matrices its cases are tiles of D from `first` on, row by row; each has `steps` tiles of A and of B.
struct Problem : LoadedCapture {
  explicit Problem(LoadedCapture capture) : LoadedCapture(std::move(capture)) {}

  std::shared_ptr<const Matrices> matrices = nullptr;
  std::uint64_t first = 0;
  int steps = 1;
  /// Runs of steps of K, each a chain. The first starts from C, the others from 0, and their sums are added in order.
  std::vector<Run> runs = {};
  /// Where elements of the tiles are.
  std::shared_ptr<const TileLayout> layout = nullptr;
  /// What is computed of D where factors are in shared memory, if not all; the rest is unknown then.
  std::optional<PartOfD> block = std::nullopt;
  /// The format in which D is stored; nullptr: that of the accumulators.
  const Format* store = nullptr;

  int tiles_across() const {
    const int n = instruction.columns();
    return (matrices->d.columns + n - 1) / n;
  }
  /// The row and column of the first element of a tile of an operand.
  Coordinate origin(Part part, std::uint64_t of_case, int step) const {
    const auto tile = static_cast<int>(first + of_case);
    const int row = tile / tiles_across() * instruction.rows(),
              column = tile % tiles_across() * instruction.columns(), k = step * instruction.depth();
    return part == Part::a   ? Coordinate{row, k}
           : part == Part::b ? Coordinate{k, column}
                             : Coordinate{row, column};
  }
};

Problem cases_of(const Problem& problem, std::uint64_t first, std::uint64_t count);

/// The tiles [first, first + count) of D, of all unless `count` is given. C and D have the same format.
Problem problem_of(const Instruction& instruction, std::shared_ptr<const Matrices> matrices,
                   std::uint64_t first = 0, std::optional<std::uint64_t> count = std::nullopt);

/// The registers of an operand whose element (row, column) is code(row, column).
Array tiles_of(const Problem& problem, const Fragment& fragment,
               const std::function<std::uint64_t(int, int)>& code);
/// The matrix whose tiles, all of them, are in these registers of D.
Codes matrix_of(const Problem& problem, const Fragment& d, const Array& tiles);

/// Whether an element of D, by its place among the slots of all cases, is of the matrix and of the block that is computed.
bool is_inside(const Problem& problem, const Fragment& d, std::size_t element);

/// x + y, element by element, by IEEE 754.
Array sum_of(const Fragment& fragment, const Array& x, const Array& y);

/// The library's answer, by one thread.
Result<Array> execute_trial(const Problem& problem);

/// The matrices of a product, D in the format of the accumulators. `store`: that of the product's D; may be nullptr. Errors:
/// view_mismatch, where a product cannot be diagnosed.
Result<Matrices> matrices_of(const Instruction& instruction, const Gemm& product, const Format* store);

/// The format of a name in which a kernel may store D; nullptr for an empty one. Errors: view_mismatch.
Result<const Format*> stored_format(const Instruction& instruction, std::string_view name);

}  // namespace warpbit::diagnosis
