// SPDX-License-Identifier: Apache-2.0
// Scale factors in memory, against a second statement: views as PyTorch's to_blocked has them.
#include "warpbit/fragment.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace scale_layout_test {

using namespace warpbit;

// A tensor of three dimensions.
struct Tensor {
  std::size_t x, y, z;
  std::vector<int> values;
};

// The first two dimensions exchanged.
Tensor exchanged(const Tensor& t) {
  Tensor out{t.y, t.x, t.z, {}};
  for (std::size_t j = 0; j < t.y; ++j)
    for (std::size_t i = 0; i < t.x; ++i)
      for (std::size_t k = 0; k < t.z; ++k) out.values.push_back(t.values[(i * t.y + j) * t.z + k]);
  return out;
}

// What stands at each byte: row * 1000 + block, -1 for padding. A matrix is padded and cut into tiles along K first; the 128
// rows of a tile are 4 x 32, of which the dimensions change places.
std::vector<int> by_views(int rows, int blocks) {
  std::vector<int> out;
  for (int top = 0; top < rows; top += 128)
    for (int left = 0; left < blocks; left += 4) {
      Tensor tile{4, 32, 4, {}};
      for (int i = top; i < top + 128; ++i)
        for (int j = left; j < left + 4; ++j) tile.values.push_back(i < rows && j < blocks ? i * 1000 + j : -1);
      const Tensor stored = exchanged(tile);
      out.insert(out.end(), stored.values.begin(), stored.values.end());
    }
  return out;
}

TEST_CASE("each scale factor has a byte of its own, where the views say", "[quick][scale_layout]") {
  for (const auto& [rows, blocks] :
       {std::pair{128, 4}, {256, 8}, {384, 12}, {1, 1}, {129, 5}, {200, 3}, {64, 16}}) {
    CAPTURE(rows, blocks);
    const std::vector<int> expected = by_views(rows, blocks);
    const ScaleLayout layout{rows, blocks};
    REQUIRE(layout.bytes() == static_cast<std::int64_t>(expected.size()));
    std::size_t found = 0;
    for (std::size_t byte = 0; byte < expected.size(); ++byte) {
      const auto offset = static_cast<std::int64_t>(byte);
      const std::optional<ScaleFactor> at = layout.at(offset);
      REQUIRE((at ? static_cast<int>(at->row * 1000 + at->block) : -1) == expected[byte]);
      const ScaleFactor any = layout.place(offset);
      REQUIRE(layout.offset(any.row, any.block) == offset);
      found += at.has_value() ? 1 : 0;
    }
    CHECK(found == static_cast<std::size_t>(rows * blocks));
    CHECK_FALSE(layout.at(layout.bytes()));
    CHECK_FALSE(layout.at(-1));
  }
}

TEST_CASE("scale factors in a row", "[quick][scale_layout]") {
  constexpr ScaleLayout kLinear{5, 3, ScaleOrder::linear};
  static_assert(kLinear.bytes() == 15 && kLinear.offset(2, 1) == 7);
  for (std::int64_t byte = 0; byte < kLinear.bytes(); ++byte) {
    const std::optional<ScaleFactor> at = kLinear.at(byte);
    REQUIRE(at);
    CHECK(at->row * 3 + at->block == byte);
  }
  CHECK_FALSE(kLinear.at(15));
  CHECK(ScaleLayout{0, 0, ScaleOrder::linear}.bytes() == 0);
  CHECK_FALSE(ScaleLayout{0, 4}.at(0));
}

// cuBLAS documentation, "1D Block Scaling Factors Layout": in a tile (outer % 32) * 16 + (outer / 32) * 4 + inner.
TEST_CASE("points of cuBLAS's formula", "[quick][scale_layout]") {
  static_assert(ScaleLayout{128, 4}.offset(37, 2) == 5 * 16 + 4 + 2);
  static_assert(ScaleLayout{128, 4}.offset(127, 3) == 511);
  static_assert(ScaleLayout{256, 8}.offset(0, 4) == 512);
  static_assert(ScaleLayout{256, 8}.offset(128, 0) == 1024);
  static_assert(ScaleLayout{256, 5}.offset(128, 4) == 3 * 512);
  CHECK(ScaleLayout{130, 5}.bytes() == 4 * 512);
}

}  // namespace scale_layout_test
