// SPDX-License-Identifier: Apache-2.0
// Mistakes in a product of whole matrices: where elements lie in memory, which blocks a kernel computes, in which steps it
// goes along K, and where its accumulators begin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "diagnose/hypothesis.hpp"
#include "diagnose/swizzling.hpp"
#include "isa/instruction.hpp"

namespace warpbit::diagnosis {
namespace {

// An element of a matrix: its row and column. A row of kZero: it is 0; of kElsewhere: it is not known.
struct From {
  int row, column;
};
using Source = std::function<From(int row, int column)>;

// The order of elements in memory.
struct Order {
  std::string_view text;
  bool by_rows;
};
constexpr Order kOrders[] = {{"row-major", true}, {"column-major", false}};

int rounded_up(int n, int to) {
  return (n + to - 1) / to * to;
}

class MatrixCollection {
 public:
  explicit MatrixCollection(Collection& to) : to_(to), matrices_(*to.capture.matrices) {}

  void run() {
    for (const Part part : {Part::a, Part::b, Part::c, Part::d}) {
      layout(part);
      moves(part);
      bounds(part);
    }
    blocks();
    tails();
    steps();
    orders();
    shapes();
    accumulators();
  }

 private:
  const Codes& matrix(Part part) const {
    return part == Part::a   ? matrices_.a
           : part == Part::b ? matrices_.b
           : part == Part::c ? matrices_.c
                             : matrices_.d;
  }
  static char letter(Part part) { return "DABC"[static_cast<int>(part)]; }
  static std::string role(Part part) { return {"dabc"[static_cast<int>(part)]}; }

  // ---- Elements from elsewhere

  // Rows or columns of the instruction's tiles, too.
  Codes padded(Part part) const {
    const Instruction& i = to_.instruction;
    const Codes& m = matrix(part);
    return {rounded_up(m.rows, part == Part::b ? i.depth() : i.rows()),
            rounded_up(m.columns, part == Part::a ? i.depth() : i.columns())};
  }

  // `tail`: also elements outside the matrix are read; else they are 0. Of D `source` says where an element is written.
  struct Move {
    Part part;
    Source source;
    bool tail = false;
  };
  static From moved(const Codes& m, const Move& move, int row, int column) {
    if (!m.has(row, column) && !move.tail) return {kZero, 0};
    const From from = move.source(row, column);
    return from.row < 0 || m.has(from.row, from.column) ? from : From{kElsewhere, 0};
  }

  void add(Hypothesis h, std::vector<Move> moves) {
    std::uint64_t hash = 0xCBF29CE484222325;
    bool identity = true, unknown = false;
    for (const Move& move : moves) {
      const Codes &m = matrix(move.part), all = padded(move.part);
      bool known = false;
      hash = (hash ^ static_cast<std::uint64_t>(move.part)) * 0x100000001B3;
      for (int row = 0; row < all.rows; ++row)
        for (int column = 0; column < all.columns; ++column) {
          const From from = moved(m, move, row, column);
          identity =
              identity && (m.has(row, column) ? from.row == row && from.column == column : from.row == kZero);
          known = known || (from.row >= 0 && m.has(row, column));
          const auto at = static_cast<std::uint64_t>(
              from.row < 0 ? from.row : static_cast<int>(m.index(from.row, from.column)));
          hash = (hash ^ at) * 0x100000001B3;
        }
      unknown = unknown || !known;
      if (h.operand.find(role(move.part)) == std::string::npos)
        h.operand += (h.operand.empty() ? "" : " ") + role(move.part);
    }
    if (identity || unknown || !seen_.insert(hash).second) return;
    Hypothesis& out = to_.add(std::move(h));
    if (moves[0].part == Part::d) return stored(out, moves[0]);
    out.inputs = [moves = std::move(moves), &fragments = to_.fragments](Trial& t) {
      for (const Move& move : moves) read(move, *diagnosis::find(fragments, move.part), fragments.back(), t);
    };
  }

  static void read(const Move& move, const Fragment& fragment, const Fragment& d, Trial& t) {
    const Matrices& all = *t.capture.matrices;
    const Codes& m = move.part == Part::a ? all.a : move.part == Part::b ? all.b : all.c;
    std::set<int> rows, columns;
    std::set<std::pair<int, int>> elements;
    *array_of(t.capture, move.part) = tiles_of(t.capture, fragment, [&](int row, int column) -> std::uint64_t {
      const From from = moved(m, move, row, column);
      if (from.row >= 0) return m.codes[m.index(from.row, from.column)];
      if (from.row != kElsewhere) return 0;
      if (move.part == Part::a) rows.insert(row);
      if (move.part == Part::b) columns.insert(column);
      if (move.part == Part::c) elements.insert({row, column});
      return 0;
    });
    for (std::size_t i = 0; i < t.known.size() && !(rows.empty() && columns.empty() && elements.empty()); ++i) {
      const Coordinate at = t.capture.origin(Part::d, i / d.size(), 0), in = d.at(i % d.size());
      const int row = at.row + in.row, column = at.column + in.column;
      if (rows.contains(row) || columns.contains(column) || elements.contains({row, column}))
        t.known[i] = Knowledge::nothing;
    }
  }

  // The right results at other places; where none is written, it is 0 or what was there before.
  static void stored(Hypothesis& h, const Move& move) {
    h.results = [move](const Problem& p, const Fragment& d, Array& out, std::vector<Knowledge>& known) {
      const Codes& right = p.matrices->right;
      Codes written = right;
      std::vector<bool> is_written(right.codes.size(), false);
      std::ranges::fill(written.codes, 0);
      for (int row = 0; row < right.rows; ++row)
        for (int column = 0; column < right.columns; ++column) {
          const From to = moved(right, move, row, column);
          if (to.row < 0) continue;
          written.codes[right.index(to.row, to.column)] = right.at(row, column);
          is_written[right.index(to.row, to.column)] = true;
        }
      out = tiles_of(p, d, [&](int row, int column) { return written.at(row, column); });
      for (std::size_t i = 0; i < known.size(); ++i) {
        const Coordinate at = p.origin(Part::d, i / d.size(), 0), in = d.at(i % d.size());
        if (right.has(at.row + in.row, at.column + in.column) &&
            !is_written[right.index(at.row + in.row, at.column + in.column)])
          known[i] = Knowledge::unwritten;
      }
    };
  }

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
    for (const Order& order : kOrders) {
      const Memory memory{matrix(part), order.by_rows};
      const std::string name = fmt::format("{} ({})", letter(part), order.text);
      const int line = memory.line();
      std::set<int> lengths{
          matrices_.d.rows, matrices_.d.columns, matrices_.depth(), line + 1, line - 1, 2 * line, line / 2, 0};
      for (const int to : {8, 16, 32, 64, 128}) lengths.insert(rounded_up(line, to));
      for (const int wrong : lengths)
        add({"leading_dimension", "",
             fmt::format("{} has a leading dimension of {} instead of {}", name, wrong, line),
             fmt::format("a line of {} has {} elements", letter(part), line), 2},
            {{part, [=](int row, int column) {
                return memory.at(std::int64_t{memory.outer(row, column)} * wrong + memory.inner(row, column));
              }}});
      add({"transposed", "", fmt::format("{} is taken as {}", name, kOrders[order.by_rows ? 1 : 0].text),
           "row-major or column-major, .trans of ldmatrix", 1},
          {{part, [=](int row, int column) {
              return memory.at(std::int64_t{memory.inner(row, column)} * memory.lines() +
                               memory.outer(row, column));
            }}});
      for (const int by : {1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32})
        add({"offset", "",
             fmt::format("{} is read or written {} element{} too {}", name, std::abs(by),
                         std::abs(by) == 1 ? "" : "s", by > 0 ? "far" : "early"),
             fmt::format("the address of the first element of {}", letter(part)), 2},
            {{part, [=](int row, int column) {
                return memory.at(std::int64_t{memory.outer(row, column)} * memory.line() +
                                 memory.inner(row, column) + by);
              }}});
      swizzles(part, memory, name);
    }
    add({"transposed", "", fmt::format("rows and columns of {} are exchanged", letter(part)),
         "row-major or column-major, .trans of ldmatrix", 1},
        {{part, [](int row, int column) {
            return From{column, row};
          }}});
  }

  void swizzles(Part part, const Memory& memory, const std::string& name) {
    const int chunk = std::max(1, 128 / to_.fragment(part).packing().slot_bits);
    // A line is that of a tile in shared memory, of 32, 64 or 128 bytes: the bits of its number are those of the matrix.
    const std::vector<Swizzling> all = swizzlings(std::min(8, memory.line() / chunk));
    for (std::size_t x = 0; x < all.size(); ++x)
      for (std::size_t y = x; y < all.size(); ++y) {
        const Swizzling one = all[x], other = x == y ? Swizzling{} : all[y];
        add({"swizzle", "", swizzle_text(name, one, other),
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
    const Codes& m = matrix(part);
    const Instruction& i = to_.instruction;
    for (const int by : {1, -1, 8, -8, i.rows(), -i.rows(), i.columns(), -i.columns(), i.depth(), -i.depth()})
      for (const bool rows : {true, false})
        add({"offset", "",
             fmt::format("{} is read or written {} {} too {}", letter(part), std::abs(by),
                         rows ? "rows" : "columns", by > 0 ? "far" : "early"),
             fmt::format("the first element of the tile of {}", letter(part)), 3},
            {{part, [&m, rows, by](int row, int column) {
                const From from = rows ? From{row + by, column} : From{row, column + by};
                return m.has(from.row, from.column) ? from : From{kZero, 0};
              }}});
  }

  // The last rows or columns are left out; along K that is the tail.
  void bounds(Part part) {
    const Codes& m = matrix(part);
    const bool stores = part == Part::d;
    for (const int tile : {8, 16, 32, 64, 128})
      for (const bool rows : {true, false}) {
        const int n = rows ? m.rows : m.columns, bound = n / tile * tile;
        const bool along_k = (part == Part::a && !rows) || (part == Part::b && rows);
        if (bound == n || along_k) continue;
        add({stores ? "not_stored" : "not_loaded", "",
             fmt::format("the last {} {} of {} are not {}", n - bound, rows ? "rows" : "columns", letter(part),
                         stores ? "stored" : "loaded, 0"),
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
        if (height >= matrices_.d.rows && width >= matrices_.d.columns) continue;
        add({"blocks_exchanged", "",
             fmt::format("blocks of {} x {} of D: row and column of the block are exchanged", height, width),
             "blockIdx.x and blockIdx.y", 2},
            {{Part::d, [=](int row, int column) {
                return From{column / width * height + row % height, row / height * width + column % width};
              }}});
      }
  }

  // What is behind the end of K, where K is no multiple of the step.
  void tails() {
    const int k = matrices_.depth();
    for (int step = to_.instruction.depth(); step <= 8 * to_.instruction.depth(); step *= 2)
      if (const int bound = k / step * step; bound < k && bound > 0) {
        const auto kept = [bound](int i) { return i < bound; };
        add({"tail_missing", "", fmt::format("the last {} of K are not summed (K mod {})", k - bound, step),
             "the last step of the loop over K, rounded up", 1},
            {{Part::a,
              [=](int row, int i) {
                return kept(i) ? From{row, i} : From{kZero, 0};
              }},
             {Part::b, [=](int i, int column) {
                return kept(i) ? From{i, column} : From{kZero, 0};
              }}});
      }
    const auto both = [&](std::string text, int cost, auto index) {
      add({"tail_garbage", "", std::move(text), "zeros behind the end of K", cost},
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
    if (k % to_.instruction.depth() == 0) return;
    const int step = to_.instruction.depth();
    both("behind the end of K the last of K is repeated", 1, [k](int i) { return std::min(i, k - 1); });
    both("behind the end of K the step before it is repeated", 1, [=](int i) { return i < k ? i : i - step; });
    both("behind the end of K its first elements are repeated", 1, [k](int i) { return i % k; });
    both("the last step is moved forward to end with K: what is in both is summed twice", 1,
         [=](int i) { return i < k / step * step ? i : std::max(0, k - step) + i % step; });
    // The next line of memory, where a line is K long
    const Memory a{matrices_.a, true}, b{matrices_.b, false};
    add({"tail_garbage", "", "behind the end of K are the next row of A and the next column of B",
         "zeros behind the end of K", 1},
        {{Part::a, [=](int row, int i) { return a.at(std::int64_t{row} * k + i); }, true},
         {Part::b, [=](int i, int column) { return b.at(std::int64_t{column} * k + i); }, true}});
  }

  // ---- Steps along K

  void add_runs(Hypothesis h, std::vector<std::vector<int>> runs, bool without_c = false) {
    std::erase_if(runs, [](const std::vector<int>& run) { return run.empty(); });
    if (runs.empty() || (runs == to_.capture.runs && !without_c) || !runs_.insert({runs, without_c}).second)
      return;
    to_.add(std::move(h)).inputs = [runs = std::move(runs), without_c](Trial& t) {
      t.capture.runs = runs;
      if (without_c) std::ranges::fill(array_of(t.capture, Part::c)->data, std::byte{0});
    };
  }
  const std::vector<int>& ascending() const { return to_.capture.runs.at(0); }

  static std::string steps_text(int first, int last) {
    return first == last ? fmt::format("step {} of K", first) : fmt::format("steps {} to {} of K", first, last);
  }

  // Steps that are left out, done twice, or done with the data of another step.
  void steps() {
    constexpr int kMost = 64;
    const int n = to_.capture.steps, depth = to_.instruction.depth();
    const std::string hint = fmt::format("the loop over K: a step of the instruction is {} deep", depth);
    for (int size = 1; size <= 8 && size <= n; size *= 2)
      for (int first = 0; first < n && n / size <= kMost; first += size) {
        const int last = std::min(n, first + size) - 1;
        std::vector<int> missing = ascending(), twice = missing;
        missing.erase(missing.begin() + first, missing.begin() + last + 1);
        twice.insert(twice.begin() + last + 1, ascending().begin() + first, ascending().begin() + last + 1);
        add_runs({"step_missing", "", steps_text(first, last) + (first == last ? " is" : " are") + " missing",
                  hint, 1},
                 {missing});
        add_runs({"step_twice", "",
                  steps_text(first, last) + (first == last ? " is" : " are") + " summed twice", hint, 1},
                 {twice});
        std::vector<int> only(ascending().begin() + first, ascending().begin() + last + 1);
        if (last != n - 1 && first != 0) continue;
        for (const bool without_c : {false, true})
          add_runs({"accumulator_cleared", "c",
                    fmt::format("only {} {} in D{}", steps_text(first, last), first == last ? "is" : "are",
                                without_c ? ", without C" : ""),
                    "the accumulators are cleared in the loop over K", 1},
                   {only}, without_c);
      }
    stale(n, hint);
  }

  // The data of another step than the loop is at: stages of a pipeline.
  void stale(int n, const std::string& hint) {
    const int depth = to_.instruction.depth();
    const auto other_step = [&](const std::string& text, auto step) {
      constexpr std::string_view kNames[] = {"", "A", "B", "A and B"};
      const auto k = [=](int i) { return step(i / depth) * depth + i % depth; };
      for (int which = 1; which < 4; ++which) {
        std::vector<Move> moves;
        if (which & 1)
          moves.push_back({Part::a, [=](int row, int i) {
                             return k(i) < 0 ? From{kZero, 0} : From{row, k(i)};
                           }});
        if (which & 2)
          moves.push_back({Part::b, [=](int i, int column) {
                             return k(i) < 0 ? From{kZero, 0} : From{k(i), column};
                           }});
        add({"stale_step", "", fmt::format("{}: {}", kNames[which], text),
             hint + "; stages, and who waits for whom", 2},
            std::move(moves));
      }
    };
    other_step("each step has the data of the step before, the first its own",
               [](int s) { return std::max(0, s - 1); });
    other_step("each step has the data of the step before, the first has zeros", [](int s) { return s - 1; });
    other_step("each step has the data of the next, the last its own",
               [n](int s) { return std::min(n - 1, s + 1); });
    other_step("all steps have the data of the first", [](int) { return 0; });
    other_step("all steps have the data of the last", [n](int) { return n - 1; });
    for (int two = 1; two < n; two *= 2)
      other_step(fmt::format("steps {} apart are exchanged", two),
                 [=](int s) { return (s ^ two) < n ? s ^ two : s; });
  }

  // Another order of the sum: what is summed is right, the roundings are others.
  void orders() {
    const int n = to_.capture.steps;
    if (n < 2) return;
    const std::string hint = "the order is no mistake, but the bits follow from it";
    std::vector<int> down = ascending();
    std::ranges::reverse(down);
    const auto order = [&](const std::string& text, int cost, std::vector<std::vector<int>> runs) {
      add_runs({"k_order", "d", "the sum has another order along K: " + text, hint, cost}, std::move(runs));
    };
    order("descending", 1, {down});
    for (const int parts : {2, 3, 4, 5, 6, 7, 8, 16, 32, n}) {
      if (parts > n) continue;
      std::vector<std::vector<int>> runs, sliced(static_cast<std::size_t>(parts));
      const int each = (n + parts - 1) / parts;
      for (int s = 0; s < n; ++s) {
        if (s % each == 0) runs.emplace_back();
        runs.back().push_back(s);
        sliced[static_cast<std::size_t>(s % parts)].push_back(s);
      }
      order(parts == n ? "each step is summed from 0 and added in the format of D"
                       : fmt::format("split into {} runs, whose sums are added", parts),
            1, runs);
      order(fmt::format("{} accumulators by turns, which are added", parts), 2, sliced);
      std::ranges::reverse(runs);
      order(fmt::format("split into {} runs, whose sums are added from the last on", parts), 2, runs);
      std::ranges::reverse(sliced);
      order(fmt::format("{} accumulators by turns, which are added from the last on", parts), 3, sliced);
      std::vector<int> one;
      for (auto it = sliced.rbegin(); it != sliced.rend(); ++it) one.insert(one.end(), it->begin(), it->end());
      order(fmt::format("every {}th step, then the next ones", parts), 2, {one});
    }
  }

  // An instruction of another depth: the same sum in other nodes.
  void shapes() {
    const Statement& statement = to_.instruction.decoded().statement;
    for (const int depth : {4, 8, 16, 32, 64, 128, 256}) {
      Statement changed = statement;
      const std::string shape =
          fmt::format("m{}n{}k{}", to_.instruction.rows(), to_.instruction.columns(), depth);
      for (std::string_view& q : changed.qualifiers)
        if (q == fmt::format("m{}n{}k{}", to_.instruction.rows(), to_.instruction.columns(),
                             to_.instruction.depth()))
          q = shape;
      const Result<Instruction> other = Instruction::parse(text(changed), to_.instruction.target());
      if (depth == to_.instruction.depth() || !other || other->depth() != depth || other->terms() != depth)
        continue;
      if (other->operands()[0].fragment != to_.instruction.operands()[0].fragment) continue;
      to_.add({"shape", "",
               fmt::format("the product is made by {} instead of {}", shape,
                           fmt::format("m{}n{}k{}", to_.instruction.rows(), to_.instruction.columns(),
                                       to_.instruction.depth())),
               "another instruction rounds at other places", 1})
          .execution = [other = *other](const Problem& in) {
        return execute_trial(problem_of(other, in.matrices, in.first, in.cases));
      };
    }
  }

  // The accumulators begin with what the kernel had in D for another block.
  void accumulators() {
    const Codes& d = matrices_.d;
    const auto kept = [&](const std::string& text, int height, int width, bool along_rows) {
      Hypothesis& h =
          to_.add({"accumulator_not_cleared", "c", "the accumulators begin with " + text + ", not with C",
                   "where the accumulators are cleared", 2});
      h.inputs = [&d, &c = matrices_.c, &fragment = to_.fragment(Part::c), height, width,
                  along_rows](Trial& t) {
        const int across = (d.columns + width - 1) / width, down = (d.rows + height - 1) / height;
        *array_of(t.capture, Part::c) = tiles_of(t.capture, fragment, [&](int row, int column) {
          int i = row / height, j = column / width;
          const int before = (along_rows ? i * across + j : j * down + i) - 1;
          if (before < 0) return c.at(row, column);
          i = along_rows ? before / across : before % down;
          j = along_rows ? before % across : before / down;
          return d.at(i * height + row % height, j * width + column % width);
        });
      };
    };
    for (int height = 8; height <= 128; height *= 2)
      for (int width = 8; width <= 128; width *= 2)
        for (const bool along_rows : {true, false})
          if (height < d.rows || width < d.columns)
            kept(fmt::format("D of the block of {} x {} before, {}", height, width,
                             along_rows ? "row by row" : "column by column"),
                 height, width, along_rows);
  }

  Collection& to_;
  const Matrices& matrices_;
  std::set<std::uint64_t> seen_;  // hashes of moves
  std::set<std::pair<std::vector<std::vector<int>>, bool>> runs_;
};

}  // namespace

void collect_products(Collection& to) {
  if (!to.capture.matrices) return;
  std::erase_if(to.all, [](const Hypothesis& h) { return h.neighbours; });  // a case is no tile of memory
  MatrixCollection(to).run();
}

}  // namespace warpbit::diagnosis
