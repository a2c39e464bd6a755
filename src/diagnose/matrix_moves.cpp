// SPDX-License-Identifier: Apache-2.0
#include "diagnose/matrix_moves.hpp"

#include <algorithm>
#include <utility>

namespace warpbit::diagnosis {
namespace {

constexpr std::uint64_t kPrime = 0x100000001B3;  // of FNV-1a

std::string role_of(Part part) {
  return {"dabc"[static_cast<int>(part)]};
}

From moved(const Codes& m, const WholeMove& move, int row, int column) {
  if (!m.has(row, column) && !move.tail) return {kZero, 0};
  const From from = move.source(row, column);
  return from.row < 0 || m.has(from.row, from.column) ? from : From{kElsewhere, 0};
}

void read_moved(const WholeMove& move, const Fragment& fragment, const Fragment& d, Trial& t) {
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
void store_moved(Hypothesis& h, const WholeMove& move) {
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

}  // namespace

const Codes& MatrixCollection::matrix(Part part) const {
  return part == Part::a   ? matrices.a
         : part == Part::b ? matrices.b
         : part == Part::c ? matrices.c
                           : matrices.d;
}

// Rows or columns of the instruction's tiles, too.
Codes MatrixCollection::padded(Part part) const {
  const Instruction& i = to.instruction;
  const Codes& m = matrix(part);
  return {rounded_up(m.rows, part == Part::b ? i.depth() : i.rows()),
          rounded_up(m.columns, part == Part::a ? i.depth() : i.columns())};
}

MoveSummary MatrixCollection::summary(const WholeMove& move) const {
  const Codes &m = matrix(move.part), all = padded(move.part);
  MoveSummary out{(0xCBF29CE484222325 ^ static_cast<std::uint64_t>(move.part)) * kPrime, true, false};
  for (int row = 0; row < all.rows; ++row)
    for (int column = 0; column < all.columns; ++column) {
      const From from = moved(m, move, row, column);
      const bool has = m.has(row, column);
      out.identity = out.identity && (has ? from.row == row && from.column == column : from.row == kZero);
      out.known = out.known || (from.row >= 0 && has);
      const int at = from.row < 0 ? from.row : static_cast<int>(m.index(from.row, from.column));
      out.hash = (out.hash ^ static_cast<std::uint64_t>(at)) * kPrime;
    }
  return out;
}

void MatrixCollection::add(Hypothesis h, std::vector<WholeMove> moves) {
  std::vector<MoveSummary> summaries;
  for (const WholeMove& move : moves) summaries.push_back(summary(move));
  add(std::move(h), std::move(moves), summaries);
}

void MatrixCollection::add(Hypothesis h, std::vector<WholeMove> moves, std::span<const MoveSummary> summaries) {
  std::uint64_t hash = 0;
  bool identity = true, known = true;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    hash = (hash ^ summaries[i].hash) * kPrime;
    identity = identity && summaries[i].identity;
    known = known && summaries[i].known;
    const std::string role = role_of(moves[i].part);
    if (h.operand.find(role) == std::string::npos) h.operand += (h.operand.empty() ? "" : " ") + role;
  }
  if (identity || !known || !seen_.insert(hash).second) return;
  Hypothesis& out = to.add(std::move(h));
  if (moves[0].part == Part::d) return store_moved(out, moves[0]);
  out.inputs = [moves = std::move(moves), &fragments = to.fragments](Trial& t) {
    for (const WholeMove& move : moves)
      read_moved(move, *diagnosis::find(fragments, move.part), fragments.back(), t);
  };
}

void collect_products(Collection& to) {
  if (!to.capture.matrices) return;
  std::erase_if(to.all, [](const Hypothesis& h) { return h.neighbours; });  // a case is no tile of memory
  MatrixCollection all(to);
  collect_mixed_tiles(all);
  collect_matrices(all);
  collect_shared_tiles(all);
  collect_steps(all);
}

}  // namespace warpbit::diagnosis
