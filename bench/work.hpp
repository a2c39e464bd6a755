// SPDX-License-Identifier: Apache-2.0
// A row made ready to run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "products.hpp"
#include "rows.hpp"
#include "warpbit/result.hpp"

namespace bench {

struct Work {
  std::size_t tiles = 1;       ///< of one run; of Kind::parse, statements
  std::optional<Shape> shape;  ///< of a tile, to compare with; nothing where there is no product
  /// Registers to registers. Which kernel computed it, "-" if that is not said.
  std::function<warpbit::Result<std::string_view>()> run;
  std::function<warpbit::Result<std::string_view>()> gemm = {};  ///< the same product, to compare with instead
};

/// On so many threads: as many times the tiles of one.
warpbit::Result<Work> make_work(const Row& row, int threads);

}  // namespace bench
