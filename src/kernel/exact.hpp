// SPDX-License-Identifier: Apache-2.0
// What a body leaves to the specification.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// The rows of pair `pair` of a tile or part of `rows` rows, as mma and wgmma have them in a lane; those of
/// fewer than 16 as mma.m8n8k4 has them. `which` is 0 or 1.
constexpr int row_of_pair(int pair, int which, int rows = 16) {
  const int apart = rows % 16 == 0 ? 8 : 2;
  return pair / apart * 2 * apart + pair % apart + apart * which;
}

/// A part of a tile that is computed on its own: its product, first row and first column; and which of the tile's
/// lines of A and of B it has, counted by as many as a part has.
struct TilePart {
  int product = 0, row = 0, column = 0, a_lines = 0, b_lines = 0;
};

/// The elements of a tile in blocks (body.hpp). The indices of a body count the parts of the cases.
class ExactLanes {
 public:
  /// The parts have `rows` rows, or columns if they are `exchanged`.
  ExactLanes(const Tile& tile, const TileViews& views, int rows, std::span<const TilePart> parts = kWhole,
             bool exchanged = false)
      : tile_(tile), views_(views), rows_(rows), parts_(parts), exchanged_(exchanged) {}
  ExactLanes(const ExactLanes&) = delete;

  /// Index 0 is from now on the first part of this case.
  void begin(std::size_t index) { first_ = index * parts_.size(); }
  ExactCode callback() { return {code, this}; }

 private:
  static constexpr TilePart kWhole[1] = {};

  static std::uint64_t code(void* context, const LeftLane& at, std::uint64_t c) {
    auto& x = *static_cast<ExactLanes*>(context);
    const std::size_t number = x.first_ + at.index, index = number / x.parts_.size();
    if (!x.elements_ || x.index_ != index) x.elements_.emplace(x.tile_, x.views_, index);
    x.index_ = index;
    const TilePart& part = x.parts_[number % x.parts_.size()];
    int row = row_of_pair(at.row, at.lane % 2, x.rows_), column = 8 * at.column + at.lane / 2;
    if (x.exchanged_) std::swap(row, column);
    return (*x.elements_)(static_cast<std::size_t>(part.product), static_cast<std::size_t>(part.row + row),
                          static_cast<std::size_t>(part.column + column), c);
  }

  const Tile& tile_;
  const TileViews& views_;
  int rows_;
  std::span<const TilePart> parts_;
  bool exchanged_;
  std::size_t first_ = 0;
  std::optional<ExactElements> elements_;  // of the case that was asked for last
  std::size_t index_ = 0;
};

}  // namespace warpbit
