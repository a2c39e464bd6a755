// SPDX-License-Identifier: Apache-2.0
// What some rows of a product are computed from, over the whole K: as codes, as matrices for gemm, as factors of exact sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compare/exact_sum.hpp"
#include "explain/chain.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit {

/// Rows [first, end) of a product of a case, all columns.
struct RowRange {
  std::uint64_t index = 0;  ///< the case
  int product = 0;
  std::size_t first = 0, end = 0, columns = 0;

  std::size_t elements() const { return (end - first) * columns; }
};

/// Elements are numbered within the rows. Of a dense product each row of A and each column of B is held once; where A is
/// sparse, what its elements meet differs from element to element.
class RowInputs {
 public:
  /// The inputs of all captures, one behind the other along K, and zeros up to `depth`.
  RowInputs(std::span<const LoadedCapture> captures, const Tile& tile, const RowRange& range,
            std::size_t depth);

  /// True if elements share rows and columns.
  static bool are_shared(const LoadedCapture& capture, const Tile& tile);

  const RowRange& range() const { return range_; }
  /// What an element is computed from, for k below `depth`.
  ElementCodes of(std::size_t element, std::size_t depth) const;
  /// Adds the products of k from `from` to below `to` to the sum of each element.
  void add_products(std::span<ExactElement> sums, std::size_t from, std::size_t to) const;
  /// D of a dense product by gemm, for k below the depth of the chain. Errors: those of gemm.
  Result<std::vector<std::uint64_t>> product(const Chain& chain) const;

 private:
  const ElementInputs& row_of(std::size_t element) const {
    return rows_[shared_ ? element / range_.columns : element];
  }
  const ElementInputs& column_of(std::size_t element) const {
    return shared_ ? columns_[element % range_.columns] : rows_[element];
  }

  const Tile& tile_;
  RowRange range_;
  bool shared_;
  std::vector<ElementInputs> rows_, columns_;  // A of the first, B of the second; of both if not shared
  std::vector<std::uint64_t> c_;
  std::vector<std::vector<Factor>> a_factors_, b_factors_;  // as rows_ and columns_
};

}  // namespace warpbit
