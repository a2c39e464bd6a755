// SPDX-License-Identifier: Apache-2.0
// Sums of exponentials, and of their products with a matrix, that keep the greatest x so far.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "reduction/candidates.hpp"
#include "reduction/tree.hpp"
#include "warpbit/reduction.hpp"

namespace warpbit::reduction {

/// Exponentials of a row: of x minus the greatest of its block so far, tile by tile (`loop` values of a block).
struct Tiles {
  std::vector<float> e;         ///< of each value
  std::vector<float> scale;     ///< of each tile: by what the sums before it are multiplied
  std::vector<float> greatest;  ///< of each block
};
Tiles tiles_of(std::span<const float> x, const ReductionOrder& order);

/// The sum of e of each block.
std::vector<float> totals_of(const Tiles& tiles, const Begun<float>& begun, const ReductionOrder& order);
/// The sum of e v of each block, for a column of v.
std::vector<float> products_of(const Tiles& tiles, std::span<const float> v, const ReductionOrder& order);

/// Many sums at once: the greatest x, the sum of e, and that of e v (or no such sums).
struct Online {
  std::vector<float> greatest, total, products;
  std::string_view function = {};  ///< the exponential

  friend Online operator+(const Online& to, const Online& from);
};
/// Blocks become one: what they leave is merged if there are several. Then log(sum of e), or the quotients if there are products.
std::vector<float> merged(std::vector<Online> blocks, const ReductionOrder& order);

/// Rows of logsumexp and attention.
class OnlineRows {
 public:
  /// Preconditions: the formats are known, and the sizes fit.
  explicit OnlineRows(const ReductionProblem& problem);
  std::span<const float> x(std::size_t row) const { return x_[row]; }
  /// A column of v.
  std::span<const float> v(std::size_t column) const { return v_[column]; }
  /// What blocks have of a row whose tiles are these, one of all columns behind those of others.
  void add_blocks(const Tiles& tiles, const ReductionOrder& order, std::vector<Online>& to) const;

 private:
  std::vector<std::vector<float>> x_, v_;
};

/// The online orders that explain D.
Found find_online(const ReductionProblem& problem, const ReductionOptions& options);

}  // namespace warpbit::reduction
