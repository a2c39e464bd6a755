// SPDX-License-Identifier: Apache-2.0
// Mistakes in a product of whole matrices: the registers of two tiles of D that are beside each other are mixed, as where a
// kernel has the accumulators of both in one array.
#include <fmt/format.h>

#include "diagnose/matrix_moves.hpp"

namespace warpbit::diagnosis {
namespace {

class MixedTiles {
 public:
  explicit MixedTiles(MatrixCollection& to)
      : to_(to), d_(to.to.fragment(Part::d)), registers_(d_.registers()) {}

  void run() {
    const Codes& d = to_.matrices.d;
    for (const bool down : {true, false}) {
      down_ = down;
      if (down ? d.rows <= to_.instruction().rows() : d.columns <= to_.instruction().columns()) continue;
      one_direction();
    }
  }

 private:
  // The place of register i of both, 0 to 2 R - 1, is that of another.
  template <class Other>
  void add(const std::string& text, int cost, Other other) {
    const int rows = to_.instruction().rows(), columns = to_.instruction().columns();
    to_.add({"tiles_mixed", "",
             fmt::format("registers of tiles of {} x {} of D, one {} the other: {}", rows, columns,
                         down_ ? "above" : "beside", text),
             "the index of the tile and that of the register in the accumulators", cost},
            {{Part::d, [=, &d = d_, n = registers_, down = down_](int row, int column) {
                const int tile = down ? row / rows : column / columns;
                const Index at =
                    d.index(static_cast<std::size_t>(d.slot_at(Coordinate{row % rows, column % columns})));
                const int moved = other(tile % 2 * n + at.reg);
                const Coordinate in = d.at({at.lane, moved % n, at.slot});
                const int shift = moved / n - tile % 2;
                return From{row / rows * rows + in.row + (down ? shift * rows : 0),
                            column / columns * columns + in.column + (down ? 0 : shift * columns)};
              }}});
  }

  void one_direction() {
    const int n = registers_;
    add("exchanged", 1, [n](int i) { return (i + n) % (2 * n); });
    add("taken by turns", 2, [n](int i) { return i % n * 2 + i / n; });
    add("those by turns taken one after the other", 2, [n](int i) { return i / 2 + i % 2 * n; });
    for (int bit = 1; bit < n; bit *= 2) {
      if (n % (2 * bit) == 0)
        add(fmt::format(
                "those of the first with register & {0} set and those of the second with it clear are exchanged",
                bit),
            2, [=](int i) {
              const bool set = (i & bit) != 0, second = i >= n;
              return set == second ? i : i + (second ? bit - n : n - bit);
            });
      add(fmt::format("those with register & {} set are exchanged", bit), 2,
          [=](int i) { return (i % n & bit) == 0 ? i : (i + n) % (2 * n); });
      add(fmt::format("those with register & {} clear are exchanged", bit), 2,
          [=](int i) { return (i % n & bit) != 0 ? i : (i + n) % (2 * n); });
    }
    for (int reg = 0; reg < n && n <= 8; ++reg)
      add(fmt::format("register {} is exchanged", reg), 2,
          [=](int i) { return i % n != reg ? i : (i + n) % (2 * n); });
  }

  MatrixCollection& to_;
  const Fragment& d_;
  const int registers_;
  bool down_ = true;
};

}  // namespace

void collect_mixed_tiles(MatrixCollection& to) {
  MixedTiles(to).run();
}

}  // namespace warpbit::diagnosis
