// SPDX-License-Identifier: Apache-2.0
// Mistakes in a product of whole matrices: where elements lie in memory, which blocks a kernel computes, what is behind the
// end of K.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/matrix_moves.hpp"
#include "diagnose/swizzling.hpp"

namespace warpbit::diagnosis {
namespace {

// The order of elements in memory.
struct MemoryOrder {
  std::string_view text;
  bool by_rows;
};
constexpr MemoryOrder kMemoryOrders[] = {{"row-major", true}, {"column-major", false}};

class MatrixPlaces {
 public:
  explicit MatrixPlaces(MatrixCollection& to) : to_(to) {}

  void run() {
    for (const Part part : {Part::a, Part::b, Part::c, Part::d}) {
      layout(part);
      moves(part);
      bounds(part);
      index_bits(part);
      transposed_blocks(part);
    }
    exchanged_factors();
    blocks();
    tails();
  }

 private:
  // ---- Memory

  // Where an element is in memory, in lines of the matrix's own length, and what is at an address.
  struct Memory {
    const Codes& m;
    bool by_rows;
    int line() const { return by_rows ? m.columns : m.rows; }
    int lines() const { return by_rows ? m.rows : m.columns; }
    int outer(int row, int column) const { return by_rows ? row : column; }
    int inner(int row, int column) const { return by_rows ? column : row; }
    From at(std::int64_t address) const {
      if (address < 0 || address >= std::int64_t{line()} * lines()) return {kElsewhere, 0};
      const int o = static_cast<int>(address / line()), i = static_cast<int>(address % line());
      return by_rows ? From{o, i} : From{i, o};
    }
  };

  void layout(Part part) {
    for (const MemoryOrder& order : kMemoryOrders) {
      const Memory memory{to_.matrix(part), order.by_rows};
      const std::string name = fmt::format("{} ({})", to_.letter(part), order.text);
      const int line = memory.line();
      std::set<int> lengths{to_.matrices.d.rows,
                            to_.matrices.d.columns,
                            to_.matrices.depth(),
                            line + 1,
                            line - 1,
                            line + 2,
                            line - 2,
                            line + 4,
                            line - 4,
                            line + 8,
                            line - 8,
                            line + 16,
                            line - 16,
                            2 * line,
                            line / 2,
                            0};
      for (const int to : {8, 16, 32, 64, 128}) lengths.insert(rounded_up(line, to));
      for (const int wrong : lengths)
        to_.add(
            {"leading_dimension", "",
             fmt::format("{} has a leading dimension of {} instead of {}", name, wrong, line),
             fmt::format("a line of {} has {} elements", to_.letter(part), line), 2},
            {{part, [=](int row, int column) {
                return memory.at(std::int64_t{memory.outer(row, column)} * wrong + memory.inner(row, column));
              }}});
      to_.add(
          {"transposed", "", fmt::format("{} is taken as {}", name, kMemoryOrders[order.by_rows ? 1 : 0].text),
           "row-major or column-major, .trans of ldmatrix", 1},
          {{part, [=](int row, int column) {
              return memory.at(std::int64_t{memory.inner(row, column)} * memory.lines() +
                               memory.outer(row, column));
            }}});
      for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32})
        to_.add({"offset", "",
                 fmt::format("{} is read or written {} element{} too {}", name, std::abs(by),
                             std::abs(by) == 1 ? "" : "s", by > 0 ? "far" : "early"),
                 fmt::format("the address of the first element of {}", to_.letter(part)), 2},
                {{part, [=](int row, int column) {
                    return memory.at(std::int64_t{memory.outer(row, column)} * memory.line() +
                                     memory.inner(row, column) + by);
                  }}});
      swizzles(part, memory, name);
    }
    to_.add({"transposed", "", fmt::format("rows and columns of {} are exchanged", to_.letter(part)),
             "row-major or column-major, .trans of ldmatrix", 1},
            {{part, [](int row, int column) {
                return From{column, row};
              }}});
  }

  void swizzles(Part part, const Memory& memory, const std::string& name) {
    const int chunk = std::max(1, 128 / to_.to.fragment(part).packing().slot_bits);
    // A line is that of a tile in shared memory, of 32, 64 or 128 bytes: the bits of its number are those of the matrix.
    const std::vector<Swizzling> all = swizzlings(std::min(8, memory.line() / chunk));
    for (std::size_t x = 0; x < all.size(); ++x)
      for (std::size_t y = x; y < all.size(); ++y) {
        const Swizzling one = all[x], other = x == y ? Swizzling{} : all[y];
        to_.add({"swizzle", "", swizzle_text(name, one, other),
                 "the swizzle of shared memory, on both sides the same", x == y ? 1 : 3},
                {{part, [=](int row, int column) {
                    const int outer = memory.outer(row, column);
                    const int inner = memory.inner(row, column) ^ ((one.of(outer) ^ other.of(outer)) * chunk);
                    return memory.by_rows ? From{row, inner} : From{inner, column};
                  }}});
      }
  }

  // By rows or columns, with 0 beyond the edges.
  void moves(Part part) {
    const Codes& m = to_.matrix(part);
    const Instruction& i = to_.instruction();
    for (const int by : {1, -1, 8, -8, 32, -32, 64, -64, 128, -128, i.rows(), -i.rows(), i.columns(),
                         -i.columns(), i.depth(), -i.depth()})
      for (const bool rows : {true, false})
        to_.add({"offset", "",
                 fmt::format("{} is read or written {} {}{} too {}", to_.letter(part), std::abs(by),
                             rows ? "row" : "column", std::abs(by) == 1 ? "" : "s", by > 0 ? "far" : "early"),
                 fmt::format("the first element of the tile of {}", to_.letter(part)), 3},
                {{part, [&m, rows, by](int row, int column) {
                    const From from = rows ? From{row + by, column} : From{row, column + by};
                    return m.has(from.row, from.column) ? from : From{kZero, 0};
                  }}});
  }

  // Bits of the index of a row or column are forgotten, exchanged or inverted: blocks in another order, halves, interleaving.
  void index_bits(Part part) {
    constexpr int kBits = 8;
    const Codes& m = to_.matrix(part);
    for (const bool rows : {true, false}) {
      const int n = rows ? m.rows : m.columns;
      const std::string_view what = rows ? "row" : "column";
      const auto index = [&](const std::string& text, std::string kind, int cost, auto other) {
        to_.add({std::move(kind), "",
                 fmt::format("{}: {}", to_.letter(part), fmt::format(fmt::runtime(text), what)),
                 "which index of a block, warp or lane chooses what", cost},
                {{part, [=](int row, int column) {
                    const int moved = other(rows ? row : column);
                    if (moved >= n) return From{kElsewhere, 0};
                    return rows ? From{moved, column} : From{row, moved};
                  }}});
      };
      for (int x = 0; x < kBits && 1 << x < n; ++x) {
        index(fmt::format("{{0}}s {} apart are exchanged", 1 << x), "index_order", 2,
              [x](int i) { return i ^ 1 << x; });
        index(fmt::format("each {{0}} is {{0}} % {}: the index of its block is forgotten", 1 << x),
              "block_forgotten", 2, [x](int i) { return i & ((1 << x) - 1); });
        index(fmt::format("each {{0}} is {{0}} & ~{}", 1 << x), "index_order", 3,
              [x](int i) { return i & ~(1 << x); });
        for (int y = x + 1; y < kBits && 1 << y < n; ++y) {
          index(fmt::format("the bits {} and {} of the {{0}}'s index are exchanged", x, y), "index_order", 3,
                [x, y](int i) {
                  const int both = (i >> x ^ i >> y) & 1;
                  return i ^ both << x ^ both << y;
                });
          index(fmt::format("{{0}} i is {{0}} i with bits {} to {} rotated", x, y), "index_order", 4,
                [x, y](int i) {
                  const int mask = (2 << (y - x)) - 1, field = i >> x & mask;
                  return (i & ~(mask << x)) | ((field << 1 | field >> (y - x)) & mask) << x;
                });
          index(fmt::format("{{0}} i is {{0}} i with bits {} to {} rotated back", x, y), "index_order", 4,
                [x, y](int i) {
                  const int mask = (2 << (y - x)) - 1, field = i >> x & mask;
                  return (i & ~(mask << x)) | ((field >> 1 | field << (y - x)) & mask) << x;
                });
        }
      }
    }
  }

  // Rows and columns within blocks.
  void transposed_blocks(Part part) {
    for (int size = 8; size <= 64; size *= 2)
      to_.add({"transposed", "",
               fmt::format("rows and columns of {} are exchanged within each block of {} x {}",
                           to_.letter(part), size, size),
               "row-major or column-major, .trans of ldmatrix", 2},
              {{part, [size](int row, int column) {
                  return From{row / size * size + column % size, column / size * size + row % size};
                }}});
  }

  // A and B of square matrices.
  void exchanged_factors() {
    const Codes &a = to_.matrices.a, &b = to_.matrices.b;
    if (a.rows != a.columns || b.rows != b.columns) return;
    Hypothesis& h =
        to_.to.add({"factors_exchanged", "a b", "A and B are exchanged", "which operand is which matrix", 1});
    h.inputs = [&to = to_.to](Trial& t) {
      const Matrices& all = *t.capture.matrices;
      *array_of(t.capture, Part::a) =
          tiles_of(t.capture, to.fragment(Part::a), [&](int row, int column) { return all.b.at(row, column); });
      *array_of(t.capture, Part::b) =
          tiles_of(t.capture, to.fragment(Part::b), [&](int row, int column) { return all.a.at(row, column); });
    };
  }

  // The last rows or columns are left out; along K that is the tail.
  void bounds(Part part) {
    const Codes& m = to_.matrix(part);
    const bool stores = part == Part::d;
    for (const int tile : {8, 16, 32, 64, 128})
      for (const bool rows : {true, false}) {
        const int n = rows ? m.rows : m.columns, bound = n / tile * tile;
        const bool along_k = (part == Part::a && !rows) || (part == Part::b && rows);
        if (bound == n || along_k) continue;
        to_.add({stores ? "not_stored" : "not_loaded", "",
                 fmt::format("the last {} {} of {} are not {}", n - bound, rows ? "rows" : "columns",
                             to_.letter(part), stores ? "stored" : "loaded, 0"),
                 fmt::format("{} is no multiple of {}: the blocks at the edge", n, tile), 1},
                {{part, [rows, bound](int row, int column) {
                    return (rows ? row : column) < bound ? From{row, column} : From{kZero, 0};
                  }}});
      }
  }

  // Blocks of D that are others.
  void blocks() {
    for (int height = 8; height <= 128; height *= 2)
      for (int width = 8; width <= 128; width *= 2) {
        if (height >= to_.matrices.d.rows && width >= to_.matrices.d.columns) continue;
        to_.add(
            {"blocks_exchanged", "",
             fmt::format("blocks of {} x {} of D: row and column of the block are exchanged", height, width),
             "blockIdx.x and blockIdx.y", 2},
            {{Part::d, [=](int row, int column) {
                return From{column / width * height + row % height, row / height * width + column % width};
              }}});
        to_.add({"blocks_exchanged", "",
                 fmt::format("blocks of {} x {} of D: the two off the diagonal of each four are exchanged",
                             height, width),
                 "the rows and columns of warps in a block", 2},
                {{Part::d, [=](int row, int column) {
                    const bool below = row / height % 2 != 0, right = column / width % 2 != 0;
                    if (below == right) return From{row, column};
                    return From{row + (below ? -height : height), column + (right ? -width : width)};
                  }}});
      }
  }

  // What is behind the end of K, where K is no multiple of the step.
  void tails() {
    const int k = to_.matrices.depth();
    for (int step = to_.instruction().depth(); step <= 8 * to_.instruction().depth(); step *= 2)
      if (const int bound = k / step * step; bound < k && bound > 0) {
        const auto kept = [bound](int i) { return i < bound; };
        to_.add({"tail_missing", "", fmt::format("the last {} of K are not summed (K mod {})", k - bound, step),
                 "the last step of the loop over K, rounded up; a defect known of cuBLAS, where K is split", 1},
                {{Part::a,
                  [=](int row, int i) {
                    return kept(i) ? From{row, i} : From{kZero, 0};
                  }},
                 {Part::b, [=](int i, int column) {
                    return kept(i) ? From{i, column} : From{kZero, 0};
                  }}});
      }
    const auto both = [&](std::string text, int cost, auto index) {
      to_.add({"tail_garbage", "", std::move(text), "zeros behind the end of K", cost},
              {{Part::a,
                [=](int row, int i) {
                  return From{row, index(i)};
                },
                true},
               {Part::b,
                [=](int i, int column) {
                  return From{index(i), column};
                },
                true}});
    };
    if (k % to_.instruction().depth() == 0) return;
    const int step = to_.instruction().depth();
    both("behind the end of K the last of K is repeated", 1, [k](int i) { return std::min(i, k - 1); });
    both("behind the end of K the step before it is repeated", 1, [=](int i) { return i < k ? i : i - step; });
    both("behind the end of K its first elements are repeated", 1, [k](int i) { return i % k; });
    both("the last step is moved forward to end with K: what is in both is summed twice", 1,
         [=](int i) { return i < k / step * step ? i : std::max(0, k - step) + i % step; });
    // The next line of memory, where a line is K long
    const Memory a{to_.matrices.a, true}, b{to_.matrices.b, false};
    to_.add({"tail_garbage", "", "behind the end of K are the next row of A and the next column of B",
             "zeros behind the end of K", 1},
            {{Part::a, [=](int row, int i) { return a.at(std::int64_t{row} * k + i); }, true},
             {Part::b, [=](int i, int column) { return b.at(std::int64_t{column} * k + i); }, true}});
  }

  MatrixCollection& to_;
};

}  // namespace

void collect_matrices(MatrixCollection& to) {
  MatrixPlaces(to).run();
}

}  // namespace warpbit::diagnosis
