// SPDX-License-Identifier: Apache-2.0
// Scale factors in memory as a layout.
#include <fmt/format.h>

#include "layout/cute.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

constexpr std::int64_t kMostScales = 1 << 24, kMostScalesListed = 1 << 20;

Error refuse(std::string seen, std::string accepted) {
  return {Errc::usage, "scale_factors", std::move(seen), std::move(accepted)};
}

LayoutCell cell_of(const ScaleLayout& scales, std::int64_t row, std::int64_t block) {
  return {{static_cast<int>(row), static_cast<int>(block)},
          {},
          static_cast<std::uint64_t>(scales.offset(row, block)) * 8};
}

void add_answers(const ScaleLayout& scales, const LayoutQuestion& question, std::vector<LayoutCell>& out) {
  if (question.element) {
    if (const auto& e = *question.element; e.row < scales.rows && e.column < scales.blocks)
      out.push_back(cell_of(scales, e.row, e.column));
  } else if (question.byte && *question.byte < static_cast<std::uint64_t>(scales.bytes())) {
    if (const auto at = scales.at(static_cast<std::int64_t>(*question.byte)))
      out.push_back(cell_of(scales, at->row, at->block));
  }
}

std::string note_of(const ScaleLayout& scales) {
  if (scales.order == ScaleOrder::linear)
    return fmt::format("row by row: offset = row * {} + block", scales.blocks);
  return fmt::format(
      "{} bytes in {} x {} tiles of 128 x 4: offset = 512 * (row / 128 * {} + block / 4) + row % 32 * 16 + "
      "row / 32 % 4 * 4 + block % 4",
      scales.bytes(), scales.tiles_down(), scales.tiles_across(), scales.tiles_across());
}

}  // namespace

Result<Layout> scale_factor_layout(const ScaleLayout& scales, const LayoutQuestion* question) {
  if (scales.rows < 1 || scales.blocks < 1 || scales.rows > kMostScales || scales.blocks > kMostScales)
    return refuse(fmt::format("{} rows and {} blocks", scales.rows, scales.blocks),
                  fmt::format("1 to {} each", kMostScales));
  if (question == nullptr && scales.rows * scales.blocks > kMostScalesListed)
    return refuse(fmt::format("{} scale factors", scales.rows * scales.blocks),
                  fmt::format("at most {} to list, or a question about one", kMostScalesListed));
  OperandLayout out{.role = "sf",
                    .format = "scale factors",
                    .medium = Medium::memory,
                    .rows = static_cast<int>(scales.rows),
                    .columns = static_cast<int>(scales.blocks),
                    .element_bits = 8,
                    .note = note_of(scales)};
  if (question != nullptr) {
    add_answers(scales, *question, out.cells);
  } else {
    for (std::int64_t row = 0; row < scales.rows; ++row)
      for (std::int64_t block = 0; block < scales.blocks; ++block)
        out.cells.push_back(cell_of(scales, row, block));
    add_cute(out, Swizzle::none);
  }
  return Layout{"scale_factors", "", {std::move(out)}, {}};
}

}  // namespace warpbit
